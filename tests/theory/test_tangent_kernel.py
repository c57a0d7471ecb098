"""The tangent kernel of the routing network against its definition, and training under it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, splits, tasks, theory
from recombine.learning import routing_descent, train

pytestmark = pytest.mark.usefixtures("x64")

M, INPUTS, FEATURES, WIDTH = 3, 4, 5, 6


def network_of(scale=0.7, seed=0):
    return models.RoutingNetwork.orthogonal(
        scale,
        num_domains=M,
        inputs=INPUTS,
        features=FEATURES,
        width=WIDTH,
        key=jax.random.key(seed),
    )


@jax.jit
def slow_outputs(W1, W2, W3, X):
    """All routes one after another."""
    routes = [[X @ (W3[j] @ W2 @ W1[i]).T for j in range(M)] for i in range(M)]
    return jnp.stack([jnp.stack(row) for row in routes])


@pytest.mark.parametrize("items", ["identity", "fewer", "more"])
def test_the_kernel_is_the_product_of_jacobians(items):
    rng = np.random.default_rng(3)
    X = {
        "identity": np.eye(INPUTS),
        "fewer": rng.normal(size=(2, INPUTS)),
        "more": rng.normal(size=(6, INPUTS)),
    }[items]
    X, network = jnp.asarray(X), network_of()
    weights = (network.W1, network.W2, network.W3)
    outputs = slow_outputs(*weights, X)
    error = jnp.asarray(rng.normal(size=outputs.shape))
    _, pull = jax.vjp(lambda *W: slow_outputs(*W, X), *weights)
    _, expected = jax.jvp(lambda *W: slow_outputs(*W, X), weights, pull(error))
    assert np.abs(theory.TangentKernel(network, X)(error) - expected).max() < 1e-12


def test_the_kernel_is_that_of_finite_differences():
    X, network = jnp.eye(INPUTS), network_of()
    shape = network.outputs(X).shape
    flat, rebuild = jax.flatten_util.ravel_pytree(network)
    eps = 1e-6
    columns = []
    for k in range(flat.size):
        nudge = jnp.zeros_like(flat).at[k].set(eps)
        there, back = (rebuild(flat + sign * nudge).outputs(X) for sign in (1, -1))
        columns.append(np.ravel(there - back) / (2 * eps))
    J = np.stack(columns, axis=1)
    error = np.random.default_rng(0).normal(size=shape)
    expected = (J @ (J.T @ error.ravel())).reshape(shape)
    kernel = theory.TangentKernel(network, X)
    assert np.abs(kernel(jnp.asarray(error)) - expected).max() < 1e-8


def test_for_one_hot_inputs_the_kernel_is_the_sum_of_three_products():
    network = network_of()
    A = np.concatenate(list(network.W1), axis=1)
    W = np.asarray(network.W2)
    H, C = W @ A, np.concatenate(list(network.W3), axis=0)
    E = np.random.default_rng(1).normal(size=(FEATURES * M, INPUTS * M))
    expected = E @ (H.T @ H) + (C @ C.T) @ E @ (A.T @ A) + (C @ W @ W.T @ C.T) @ E

    def as_field(matrix):
        return matrix.reshape(M, FEATURES, M, INPUTS).transpose(2, 0, 3, 1)

    change = theory.TangentKernel(network, jnp.eye(INPUTS))(jnp.asarray(as_field(E)))
    assert np.allclose(change, as_field(expected), rtol=1e-12)


def test_the_first_step_is_the_networks_own_to_first_order():
    X = jnp.asarray(np.random.default_rng(5).normal(size=(7, INPUTS)))
    Y = jnp.asarray(np.random.default_rng(6).normal(size=(7, FEATURES)))
    mask, network = splits.ring_mask(M, 2), network_of()
    gaps = []
    for rate in (1e-3, 1e-4):
        linear = theory.LinearisedDescent(theory.TangentKernel(network, X), Y, mask, rate)
        after = linear.step(network.outputs(X), jnp.asarray(0))
        full = routing_descent(X, Y, mask, rate).step(network, jnp.asarray(0)).outputs(X)
        gaps.append(np.abs(after - full).max())
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.05)


def figure_6(scale, seed=0):
    X, Y = tasks.hierarchical_items()
    mask = splits.ring_mask(7, 4)
    network = models.RoutingNetwork.orthogonal(scale, num_domains=7, key=jax.random.key(seed))
    rate = 0.006 / scale ** (1 / 3)
    linear = theory.LinearisedDescent(theory.TangentKernel(network, X), Y, mask, rate)
    _, curves = train(linear, network.outputs(X), 700)
    return network, routing_descent(X, Y, mask, rate), curves


def first_below(losses, fraction):
    return int(np.argmax(losses < fraction * losses[0]))


def test_at_large_weights_it_learns_as_fast_as_the_network_but_does_not_generalise():
    network, descent, curves = figure_6(2.5)
    _, full = train(descent, network, 50)
    assert set(curves) >= {"step", "loss", "paper_loss", "trained_error", "untrained_error"}
    assert curves["loss"][0] == pytest.approx(full["loss"][0])
    half = first_below(curves["loss"], 0.5)
    assert abs(half - first_below(full["loss"], 0.5)) <= 2
    assert half == pytest.approx(10, abs=1)
    assert first_below(curves["loss"], 0.1) == pytest.approx(40, abs=4)
    assert curves["trained_error"][-1] < 1e-4
    assert curves["untrained_error"][-1] > 100


def test_at_small_weights_it_does_not_learn():
    _, _, curves = figure_6(0.2)
    assert curves["loss"][-1] > 240
