"""What must be true of every network, and of everything that a spec builds."""

import equinox as eqx
import jax
import model_rows
import numpy as np
import pytest
import spec_rows
from rows import check_complete, kinds_in, public_classes

from recombine import models
from recombine._spec import AbstractSpec
from recombine.models import specs

ROWS = {f"model_rows: {n}": (model_rows.ROWS, n) for n in model_rows.ROWS}
ROWS |= {f"spec_rows: {n}": (spec_rows.ROWS, n) for n in spec_rows.ROWS}


def test_every_public_network_and_part_of_one_is_in_a_row():
    tables = model_rows.ROWS, spec_rows.ROWS
    seen = kinds_in(*(row.network for table in tables for row in table.values()))
    check_complete(models, seen, model_rows.NO_NETWORKS, "tests/conformance/model_rows.py")


def test_every_public_spec_is_of_a_kind_that_has_a_row():
    for name in public_classes(specs):
        kind = getattr(specs, name)
        if issubclass(kind, AbstractSpec):
            built = kind in {one for of in spec_rows.KINDS for one in spec_rows.kinds_of(of)}
            assert built, f"specs.{name}: add a row for its kind to tests/conformance/spec_rows.py"


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_finite_and_reach_every_weight(name):
    table, row = ROWS[name]
    network, read, unread = table[row]
    if isinstance(network, models.AbstractMetaModel):
        learned, rest = network.partition()
    else:
        learned, rest = eqx.partition(network, eqx.is_inexact_array)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda part: read(eqx.combine(part, rest))))(learned)
    slopes = {
        jax.tree_util.keystr(path): slope
        for path, slope in jax.tree_util.tree_leaves_with_path(gradient)
    }
    assert len(slopes) == len(jax.tree.leaves(learned)) > 0
    assert not [path for path, slope in slopes.items() if not np.all(np.isfinite(slope))]
    assert {path for path, slope in slopes.items() if not np.any(slope)} == set(unread)
