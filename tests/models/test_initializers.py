"""Initializers have the deviations that they promise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import truncnorm

from recombine.models import _initializers as initializers

KEY = jax.random.key(0)
SHAPE = (300, 500)


def test_deviations_are_as_documented():
    drawn = {
        "fan_in_uniform": initializers.fan_in_uniform(SHAPE, 300, key=KEY),
        "xavier_uniform": initializers.xavier_uniform(SHAPE, gain=5 / 3, key=KEY),
        "xavier_normal": initializers.xavier_normal(SHAPE, fans=50, key=KEY),
        "kaiming_normal": initializers.kaiming_normal(SHAPE, 500, key=KEY),
    }
    expected = {
        "fan_in_uniform": (3 * 300) ** -0.5,
        "xavier_uniform": 5 / 3 * (2 / 800) ** 0.5,
        "xavier_normal": (2 / 50) ** 0.5,
        "kaiming_normal": (2 / 500) ** 0.5,
    }
    for name, numbers in drawn.items():
        np.testing.assert_allclose(np.std(numbers), expected[name], rtol=0.01)
        assert abs(np.mean(numbers)) < 0.02 * expected[name]
    for name in ("fan_in_uniform", "xavier_uniform"):
        largest = np.abs(drawn[name]).max()
        assert 0.99 < largest / (3**0.5 * expected[name]) <= 1 + 1e-6


def test_xavier_numbers_are_those_of_jax_also_for_kernels():
    theirs = jax.nn.initializers.glorot_uniform()
    for shape in ((7, 5), (3, 3, 4, 6)):
        ours = initializers.xavier_uniform(shape, key=KEY)
        np.testing.assert_array_equal(ours, theirs(KEY, shape, jnp.float32))


def test_truncated_normal_numbers_have_088_of_the_nominal_std():
    drawn = np.asarray(initializers.truncated_normal((400, 500), 0.3, key=KEY))
    expected = truncnorm.std(-2, 2)
    assert expected == pytest.approx(0.8796, abs=1e-4)
    assert drawn.std() == pytest.approx(0.3 * expected, rel=0.01)
    assert drawn.mean() == pytest.approx(0, abs=0.003)
    assert 0.59 < np.abs(drawn).max() <= 0.6
