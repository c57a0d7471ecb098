"""What must be true of every rule."""

import functools

import equinox as eqx
import jax
import pytest
from rows import check_complete, kinds_in
from rule_rows import NO_RULES, ROWS
from same import same

from recombine import learning


@functools.cache
def trained(name):
    """A rule after 20 steps in two chunks, its curves, and how far it was after the first."""
    rule, state = ROWS[name]
    seen = []
    after, curves = learning.train(rule, state, 20, every=5, chunk=10, on_chunk=seen.append)
    return after, curves, seen[0]


def test_every_public_rule_and_part_of_one_is_in_a_row():
    seen = kinds_in(*(rule for rule, _ in ROWS.values()))
    check_complete(learning, seen, NO_RULES, "tests/conformance/rule_rows.py")


@pytest.mark.parametrize("name", ROWS)
def test_a_rule_lowers_its_loss_and_keeps_the_shape_of_its_state(name):
    after, curves, _ = trained(name)
    assert curves["loss"][-1] < curves["loss"][0]
    assert list(curves["step"]) == [0, 5, 10, 15, 20]
    before, end = (jax.tree.leaves(eqx.filter(s, eqx.is_array)) for s in (ROWS[name][1], after))
    assert [(x.shape, x.dtype) for x in before] == [(x.shape, x.dtype) for x in end]


@pytest.mark.parametrize("name", ROWS)
def test_an_interrupted_rule_goes_on_bit_for_bit(name):
    straight, curves, half = trained(name)
    rule, state = ROWS[name]
    resumed, again = learning.train(rule, state, 20, every=5, chunk=10, resume=half)
    assert half.step == 10
    assert same(straight, resumed)
    assert same(curves, again)
