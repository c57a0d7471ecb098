import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, tasks
from recombine.models._direction_kernels import AdditiveKernel
from recombine.theory._interpolation import log_evidence

KEY = jax.random.key(0)


def normal(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def test_the_kernel_adds_up_modules_of_one_projection_each(x64):
    w, log_a, log_nu = normal(2, 3), normal(2, seed=1), jnp.asarray(-0.5)
    x = normal(4, 3, seed=2)
    K = AdditiveKernel(w, log_a, log_nu)(x)
    for i in range(4):
        for j in range(4):
            apart = np.asarray(w @ (x[i] - x[j]))
            slow = np.sum(np.exp(2 * np.asarray(log_a)) * np.exp(-(apart**2) / 2))
            np.testing.assert_allclose(K[i, j], slow + (i == j) * np.exp(-1.0), rtol=1e-10)


def test_the_objective_is_the_evidence_of_scaled_targets(x64):
    x, y = normal(8, 3), 5 * normal(8, seed=1)
    rule = learning.JointDirections(x, y, KEY, batch_size=8)
    state = rule.init(models.random_directions(2, 3, key=KEY))
    K = state.kernel(x)
    slow = -log_evidence(K, (y / y.std())[:, None]) / 8
    np.testing.assert_allclose(state.loss, slow, rtol=1e-10)


def test_only_the_first_rows_are_seen(x64):
    x, y = normal(32, 3), normal(32, seed=1)
    spoiled = y.at[16:].set(1e6)
    u = models.random_directions(2, 3, key=KEY)
    losses = [
        learning.JointDirections(x, targets, KEY, batch_size=8, rows=jnp.asarray(16)).init(u).loss
        for targets in (y, spoiled)
    ]
    np.testing.assert_array_equal(*losses)


def test_directions_of_a_smooth_target_are_found(x64):
    """Two waves of low frequency in four dimensions, and four modules to find them."""
    u = jnp.eye(2, 4)
    one = jnp.ones((2, 1))
    target = tasks.SineRegression(one, 2 * one, 0 * one, u)
    x, y = target.sample(200, key=jax.random.key(1))
    start = models.random_directions(4, 4, key=jax.random.key(2))
    rule = learning.JointDirections(x, y, KEY, batch_size=64)
    state, _ = learning.train(rule, rule.init(start), 200, every=200)
    found = rule.projections(state)
    assert probes.module_similarity(u, found) > 0.98
    assert probes.module_similarity(u, start) < 0.9


def test_a_batch_must_fit():
    with pytest.raises(ValueError, match="a batch of 9 of 8 samples"):
        learning.JointDirections(normal(8, 3), normal(8), KEY, batch_size=9)
