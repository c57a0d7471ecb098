"""Blocks agree with a plain slow implementation, also in where and what they drop."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_encoder import KEY, SPECS, make, plain_block

from recombine import models
from recombine.models import specs

LENGTHS = jnp.array([5, 3, 2])
PADDING = models.padding_mask(LENGTHS, 5)
COLUMNS = jax.random.normal(jax.random.key(1), (3, 5, 8))
AT = jnp.array([[4], [0], [1]])


def with_dropout(spec):
    """The same spec, with dropout wherever its parts have any."""
    block = spec.block
    if isinstance(block, specs.CopyGateSpec):
        block = dataclasses.replace(block, gate_dropout=0.4)
    attention = dataclasses.replace(spec.attention, dropout=0.3)
    return dataclasses.replace(spec, attention=attention, block=block)


BLOCKS = {name: with_dropout(spec) for name, spec in SPECS.items()}
for source in ("transformer", "relative", "geometric"):
    pre = specs.PreNormSpec()
    BLOCKS[f"{source}, pre-norm"] = dataclasses.replace(BLOCKS[source], block=pre)


@eqx.filter_jit
def call(block, targets, sources, mask, at, key):
    return block(targets, sources, mask, at=at, key=key)


def agrees(block, targets, mask, at, key, **tolerance):
    after, extras = call(block, targets, COLUMNS, mask, at, key)
    expected, weights, gates = plain_block(block, targets, COLUMNS, np.asarray(mask), at, key)
    np.testing.assert_allclose(extras["attention"], weights, **tolerance)
    np.testing.assert_allclose(after, expected, **tolerance)
    assert ("gates" in extras) == (gates is not None)
    if gates is not None:
        np.testing.assert_allclose(extras["gates"], gates, **tolerance)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_agrees_with_plain_loops_and_drops_what_it_should(name):
    """With the same random numbers: dropout of keys or weights, of what is read, and so on."""
    block = make(BLOCKS[name]).encoder.stack.block
    for key in (None, jax.random.key(2)):
        agrees(block, COLUMNS, PADDING, None, key, atol=1e-5)


@pytest.mark.parametrize("name", BLOCKS)
def test_single_targets_agree_with_plain_loops(name):
    block = make(BLOCKS[name]).encoder.stack.block
    targets = jnp.take_along_axis(COLUMNS, AT[:, :, None], axis=1)
    agrees(block, targets, PADDING, AT, jax.random.key(2), atol=1e-5)


@pytest.mark.parametrize("name", ["transformer", "relative", "position-gate", "ndr"])
def test_targets_are_the_last_sources_and_a_causal_mask_hides_what_follows(name):
    block = make(BLOCKS[name]).encoder.stack.block
    mask = models.causal_mask(3, 5) & models.padding_mask(jnp.full(3, 5), 5)
    agrees(block, COLUMNS[:, 2:], mask, None, jax.random.key(2), atol=1e-5)
    after, _ = call(block, COLUMNS[:, 2:], COLUMNS, mask, None, None)
    changed = COLUMNS.at[:, 3].add(1.0)
    other, _ = call(block, COLUMNS[:, 2:], changed, mask, None, None)
    np.testing.assert_array_equal(after[:, 0], other[:, 0])
    assert not np.allclose(after[:, 2], other[:, 2])


def test_closed_gates_copy_a_column_exactly_and_open_ones_replace_it():
    block = make(SPECS["ndr"]).encoder.stack.block
    bias = lambda b: b.gate.outer.bias  # noqa: E731
    shut = eqx.tree_at(bias, block, jnp.full(8, -1e9))
    after, extras = call(shut, COLUMNS, COLUMNS, PADDING, None, None)
    np.testing.assert_array_equal(after, COLUMNS)
    np.testing.assert_array_equal(extras["gates"], 0)
    wide = eqx.tree_at(bias, block, jnp.full(8, 1e9))
    after, extras = call(wide, COLUMNS, COLUMNS, PADDING, None, None)
    np.testing.assert_array_equal(extras["gates"], 1)
    standard = (after - block.data_norm.offset) / block.data_norm.scale
    np.testing.assert_allclose(standard.mean(axis=2), 0, atol=1e-4)


def test_gate_dropout_copies_whole_columns_and_leaves_the_other_gates_as_they_are():
    spec = dataclasses.replace(
        SPECS["ndr"],
        dropout=0.0,
        attention=specs.GeometricAttentionSpec(dropout=0.0),
        block=specs.CopyGateSpec(gate_dropout=0.5),
    )
    block = make(spec).encoder.stack.block
    columns = jax.random.normal(KEY, (40, 10, 8))
    mask = jnp.ones((10, 10), bool)
    after, extras = call(block, columns, columns, mask, None, jax.random.key(1))
    _, whole = call(block, columns, columns, mask, None, None)
    gates, undropped = np.asarray(extras["gates"]), np.asarray(whole["gates"])
    copied = (gates == 0).all(axis=2)
    np.testing.assert_array_equal(copied, (gates == 0).any(axis=2))
    assert 0.4 < copied.mean() < 0.6
    np.testing.assert_array_equal(np.asarray(after == columns).all(axis=2), copied)
    np.testing.assert_allclose(gates[~copied], undropped[~copied], rtol=1e-6)


def test_extras_of_a_feed_forward_network_pass_through_a_block():
    class Counting(models.AbstractFeedForward):
        def __call__(self, x, *, key=None):
            return x, {"balance": jnp.sum(x**2)}

    for name, part in (("transformer", "feed_forward"), ("ndr", "data")):
        block = make(SPECS[name]).encoder.stack.block
        block = eqx.tree_at(lambda b, part=part: getattr(b, part), block, Counting())
        _, extras = call(block, COLUMNS, COLUMNS, PADDING, None, None)
        assert extras["balance"].shape == ()
