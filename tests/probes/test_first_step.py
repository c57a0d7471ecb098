"""The first gradient step of a network that ignores its redundant inputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, probes
from recombine.probes._first_step import blind

SECOND = jnp.array([False, True])


def first_weights(network):
    return network.layers[0].weight


@eqx.filter_jit
@eqx.filter_vmap(in_axes=(0, None, None))
def first_steps(key, x, y):
    """The first step of a network with one output, on squared errors."""
    network = models.MLP((2, 8, 1), uniform=True, key=key)

    def loss(network):
        return 0.5 * jnp.square(network(x)[:, 0] - y).mean()

    return probes.first_step(network, loss, first_weights, SECOND, x)


@pytest.fixture(scope="module")
def points():
    """Points of three quadrants: the second coordinate tells something of the first one's sign."""
    rng = np.random.default_rng(0)
    labels = np.array([[0, 0], [0, 1], [1, 0]])[rng.integers(3, size=400)]
    return (labels - rng.random((400, 2))).astype(np.float32), np.float32(2 * labels[:, 0] - 1)


def test_one_step_makes_a_blind_network_depend_on_an_informative_input(points):
    found = first_steps(jax.random.split(jax.random.key(1), 8), *points)
    assert np.all(found.before[:, 1] == 0)
    assert np.all(found.before[:, 0] > 0)
    assert np.all(found.after[:, 1] > 0)
    assert np.all(found.change[:, 1] > 0)
    assert 0.1 < found.ratio.mean() < 0.6


def test_an_input_of_mean_zero_that_is_independent_of_all_else_stays_ignored(points):
    # Every point has a mirror image: the second coordinate has both signs, whatever the first is.
    x, y = (array[:200] for array in points)
    x, y = np.concatenate([x, x * [1, -1]]).astype(x.dtype), np.concatenate([y, y])
    found = first_steps(jax.random.split(jax.random.key(1), 8), x, y)
    assert found.ratio.max() < 1e-6
    assert np.all(found.after[:, 1] < 1e-6 * found.after[:, 0])
    moved = first_steps(jax.random.split(jax.random.key(1), 8), x + np.float32([0, 0.5]), y)
    assert moved.ratio.min() > 1e-3


def test_a_first_step_is_that_of_the_hand():
    # Ŷ = w · x, loss ½ (ŷ − y)², x = (1, 2), y = 3, w = (1, 0): the gradient is −2 (1, 2).
    network = models.MLP((2, 1), biases=False, key=jax.random.key(0))
    network = eqx.tree_at(first_weights, network, jnp.array([[1.0], [5.0]]))
    x = jnp.array([[1.0, 2.0]])

    def loss(network):
        return 0.5 * jnp.square(network(x) - 3).sum()

    step = eqx.filter_jit(probes.first_step)
    found = step(network, loss, first_weights, SECOND, x, learning_rate=0.1)
    assert found.before == pytest.approx([1, 0])
    assert found.after == pytest.approx([1.2, 0.4])
    assert found.change == pytest.approx([0.2, 0.4])
    assert found.ratio == pytest.approx(2)


def test_a_model_is_blind_along_the_axis_of_its_inputs():
    layer = eqx.nn.Linear(3, 4, key=jax.random.key(0))
    chosen = jnp.array([True, False, True])
    seen = blind(layer, lambda layer: layer.weight, chosen, axis=1).weight
    assert not seen[:, chosen].any()
    assert np.array_equal(seen[:, 1], layer.weight[:, 1])
    with pytest.raises(ValueError, match="mask of 3 inputs does not fit"):
        blind(layer, lambda layer: layer.weight, chosen)
