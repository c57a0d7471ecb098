"""Adaptive computation time: weights of a column sum to 1, and halting is that of a plain loop."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs

KEY = jax.random.key(0)
SPEC = specs.RelativeTransformerSpec(width=4, hidden=4, heads=1, layers=4)
TOKENS, LENGTHS = jnp.array([[1, 5, 3], [2, 3, 0]]), jnp.array([3, 2])
BEFORE, AFTER = jax.random.normal(KEY, (2, 4, 1, 3, 4))
"""Columns before and after each of four steps."""


@eqx.filter_jit
def halted(adaptive, before, after, mask):
    state = adaptive.start(before[0], mask)
    for t in range(len(before)):
        state = adaptive.advance(state, before[t], after[t], jnp.asarray(t == len(before) - 1))
    return state


def with_bias(bias, **options):
    adaptive = models.AdaptiveTime(4, **options, key=KEY)
    return eqx.tree_at(lambda a: a.halt.bias, adaptive, jnp.array([bias]))


def plain(adaptive, column, decaying):
    """Output, weights, remainder and steps of one column."""
    total, output, weights, remainder = 0.0, np.zeros(4), [], 0.0
    for t in range(4):
        logit = np.asarray(BEFORE[t, 0, column], float) @ np.asarray(
            adaptive.halt.weight[:, 0], float
        )
        p = 1 / (1 + np.exp(-logit - float(adaptive.halt.bias[0])))
        ends = total + p > 0.99 or (t == 3 and not decaying)
        weight = 1 - total if ends else p
        remainder = weight if ends else remainder
        after = np.asarray(AFTER[t, 0, column], float)
        output = (1 - weight if decaying else 1) * output + weight * after
        weights.append(weight)
        total += p
        if ends:
            break
    return output, weights, remainder, len(weights)


@pytest.mark.parametrize("decaying", [False, True])
@pytest.mark.parametrize("bias", [-3.0, 0.0, 6.0])
def test_halting_is_that_of_a_plain_loop(decaying, bias):
    adaptive = with_bias(bias, decaying=decaying)
    state = halted(adaptive, BEFORE, AFTER, jnp.array([[True, True, False]]))
    for column in range(2):
        output, weights, remainder, steps = plain(adaptive, column, decaying)
        np.testing.assert_allclose(state.output[0, column], output, atol=1e-5)
        np.testing.assert_allclose(state.remainder[0, column], remainder, atol=1e-5)
        assert state.steps[0, column] == steps
        if not decaying:
            np.testing.assert_allclose(sum(weights), 1)
    assert state.steps[0, 2] == 0
    np.testing.assert_array_equal(state.output[0, 2], 0)
    np.testing.assert_array_equal(state.remainder[0, 2], 0)


def test_weights_of_a_column_sum_to_one():
    """Then a state that does not change is the output; not so without a forced end."""
    same = jnp.ones((4, 1, 3, 4))
    for bias in (-3.0, 0.0, 6.0):
        state = halted(with_bias(bias), BEFORE, same, jnp.ones((1, 3), bool))
        np.testing.assert_allclose(state.output, 1, rtol=1e-6)
    unfinished = halted(with_bias(-6.0, decaying=True), BEFORE, same, jnp.ones((1, 3), bool))
    assert np.all(np.asarray(unfinished.output) < 0.5)
    np.testing.assert_array_equal(unfinished.remainder, 0)


def test_an_encoder_ponders_and_reads_what_columns_held_when_they_halted():
    sizes = specs.SequenceSizes(5, 4)
    model = eqx.filter_jit(SPEC.build)(sizes, KEY)
    halting = dataclasses.replace(SPEC, halting=specs.HaltingSpec())
    hasty = eqx.filter_jit(halting.build)(sizes, KEY)
    bias = lambda m: m.encoder.stack.halting.halt.bias  # noqa: E731
    hasty = eqx.tree_at(bias, hasty, jnp.array([20.0]))
    ponder = eqx.filter_jit(lambda m: (*m.ponder(TOKENS, LENGTHS), m(TOKENS, LENGTHS)))
    logits, extras, called = ponder(hasty)
    np.testing.assert_array_equal(extras["steps"], [[1, 1, 1], [1, 1, 0]])
    np.testing.assert_allclose(extras["remainder"], [[1, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(logits, called)
    columns = eqx.filter_jit(model.trace)(TOKENS, LENGTHS).columns[0]
    expected = model.readout(columns[jnp.arange(2), LENGTHS - 1])
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert not ponder(model)[1]
