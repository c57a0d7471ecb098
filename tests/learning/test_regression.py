"""Regression on the first rows of a larger set is regression on a smaller one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models

KEY = jax.random.key(3)
X = jax.random.normal(KEY, (40, 3))
Y = jnp.sin(X.sum(axis=1))
LEARNS, STAYS = eqx.partition(models.MLP((3, 8, 1), uniform=True, key=KEY), eqx.is_inexact_array)


def trained(x, y, *, batch=0, rows=None, steps=20):
    rule = learning.Regression(x, y, X, Y, STAYS, KEY, 0.01, batch, None, rows)
    state, seen = learning.train(rule, rule.init(LEARNS), steps, every=5)
    return jax.tree.leaves(state.learns), seen


@pytest.mark.parametrize("n", [1, 7, 40])
def test_all_samples_of_the_first_rows_are_a_smaller_training_set(n):
    weights, seen = trained(X, Y, rows=jnp.asarray(n))
    expected, losses = trained(X[:n], Y[:n])
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)
    np.testing.assert_allclose(seen["loss"], losses["loss"], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("n", [5, 40])
def test_batches_of_the_first_rows_are_those_of_a_smaller_training_set(n):
    # What lies beyond the rows is not a number: it is never drawn.
    y = Y.at[n:].set(jnp.nan)
    weights, seen = trained(X, y, batch=5, rows=jnp.asarray(n))
    expected, losses = trained(X[:n], Y[:n], batch=5)
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_allclose(seen["loss"], losses["loss"], rtol=1e-4)


def test_sets_of_all_sizes_share_one_program():
    rule = learning.Regression(X, Y, X, Y, STAYS, KEY, 0.01, 5, None, jnp.asarray(5))
    traced = []

    @eqx.filter_jit
    def step(rule, state):
        traced.append(1)
        return rule.step(state, jnp.asarray(0))

    state = rule.init(LEARNS)
    for n in (5, 17, 40):
        step(eqx.tree_at(lambda r: r.rows, rule, jnp.asarray(n)), state)
    assert len(traced) == 1


def test_the_mean_over_rows_is_by_hand():
    def model(x):
        return x[:, :1]

    x, y = jnp.array([[1.0], [2.0], [9.0]]), jnp.array([0.0, 5.0, 0.0])
    assert learning.mean_squared_error(model, x, y) == pytest.approx((1 + 9 + 81) / 3)
    assert learning.mean_squared_error(model, x, y, jnp.asarray(2)) == 5
