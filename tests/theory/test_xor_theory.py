"""Eq. 18-23, and what they say about ReLU networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, tasks, theory
from recombine.theory._xor import xor_statistics

pytestmark = pytest.mark.usefixtures("x64")


def test_statistics_are_those_of_one_gated_example():
    x, y = tasks.XorTask().examples()
    gate = jnp.array([1.0, 0, 0, 0])
    statistics = xor_statistics()
    assert np.allclose(statistics.Sigma_yx, jnp.einsum("n,no,ni->oi", gate, y, x) / 4)
    assert np.allclose(statistics.Sigma_x, jnp.einsum("n,ni,nk->ik", gate, x, x) / 4)
    assert np.allclose(statistics.Sigma_y, jnp.einsum("n,no,nk->ok", gate, y, y) / 4)
    U, s, Vt = np.linalg.svd(np.asarray(statistics.Sigma_yx))
    assert statistics.s == pytest.approx(s[0]) == pytest.approx(0.35355, abs=1e-5)
    assert np.allclose(U[0, 0] * Vt[0], statistics.v)
    assert statistics.d == pytest.approx(float(statistics.v @ statistics.Sigma_x @ statistics.v))
    assert statistics.d == 0.5


def test_the_mode_strength_solves_its_differential_equation():
    s, d, tau, a0 = 0.7, 0.4, 2.5, 0.01

    def a(t):
        return theory.two_layer_mode_strength(t, a0=a0, s=s, d=d, tau=tau)

    times = jnp.linspace(0, 30, 61)
    rate = jax.vmap(jax.grad(a))(times)
    assert np.allclose(tau * rate, 2 * a(times) * (s - d * a(times)), rtol=1e-12, atol=1e-14)
    assert a(0.0) == pytest.approx(a0)
    assert a(1e4) == pytest.approx(s / d)


def test_exclusive_or_is_learned_to_one_over_sqrt_2_and_no_loss():
    a = theory.xor_mode_strength(jnp.array([0.0, 1e4]), 1e-3, 2.5)
    assert np.allclose(a, [1e-3, 1 / np.sqrt(2)], rtol=1e-12)
    assert theory.xor_loss(a)[1] == pytest.approx(0, abs=1e-14)
    assert theory.xor_loss(jnp.zeros(())) == 0.5
    strengths = jnp.linspace(0, 1, 11)
    assert np.allclose(theory.xor_loss(strengths), 0.5 - np.sqrt(2) * strengths + strengths**2)
    assert np.allclose(theory.xor_loss(strengths, paths=8), theory.xor_loss(strengths))


def test_four_pathways_follow_the_theory():
    a0, tau, dt, steps = 1e-3, 2.5, 0.005, 12_000
    task = tasks.XorTask()
    x, y = task.examples()
    network = models.decoupled_pathways(a0, x / jnp.sqrt(2), y, key=jax.random.key(0))
    examples = task.gated_examples()

    def step(network, _):
        loss, gradient = jax.value_and_grad(models.GatedLinearNetwork.loss)(network, examples)
        return jax.tree.map(lambda W, dW: W - dt / tau * dW, network, gradient), loss

    _, losses = jax.lax.scan(step, network, None, length=steps)
    predicted = theory.xor_loss(theory.xor_mode_strength(dt * jnp.arange(steps), a0, tau))
    # Euler's method is of first order.
    assert np.abs(losses - predicted).max() == pytest.approx(2.4e-4, rel=0.1)
    assert losses[-1] < 1e-4


def test_every_unit_counts_in_one_pathway():
    W1 = jnp.array([[3.0, 1.0], [-1.0, -2.0], [2.0, -1.0], [0.0, 1.0]])
    W2 = jnp.array([[2.0, 0.5, -1.0, -4.0]])
    x, y = tasks.XorTask().examples()
    a0 = theory.estimate_a0(W1, W2, x, y)
    root = np.sqrt(2)
    by_hand = [(4 / root + 2) ** 2, (3 / root + 0.5) ** 2, (3 / root + 1) ** 2, (1 / root + 4) ** 2]
    assert np.allclose(a0, np.array(by_hand) / 4)
    flipped = theory.estimate_a0(W1, -W2, *tasks.XorTask(exclusive=True).examples())
    assert np.allclose(flipped, a0)


def test_fitting_recovers_a0():
    epochs = np.arange(150)
    for a0 in (1e-8, 2.4e-7, 1e-3):
        losses = theory.xor_loss(theory.xor_mode_strength(epochs, a0, 2.5))
        assert theory.fit_a0(epochs, losses, 2.5) == pytest.approx(a0, rel=1e-5)


def test_relu_networks_learn_as_the_four_pathways_do():
    """The constants of Figure 3: 128 units, sigma_0 = 0.0002, learning rate 0.4."""
    x, y = tasks.XorTask().examples()
    tau, epochs = 2.5, np.arange(150)

    @jax.jit
    def learn(key):
        def step(network, _):
            loss, gradient = jax.value_and_grad(models.TwoLayerNetwork.loss)(network, x, y)
            return jax.tree.map(lambda W, dW: W - dW / tau, network, gradient), loss

        network = models.TwoLayerNetwork.random(0.0002, key=key)
        end, losses = jax.lax.scan(step, network, None, length=150)
        return network, end, losses

    for seed in range(3):
        start, end, losses = learn(jax.random.key(seed))
        fitted = theory.fit_a0(epochs, np.asarray(losses), tau)
        assert 1.5e-7 < fitted < 4e-7
        predicted = theory.xor_loss(theory.xor_mode_strength(epochs, fitted, tau))
        assert np.abs(losses - predicted).max() < 0.02
        assert losses[-1] < 1e-20
        expected = theory.estimate_a0(start.W1, start.W2, x, y)
        assert np.all((expected > 5e-7) & (expected < 2e-6))
        # All of the input weight lies along the four examples.
        power = np.sum(np.square(end.W1), axis=-1)
        cosine = np.max(end.W1 @ (x / np.sqrt(2)).T, axis=-1) / np.sqrt(power)
        assert power[cosine > 0.99].sum() > 0.95 * power.sum()


def test_a_linear_network_learns_nothing():
    x, y = tasks.XorTask().examples()
    network = models.TwoLayerNetwork.random(
        0.0002, activation=jax.nn.identity, key=jax.random.key(0)
    )

    def step(network, _):
        loss, gradient = jax.value_and_grad(models.TwoLayerNetwork.loss)(network, x, y)
        return jax.tree.map(lambda W, dW: W - 0.4 * dW, network, gradient), loss

    _, losses = jax.lax.scan(step, network, None, length=150)
    assert np.abs(losses - 0.5).max() < 1e-3
