"""Targets made of sine waves: their moments, symmetries and parts."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.tasks import SineRegression

KEY = jax.random.key(0)
TARGET = eqx.filter_jit(lambda task, x: task(x))


def make(k, m, tau, projection="linear"):
    """A target with random numbers, of NumPy: nothing is compiled for them."""
    rng = np.random.default_rng(0)
    shapes = [(k, tau)] * 3 + [(k, m)]
    numbers = (jnp.asarray(rng.normal(size=shape)) for shape in shapes)
    return SineRegression(*numbers, projection)


def inputs(*shape):
    return jnp.asarray(np.random.default_rng(1).normal(size=shape))


def slow_target(task, x):
    """Eq. 69 and 71, wave by wave."""
    a, omega, phi, u = map(np.asarray, (task.a, task.omega, task.phi, task.u))
    k, tau = a.shape
    total = 0.0
    for i in range(k):
        if task.projection == "linear":
            s = sum(u[i, d] * x[d] for d in range(len(x)))
        else:
            s = math.sqrt(sum((u[i, d] - x[d]) ** 2 for d in range(len(x))))
        for j in range(tau):
            total += a[i, j] * math.sin(omega[i, j] * s + phi[i, j])
    return total / math.sqrt(k)


@pytest.mark.parametrize("projection", ["linear", "distance"])
def test_targets_agree_with_a_loop_over_waves(projection, x64):
    task = make(3, 4, 2, projection)
    x = inputs(5, 4)
    assert np.allclose(
        TARGET(task, x), [slow_target(task, row) for row in np.asarray(x)], atol=1e-12
    )


@pytest.mark.parametrize(
    ("projection", "x", "y"), [("linear", (0.5, 3.0), 1.0), ("distance", (1.0, 1.5), -1.0)]
)
def test_a_single_wave_has_the_values_computed_by_hand(projection, x, y):
    one = jnp.ones((1, 1))
    task = SineRegression(one, math.pi * one, 0 * one, jnp.array([[1.0, 0.0]]), projection)
    assert task(jnp.array(x)) == pytest.approx(y, abs=1e-6)


@pytest.mark.parametrize(
    ("k", "m", "tau", "projection"),
    [(1, 3, 5, "linear"), (9, 3, 5, "linear"), (4, 7, 2, "linear"), (5, 5, 5, "distance")],
)
def test_the_mean_square_is_half_of_tau_for_any_number_of_modules(k, m, tau, projection):
    @jax.jit
    @jax.vmap
    def mean_square(key):
        of_task, of_inputs = jax.random.split(key)
        task = SineRegression.random(k, m, tau, projection=projection, key=of_task)
        return jnp.mean(task.sample(50, key=of_inputs).y ** 2)

    found = mean_square(jax.random.split(jax.random.key(7), 2000)).mean()
    assert found == pytest.approx(tau / 2, rel=0.05)


@pytest.mark.parametrize("projection", ["linear", "distance"])
def test_turning_inputs_and_directions_together_changes_nothing(projection, x64):
    task = make(3, 5, 5, projection)
    x = inputs(20, 5)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    turned = SineRegression(task.a, task.omega, task.phi, task.u @ Q, projection)
    assert np.allclose(TARGET(turned, x @ Q), TARGET(task, x), atol=1e-10)
    assert not np.allclose(TARGET(turned, x), TARGET(task, x), atol=0.1)


def test_the_parts_sum_to_the_target(x64):
    task = make(2, 3, 3)
    x = inputs(4, 6, 3)
    parts_of = eqx.filter_jit(task.parts)
    parts = parts_of(x)
    assert parts.shape == (4, 6, 2, 3)
    y = TARGET(task, x)
    assert y.shape == (4, 6)
    assert np.allclose(np.sum(parts, axis=(-1, -2)), y, atol=1e-14)
    # Module 0 alone is a function of its own projection: moving across it changes nothing.
    across = np.cross(task.u[0], [0.0, 0.0, 1.0])
    assert np.allclose(parts_of(x + across)[..., 0, :], parts[..., 0, :], atol=1e-12)
    assert not np.allclose(parts_of(x + across)[..., 1, :], parts[..., 1, :], atol=0.1)


def test_parameters_have_the_distributions_of_the_paper():
    task = eqx.filter_jit(SineRegression.random)(200, 5, 100, key=KEY)
    a, omega, phi, u = map(np.asarray, (task.a, task.omega, task.phi, task.u))
    assert a.std() == pytest.approx(1, rel=0.02)
    assert omega.std() == pytest.approx(2 * math.pi, rel=0.02)
    assert phi.std() == pytest.approx(math.pi / 3**0.5, rel=0.02)
    assert np.abs(phi).max() <= math.pi
    assert np.allclose(np.linalg.norm(u, axis=1), 1, atol=1e-6)
    assert np.allclose(u.T @ u / 200, np.eye(5) / 5, atol=0.06)


def test_a_larger_sample_begins_with_the_smaller_one():
    task = make(2, 3, 5)
    few, many = (eqx.filter_jit(task.sample)(size, key=KEY) for size in (10, 25))
    assert many.y.shape == (25,)
    assert np.array_equal(many.x[:10], few.x)
    assert np.allclose(many.y[:10], few.y, atol=1e-5)


def test_what_is_no_projection_or_has_no_parts_is_refused():
    with pytest.raises((ValueError, TypeError), match="cosine"):
        SineRegression.random(2, 3, projection="cosine", key=KEY)
    with pytest.raises(ValueError, match="must be 1 or more"):
        SineRegression.random(2, 3, 0, key=KEY)
