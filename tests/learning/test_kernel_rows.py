"""The kernel rule on the first rows of a larger training set."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recombine import learning, models

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (40, 3))
U = jnp.eye(2, 3)


def stepped(x, y, rows, steps=3):
    rule = learning.KernelDirections(
        models.SplitKernel(), x, y[:, None], jnp.ones((2, 1), bool), KEY, batch_size=8,
        jitter=1.0, rows=rows,
    )  # fmt: skip
    state, step = rule.init(U), eqx.filter_jit(type(rule).step)
    for t in range(steps):
        state = step(rule, state, jnp.asarray(t))
    return rule.projections(state)


def test_nothing_beyond_the_rows_is_drawn():
    y = jnp.sin(X.sum(axis=1))
    spoilt = stepped(X.at[12:].set(jnp.nan), y.at[12:].set(jnp.nan), jnp.asarray(12))
    assert np.isfinite(spoilt).all()
    np.testing.assert_array_equal(spoilt, stepped(X, y, jnp.asarray(12)))
    assert np.abs(spoilt - stepped(X, y, jnp.asarray(40))).max() > 0


def test_all_rows_are_all_samples():
    y = jnp.sin(X.sum(axis=1))
    np.testing.assert_array_equal(stepped(X, y, jnp.asarray(40)), stepped(X, y, None))
