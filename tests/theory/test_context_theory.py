"""Eq. 24-29: one linear path against one path per context."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, tasks, theory
from recombine.theory._context import context_statistics

pytestmark = pytest.mark.usefixtures("x64")


def test_population_statistics_are_the_integrals():
    # Gauss-Legendre quadrature of two points is exact for these polynomials.
    nodes, weights = np.polynomial.legendre.leggauss(2)
    x = np.array([(a, b) for a in nodes for b in nodes])
    w = np.array([u * v for u in weights for v in weights]) / 4
    statistics = context_statistics()
    for c in range(2):
        assert np.allclose(statistics.Sigma_yx[c, 0], (w * x[:, c]) @ x / 2)
        assert np.allclose(statistics.Sigma_x[c, c], (w * x.T) @ x / 2)
    assert np.all(statistics.Sigma_x[0, 1] == 0)
    assert np.all(statistics.Sigma_x[1, 0] == 0)
    assert np.allclose(statistics.linear_Sigma_yx, statistics.Sigma_yx.sum(0))
    assert np.allclose(statistics.linear_Sigma_x, statistics.Sigma_x.sum((0, 1)))
    assert statistics.Sigma_y[0, 0] == pytest.approx(1 / 3)


def test_the_linear_network_averages_and_keeps_half_of_the_loss():
    statistics = context_statistics()
    W = theory.LinearContext.solution(statistics)
    assert np.allclose(W, [[0.5, 0.5]])
    assert theory.LinearContext.loss(W, statistics) == pytest.approx(1 / 12)
    assert theory.LinearContext.loss(jnp.zeros((1, 2)), statistics) == pytest.approx(1 / 6)
    gradient = jax.grad(theory.LinearContext.loss)(W, statistics)
    assert np.allclose(gradient, 0, atol=1e-15)


def test_the_gated_network_reads_off_the_right_input():
    statistics = context_statistics()
    W = theory.GatedContext.solution(statistics)
    assert np.allclose(W, [[[1, 0]], [[0, 1]]])
    assert theory.GatedContext.loss(W, statistics) == pytest.approx(0, abs=1e-15)
    assert theory.GatedContext.loss(jnp.zeros((2, 1, 2)), statistics) == pytest.approx(1 / 6)
    both = jnp.stack([jnp.zeros_like(W), W])
    assert np.allclose(theory.GatedContext.loss(both, statistics), [1 / 6, 0], atol=1e-15)


def test_gating_both_paths_with_one_map_is_the_linear_network():
    statistics = context_statistics()
    W = jnp.array([[0.3, -0.7]])
    assert theory.GatedContext.loss(jnp.stack([W, W]), statistics) == pytest.approx(
        float(theory.LinearContext.loss(W, statistics))
    )


def test_mode_strengths_approach_the_solutions():
    assert theory.LinearContext.mode_strength(1e5, 1e-3, 2.0) == pytest.approx(1 / np.sqrt(2))
    assert theory.GatedContext.mode_strength(1e5, 1e-3, 2.0) == pytest.approx(1)


@pytest.mark.parametrize("gated", [False, True])
def test_two_layer_networks_follow_their_mode_strengths(gated):
    """Gradient descent under the population statistics, from decoupled weights."""
    statistics = context_statistics()
    a0, dt, steps = 1e-2, 0.01, 6000
    V = np.eye(2) if gated else np.ones((1, 2)) / np.sqrt(2)
    r = np.array([0.6, 0.0, 0.8])
    W1 = jnp.stack([np.sqrt(a0) * np.outer(r, v) for v in V])
    W2 = jnp.stack([np.sqrt(a0) * r[None] for _ in V])

    def loss(weights):
        W = weights[1] @ weights[0]
        if gated:
            return theory.GatedContext.loss(W, statistics)
        return theory.LinearContext.loss(W[0], statistics)

    def step(weights, _):
        value, gradient = jax.value_and_grad(loss)(weights)
        return jax.tree.map(lambda W, dW: W - dt * dW, weights, gradient), (
            value,
            (weights[1] @ weights[0])[0, 0] @ V[0],
        )

    _, (losses, strengths) = jax.lax.scan(step, (W1, W2), None, length=steps)
    strength = theory.GatedContext.mode_strength if gated else theory.LinearContext.mode_strength
    assert np.abs(strengths - strength(dt * jnp.arange(steps), a0, 1.0)).max() < 1e-3
    assert losses[-1] == pytest.approx(0 if gated else 1 / 12, abs=1e-4)


def test_the_loss_from_statistics_is_that_of_the_gated_network_on_a_sample():
    task = tasks.ContextTask()
    batch = task.sample(50, key=jax.random.key(1))
    statistics = task.statistics(batch)
    for gated, loss in ((True, theory.GatedContext.loss), (False, theory.LinearContext.loss)):
        network = models.GatedLinearNetwork.random(
            models.pathway_graph(2 if gated else 1), 0.5, key=jax.random.key(2)
        )
        W = jnp.stack(
            [network.weights[f"out{p}"] @ network.weights[f"in{p}"] for p in range(1 + gated)]
        )
        assert network.loss(task.gated_examples(batch, gated=gated)) == pytest.approx(
            float(loss(W if gated else W[0], statistics))
        )
