"""The modular network of the theory, against loops and hand-computed cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models

KEY = jax.random.key(0)


def one_task(Theta, a, z, x):
    """The definition, for one task and one input."""
    W = sum(z_m * module for z_m, module in zip(z, Theta, strict=True))
    return a @ np.maximum(W @ x / np.sqrt(len(x)), 0)


def test_outputs_are_those_of_the_definition(x64):
    network = models.ModularNetwork.random(modules=3, inputs=5, hidden=7, outputs=2, key=KEY)
    z = jax.random.normal(jax.random.key(1), (4, 3))
    x = jax.random.normal(jax.random.key(2), (6, 5))
    Theta, a = np.asarray(network.Theta), np.asarray(network.a)
    expected = [[one_task(Theta, a, t, s) for s in np.asarray(x)] for t in np.asarray(z)]
    assert np.allclose(network(z, x), expected, atol=1e-14)


def test_a_case_by_hand(x64):
    # Two modules, one neuron: w = z1 (2, 0) + z2 (0, 1); n = 4 makes the factor a half.
    Theta = jnp.array([[[2.0, 0, 0, 0]], [[0, 1.0, 0, 0]]])
    network = models.ModularNetwork(Theta, jnp.array([[3.0], [-1.0]]))
    z, x = jnp.array([[1.0, 4.0]]), jnp.array([[1.0, 1, 0, 0], [-3.0, 1, 0, 0]])
    assert np.allclose(network.weights(z), [[[2, 4, 0, 0]]])
    assert np.allclose(network(z, x), [[[9, -3], [0, 0]]])


def test_weights_are_linear_in_the_latent(x64):
    network = models.ModularNetwork.random(modules=3, inputs=5, hidden=7, key=KEY)
    z = jax.random.normal(jax.random.key(1), (2, 3))
    total = network.weights(2 * z[0] - 3 * z[1])
    assert np.allclose(total, 2 * network.weights(z[0]) - 3 * network.weights(z[1]), atol=1e-14)
    assert np.allclose(network.weights(jnp.eye(3)), network.Theta)


def test_outputs_scale_with_a_positive_latent_and_not_with_a_negative_one(x64):
    network = models.ModularNetwork.random(key=KEY)
    z, x = jnp.ones((1, 6)), jax.random.normal(KEY, (10, 16))
    assert np.allclose(network(3 * z, x), 3 * network(z, x), atol=1e-13)
    assert not np.allclose(network(-z, x), -network(z, x), atol=1e-2)


def test_initial_weights_are_truncated_at_two_deviations_and_not_rescaled(x64):
    network = models.ModularNetwork.random(modules=4, inputs=100, hidden=100, outputs=100, key=KEY)
    for weights, nominal in ((network.Theta, 4**-0.5), (network.a, 100**-0.5)):
        assert np.abs(weights).max() <= 2 * nominal
        assert np.abs(weights).max() > 1.95 * nominal
        assert float(weights.std()) == pytest.approx(0.8796 * nominal, rel=0.02)
        assert float(weights.mean()) == pytest.approx(0, abs=0.03 * nominal)


def test_a_student_is_a_new_network_with_factors_of_the_teachers_sizes():
    teacher = models.ModularNetwork.random(modules=3, inputs=5, hidden=7, outputs=2, key=KEY)
    student = teacher.student(2, 4, key=jax.random.key(1))
    assert student.Theta.shape == (12, 14, 5)
    assert student.a.shape == (2, 14)
    same_size = teacher.student(key=jax.random.key(1))
    assert same_size.Theta.shape == teacher.Theta.shape
    assert not np.allclose(same_size.Theta, teacher.Theta)


def test_initial_outputs_do_not_grow_with_the_size_of_the_network():
    x = jax.random.normal(KEY, (200, 16))
    deviations = []
    for factor in (1, 8):
        network = models.ModularNetwork.random(modules=6 * factor, hidden=16 * factor, key=KEY)
        deviations.append(float(network(jax.random.normal(KEY, (20, 6 * factor)), x).std()))
    assert deviations[1] == pytest.approx(deviations[0], rel=0.5)
