"""Losses relative to the power of the targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes


def test_a_prediction_of_zero_has_a_relative_loss_of_one(x64):
    y = jax.random.normal(jax.random.key(0), (3, 10, 2))
    for by_sample in (False, True):
        assert np.allclose(probes.relative_loss(jnp.zeros_like(y), y, by_sample=by_sample), 1)
        assert np.all(probes.relative_loss(y, y, by_sample=by_sample) == 0)


def test_the_two_ratios_by_hand(x64):
    y = jnp.array([[[1.0, 0.0], [0.0, 2.0]]])
    y_hat = jnp.array([[[1.0, 1.0], [0.0, 0.0]]])
    # Errors 1 and 4, powers 1 and 4.
    assert probes.relative_loss(y_hat, y) == pytest.approx(5 / 5)
    y_hat = jnp.array([[[1.0, 1.0], [0.0, 2.0]]])
    assert probes.relative_loss(y_hat, y) == pytest.approx(1 / 5)
    assert probes.relative_loss(y_hat, y, by_sample=True) == pytest.approx(1 / 2)


def test_samples_without_power_are_left_out_of_the_ratio_by_sample(x64):
    y = jnp.array([[[0.0], [2.0]]])
    assert probes.relative_loss(y + 1, y, by_sample=True) == pytest.approx(1 / 4)
