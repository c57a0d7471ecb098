"""Masks that are drawn: probability, gradient, and the Gumbel-softmax of two."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import theory

LOGITS = (-4.0, -1.0, 0.0, 0.005, 0.5, 2.0, 6.0)


@pytest.mark.parametrize("logit", LOGITS)
def test_the_probability_of_a_weight_is_that_of_its_logit(logit):
    assert theory.keep_probability(logit) == pytest.approx(float(jax.nn.sigmoid(logit)), abs=1e-6)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_the_sigmoid_is_the_softmax_of_two(temperature):
    first, second = jax.random.uniform(jax.random.key(0), (2, 1000), minval=1e-6)
    logits = jnp.linspace(-4, 4, 1000)
    one, other = (
        f(logits, first, second, temperature)
        for f in (theory.gumbel_sigmoid, theory.gumbel_softmax_of_two)
    )
    np.testing.assert_allclose(one, other, atol=1e-5)


def draws(logit, temperature):
    first, second = jax.random.uniform(jax.random.key(1), (2, 200_000), minval=1e-7)
    return np.asarray(theory.gumbel_sigmoid(jnp.array(logit), first, second, temperature))


@pytest.mark.parametrize("logit", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_closed_forms_are_means_over_draws(logit, temperature):
    s = draws(logit, temperature)
    slope = s * (1 - s) / temperature
    margin = 4 * slope.std() / len(s) ** 0.5
    assert abs(slope.mean() - theory.straight_through_factor(logit, temperature)) < margin
    assert abs((s > 0.5).mean() - theory.keep_probability(logit)) < 4 * 0.5 / len(s) ** 0.5
    if temperature == 1:
        assert abs(s.mean() - theory.mean_sample(logit)) < 4 * s.std() / len(s) ** 0.5


def test_the_factor_has_the_values_of_the_thesis_and_its_limit():
    assert theory.straight_through_factor(0.0) == pytest.approx(1 / 6)
    for logit, values in {0.0: (0.243, 0.167, 0.077), 2.0: (0.107, 0.113, 0.071)}.items():
        found = [theory.straight_through_factor(logit, t) for t in (0.2, 1.0, 3.0)]
        np.testing.assert_allclose(found, values, atol=1.5e-3)
    true = float(jax.grad(jax.nn.sigmoid)(1.0))
    assert theory.straight_through_factor(1.0, 0.01) == pytest.approx(true, rel=1e-3)


@pytest.mark.parametrize("of", [theory.straight_through_factor, theory.mean_sample])
def test_series_and_closed_form_meet(of):
    assert of(0.0099) == pytest.approx(of(0.0101), rel=1e-3)
    assert of(-0.0099) == pytest.approx(of(-0.0101), rel=1e-3)
