import jax
import numpy as np
import pytest

from recombine import models, probes, tasks
from recombine.probes._spectrum import off_diagonal_residual


def test_singular_values_are_sorted_and_cut_to_the_top():
    W = np.diag(np.array([1.0, -5.0, 3.0]))
    np.testing.assert_allclose(probes.singular_values(W), [5, 3, 1], rtol=1e-6)
    np.testing.assert_allclose(
        probes.singular_values(np.stack([W, 2 * W]), 2), [[5, 3], [10, 6]], rtol=1e-6
    )


def test_mode_strengths_read_out_the_modes_of_a_map(x64):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    V = np.linalg.qr(rng.normal(size=(4, 3)))[0]
    s = np.array([3.0, -2.0, 0.5])
    W = U * s @ V.T
    np.testing.assert_allclose(probes.mode_strengths(W, U, V), s, atol=1e-12)
    np.testing.assert_allclose(
        probes.mode_strengths(np.stack([W, 2 * W])[None], U, V),
        np.stack([s, 2 * s])[None],
        atol=1e-12,
    )


def test_residual_is_zero_for_decoupled_and_not_for_random_weights(x64):
    X, Y = tasks.hierarchical_items()
    U, _, Vt = np.linalg.svd(np.asarray(Y.T @ X))
    decoupled = models.RoutingNetwork.decoupled(
        0.3, Y.T @ X, num_domains=3, width=8, key=jax.random.key(0)
    )
    maps = decoupled.route_maps()
    assert off_diagonal_residual(maps, U, Vt.T).shape == (3, 3)
    assert np.max(off_diagonal_residual(maps, U, Vt.T)) < 1e-14
    random = models.RoutingNetwork.orthogonal(0.3, num_domains=3, width=8, key=jax.random.key(0))
    assert np.min(off_diagonal_residual(random.route_maps(), U, Vt.T)) > 1e-4


def test_residual_is_the_largest_off_diagonal_entry():
    W = np.array([[9.0, -2.0], [1.0, 9.0], [0.0, 0.5]])
    assert off_diagonal_residual(W, np.eye(3), np.eye(2)) == 2


def test_hidden_to_input_ratio_compares_mode_by_mode():
    W1 = np.zeros((2, 4, 2))
    W1[:, [0, 1], [0, 1]] = [3, 1]
    W2 = np.diag([1.0, 2.0, 12.0, 0.0])
    np.testing.assert_allclose(probes.hidden_to_input_ratio(W1, W2), [[4, 2]] * 2, rtol=1e-6)
    assert probes.hidden_to_input_ratio(W1[0], W2)[0] == pytest.approx(4)
