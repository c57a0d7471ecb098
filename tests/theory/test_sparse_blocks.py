"""Errors of sparse blocks lie below their bounds, all but the printed one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import theory
from recombine.models import keep_largest, specs

KEYS = jax.random.split(jax.random.key(0), 4)
UNITS = jax.nn.relu(jax.random.normal(KEYS[0], (200, 12)))


def keeping(ranking, count):
    return keep_largest(ranking + 1.0, count) > 0


def test_the_printed_bound_has_a_counterexample():
    found = theory.approximation_error(jnp.array([2.0]), jnp.array([[1.0]]), jnp.array([False]))
    assert found.error == 4 > found.printed == 2
    assert found.error <= found.triangle


@pytest.mark.parametrize("count", [0, 3, 9])
def test_the_correct_bounds_hold_on_random_blocks(count):
    values = jax.random.normal(KEYS[1], (12, 5)) * jnp.linspace(0.2, 3, 12)[:, None]
    kept = keeping(jax.random.uniform(KEYS[2], UNITS.shape), count) if count else UNITS < 0
    found = theory.approximation_error(UNITS, values, kept)
    assert np.all(found.error <= found.triangle * (1 + 1e-4))
    assert np.all(found.error <= found.cauchy_schwarz * (1 + 1e-4))


def test_with_orthogonal_values_the_error_is_the_sum_of_squares():
    values = jnp.linalg.qr(jax.random.normal(KEYS[1], (12, 12)))[0] * jnp.arange(1, 13.0)[:, None]
    found = theory.approximation_error(UNITS, values, keeping(UNITS, 4))
    np.testing.assert_allclose(found.error, found.orthogonal, rtol=1e-3, atol=1e-4)


def test_units_ranked_by_contribution_leave_the_least_error_out_on_average():
    values = jax.random.normal(KEYS[1], (12, 30)) * jnp.linspace(0.1, 3, 12)[:, None]
    norms = jnp.linalg.norm(values, axis=1)
    random = jax.random.uniform(KEYS[2], UNITS.shape)
    by_contribution, by_value, by_chance = (
        theory.approximation_error(UNITS, values, keeping(r, 4)).error.mean()
        for r in (UNITS * norms, UNITS, random)
    )
    assert by_contribution < by_value < by_chance


def test_work_is_a_quarter_of_the_dense_one_and_the_router():
    dense, mixture = theory.dense_flops(412, 2048), theory.mixture_flops(412, 16, 128, 4)
    assert theory.nominal_share(16, 4) == 0.25
    assert mixture == dense // 4 + 2 * 412 * 16


@pytest.mark.parametrize("init", ["sigma", "standard"])
def test_the_scale_of_an_untrained_mixture_is_predicted(init):
    sizes = specs.LayerSizes(64, 512, 1, 0.0, layers=2)
    x = jax.random.normal(KEYS[3], (1, 600, 64))
    applied = eqx.filter_jit(lambda spec: spec.build(sizes, KEYS[0])(x))
    dense = applied(specs.DepthScaledFeedForwardSpec())[0].std()
    y, extras = applied(specs.MixtureSpec(experts=16, size=32, chosen=4, init=init))
    rms = float(jnp.sqrt(jnp.square(extras["weights"]).mean()))
    predicted = theory.output_scale(rms, 16, 4, standard=init == "standard")
    assert float(y.std() / dense) == pytest.approx(predicted, rel=0.1)
