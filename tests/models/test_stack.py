"""Stacks repeat blocks, compute only what is read, and can trade time for memory."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_encoder import KEY, SPECS, make

from recombine import models
from recombine.models import _stack, specs

COLUMNS = jax.random.normal(KEY, (3, 5, 8))
MASK = models.padding_mask(jnp.array([5, 3, 2]), 5)
AT = jnp.array([[4], [2], [0]])


@eqx.filter_jit
def call(stack, at=None, key=None):
    return stack(COLUMNS, MASK, at=at, key=key)


class Counting(models.AbstractBlock):
    """A block that adds a number, and says how often it has been applied."""

    step: jax.Array

    def __call__(self, targets, sources, mask, *, at=None, key=None):
        return targets + self.step, {"mean": targets.mean(), "attention": targets}


@pytest.mark.parametrize("name", ["transformer", "relative", "position-gate", "ndr"])
def test_columns_that_are_read_are_those_among_all(name):
    stack = make(SPECS[name]).encoder.stack
    everything, one = call(stack)[0], call(stack, AT)[0]
    expected = np.take_along_axis(np.asarray(everything), np.asarray(AT)[:, :, None], axis=1)
    np.testing.assert_allclose(one, expected, atol=1e-5)
    np.testing.assert_allclose(stack.trace(COLUMNS, MASK)["columns"][-1], everything, atol=1e-5)


def test_more_layers_at_test_are_the_same_block_again():
    stack = make(dataclasses.replace(SPECS["ndr"], test_layers=5)).encoder.stack
    seen = eqx.filter_jit(stack.trace)(COLUMNS, MASK)["columns"]
    short = make(SPECS["ndr"]).encoder.stack
    np.testing.assert_array_equal(seen[:3], eqx.filter_jit(short.trace)(COLUMNS, MASK)["columns"])
    assert len(seen) == 5
    assert not np.allclose(seen[4], seen[2])
    np.testing.assert_allclose(call(stack)[0], seen[4], atol=1e-5)


def test_blocks_of_their_own_that_are_alike_are_a_shared_one():
    shared = make(SPECS["relative"]).encoder.stack
    own = make(dataclasses.replace(SPECS["relative"], shared_layers=False)).encoder.stack
    assert models.count_parameters(own) == 3 * models.count_parameters(shared)
    copies = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), shared.block)
    alike = eqx.tree_at(lambda s: s.block, own, copies)
    np.testing.assert_allclose(call(alike)[0], call(shared)[0], atol=1e-5)
    assert not np.allclose(call(own)[0], call(shared)[0])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", ["relative", "ndr"])
def test_large_stacks_compute_layers_again_instead_of_keeping_them(name, shared, monkeypatch):
    stack = make(dataclasses.replace(SPECS[name], layers=4, shared_layers=shared)).encoder.stack

    def gradient_of(many):
        monkeypatch.setattr(_stack, "_MANY", many)
        loss = lambda stack, key: jnp.sum(stack(COLUMNS, MASK, at=AT, key=key)[0] ** 2)  # noqa: E731
        compiled = eqx.filter_jit(eqx.filter_value_and_grad(loss)).lower(stack, KEY).compile()
        memory = compiled.compiled.memory_analysis().temp_size_in_bytes
        return jax.tree.leaves(compiled(stack, KEY)), memory

    plain, kept_memory = gradient_of(2**27)
    again, memory = gradient_of(0)
    assert memory < 0.7 * kept_memory
    for ours, theirs in zip(again, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_numbers_that_blocks_report_are_kept_for_every_layer(monkeypatch):
    stack = models.Stack(Counting(jnp.ones(())), 4)
    expected = COLUMNS.mean() + np.arange(4.0)
    for key in (None, KEY):
        columns, extras = call(stack, key=key)
        np.testing.assert_allclose(columns, COLUMNS + 4, rtol=1e-6)
        assert list(extras) == ["mean"]
        np.testing.assert_allclose(extras["mean"], expected, rtol=1e-5)
    monkeypatch.setattr(_stack, "_MANY", 0)
    # Compiled anew, not `call`: which way is taken is decided while a program is traced.
    _, extras = eqx.filter_jit(lambda key: stack(COLUMNS, MASK, key=key))(KEY)
    np.testing.assert_allclose(extras["mean"], expected, rtol=1e-5)


def test_a_stack_of_pre_norm_blocks_ends_in_a_norm():
    spec = dataclasses.replace(SPECS["transformer"], block=specs.PreNormSpec())
    stack = eqx.filter_jit(spec.build)(specs.SequenceSizes(5, 4), KEY).encoder.stack
    columns = np.asarray(call(stack)[0])
    np.testing.assert_allclose(columns.mean(axis=2), 0, atol=1e-5)
    np.testing.assert_allclose(columns.std(axis=2), 1, atol=1e-3)


def test_stacks_that_cannot_be_are_refused():
    block = Counting(jnp.ones(()))
    with pytest.raises(ValueError, match="at least 1 layer"):
        models.Stack(block, 0)
    with pytest.raises(ValueError, match="drop `test_layers`"):
        models.Stack(block, 3, test_layers=4, shared=False)
