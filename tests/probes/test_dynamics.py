import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine import probes


def test_crossings_are_interpolated():
    assert probes.crossing_time(
        np.array([0, 1, 2, 3]), np.array([10, 8, 4, 0]), 5.0
    ) == pytest.approx(1.75)
    assert probes.crossing_time(np.array([0, 10, 20]), np.array([0, 1, 3]), 2.0) == pytest.approx(
        15
    )


def test_the_first_of_several_crossings_counts():
    assert probes.crossing_time(
        np.array([0, 1, 2, 3, 4]), np.array([2, 0, 2, 0, 2]), 1.0
    ) == pytest.approx(0.5)


def test_a_level_never_reached_is_nan():
    assert np.isnan(probes.crossing_time(np.array([0, 1]), np.array([5, 4]), 3.0))
    assert np.isnan(probes.drop_times(np.array([0, 1]), np.array([5, 4]), [3.0])[0])


def test_a_curve_that_starts_at_the_level_has_crossed_it():
    assert probes.crossing_time(np.array([3, 4]), np.array([1, 2]), 1.0) == 3


def test_drop_times_are_those_of_a_falling_loss():
    times = probes.drop_times(np.array([0, 2, 4]), np.array([100, 50, 0]), [75.0, 25.0, 200.0])
    np.testing.assert_allclose(times, [1, 3, 0])


@given(st.floats(0.1, 0.9), st.floats(0.5, 20))
def test_exponential_decay_crosses_when_it_should(level, tau):
    t = np.linspace(0, 5 * tau, 4001)
    expected = -tau * np.log(level)
    assert probes.crossing_time(t, np.exp(-t / tau), level) == pytest.approx(expected, rel=1e-4)


def test_delay_index_tells_a_plateau_from_exponential_decay():
    t = np.linspace(0, 100, 10001)
    decay = probes.delay_index(t, np.exp(-t))
    assert decay == pytest.approx(np.log(0.95) / np.log(0.5), rel=1e-3)
    plateau = probes.delay_index(t, 1 / (1 + np.exp(t - 50)))
    assert plateau == pytest.approx((50 - np.log(19)) / 50, rel=1e-3)


def test_delay_index_counts_from_the_first_time():
    t = np.linspace(0, 10, 1001)
    assert probes.delay_index(t + 7, np.exp(-t)) == pytest.approx(probes.delay_index(t, np.exp(-t)))


def test_relative_change_is_the_norm_of_the_change_over_the_norm_at_the_start():
    before = {"a": jnp.array([[3.0, 4.0]]), "b": jnp.ones(4)}
    after = {"a": jnp.array([[3.0, 14.0]]), "b": jnp.ones(4)}
    change = probes.relative_change(after, before)
    assert change["a"] == pytest.approx(2)
    assert change["b"] == 0
