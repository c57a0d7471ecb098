import jax
import numpy as np
import pytest

from recombine import probes


def test_route_error_is_half_the_squared_distance():
    Y = np.array([[1.0, 2.0], [0.0, 0.0]])
    outputs = np.zeros((2, 1, 2, 2))
    outputs[1, 0] = Y + np.array([[0, 0], [3, 4]])
    np.testing.assert_allclose(probes.route_errors(outputs, Y), [[2.5], [12.5]])


def test_means_are_taken_over_trained_and_untrained_routes_apart():
    errors = np.array([[1.0, 2.0], [3.0, 10.0]])
    mask = np.array([[True, False], [True, False]])
    means = probes.route_means(errors, mask)
    assert means.trained == pytest.approx(2)
    assert means.untrained == pytest.approx(6)


def test_means_keep_further_axes():
    values = np.arange(12.0).reshape(2, 2, 3)
    means = probes.route_means(values, np.eye(2, dtype=bool))
    np.testing.assert_allclose(means.trained, (values[0, 0] + values[1, 1]) / 2)
    np.testing.assert_allclose(means.untrained, (values[0, 1] + values[1, 0]) / 2)


def test_the_mean_over_no_route_is_nan():
    means = probes.route_means(np.ones((2, 2)), np.ones((2, 2), bool))
    assert means.trained == 1
    assert np.isnan(means.untrained)


def test_a_wrong_untrained_route_does_not_spoil_the_trained_mean():
    means = jax.jit(probes.route_means)(
        np.array([[1.0, np.inf]], np.float32), np.array([[True, False]])
    )
    assert means.trained == 1
    assert np.isinf(means.untrained)
