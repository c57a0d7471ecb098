"""Training under the tangent kernel of the routing network against the network's own training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, splits, tasks, theory
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


def test_the_first_step_is_the_networks_own_to_first_order():
    X = jnp.asarray(np.random.default_rng(5).normal(size=(7, INPUTS)))
    Y = jnp.asarray(np.random.default_rng(6).normal(size=(7, FEATURES)))
    mask, network = splits.ring_mask(M, 2), network_of()
    gaps = []
    for rate in (1e-3, 1e-4):
        linear = learning.LinearisedDescent(theory.TangentKernel(network, X), Y, mask, rate)
        after = linear.step(network.outputs(X), jnp.asarray(0))
        full = routing_descent(X, Y, mask, rate).step(network, jnp.asarray(0)).outputs(X)
        gaps.append(np.abs(after - full).max())
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.05)


def figure_6(scale, seed=0):
    X, Y = tasks.hierarchical_items()
    mask = splits.ring_mask(7, 4)
    network = models.RoutingNetwork.orthogonal(scale, num_domains=7, key=jax.random.key(seed))
    rate = 0.006 / scale ** (1 / 3)
    linear = learning.LinearisedDescent(theory.TangentKernel(network, X), Y, mask, rate)
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
