import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models


def test_the_forward_pass_by_hand():
    W1, W2 = jnp.array([[1.0, -2.0], [3.0, 1.0]]), jnp.array([[2.0, -1.0]])
    x = jnp.array([1.0, 2.0])
    assert models.TwoLayerNetwork(W1, W2)(x) == -5.0
    assert models.TwoLayerNetwork(W1, W2, jax.nn.identity)(x) == -11.0


def test_the_loss_by_hand():
    network = models.TwoLayerNetwork(jnp.ones((1, 2)), jnp.ones((1, 1)))
    x = jnp.array([[1.0, 1.0], [-1.0, -1.0]])
    y = jnp.array([[1.0], [3.0]])
    assert network.loss(x, y) == (1 + 9) / 4


def test_a_relu_network_is_positively_homogeneous_and_has_no_bias():
    network = models.TwoLayerNetwork.random(1.0, key=jax.random.key(0))
    x = jnp.array([0.3, -0.7])
    assert np.allclose(network(2 * x), 2 * network(x), rtol=1e-5)
    assert network(jnp.zeros(2)) == 0


def test_random_weights_have_the_given_standard_deviation():
    network = models.TwoLayerNetwork.random(
        0.02, inputs=40, hidden=500, outputs=30, key=jax.random.key(0)
    )
    assert network.W1.shape == (500, 40)
    assert network.W2.shape == (30, 500)
    assert network.W1.std() == pytest.approx(0.02, rel=0.03)
    assert network.W2.std() == pytest.approx(0.02, rel=0.03)
    assert abs(np.corrcoef(network.W1[:, 0], network.W2[0])[0, 1]) < 0.2


def test_gradients_reach_both_layers_and_not_the_activation():
    network = models.TwoLayerNetwork.random(0.5, key=jax.random.key(0))
    gradient = jax.grad(models.TwoLayerNetwork.loss)(network, jnp.eye(2), jnp.ones((2, 1)))
    assert len(jax.tree.leaves(gradient)) == 2
    assert all(jnp.all(jnp.isfinite(g)) and jnp.any(g != 0) for g in jax.tree.leaves(gradient))


def test_the_pathway_graph_has_parallel_pathways_of_two_edges():
    graph = models.pathway_graph(4, inputs=2, width=5, outputs=3)
    assert graph.inputs == ("x",)
    assert graph.outputs == ("y",)
    assert graph.hidden == ("h0", "h1", "h2", "h3")
    assert graph.shape("in2") == (5, 2)
    assert graph.shape("out2") == (3, 5)
    assert len(graph.edges) == 8


def test_decoupled_pathways_start_with_one_balanced_mode(x64):
    V, U = jnp.array([[0.6, 0.8], [1.0, 0.0]]), jnp.array([[1.0], [-1.0]])
    network = models.decoupled_pathways(0.01, V, U, width=6, key=jax.random.key(3))
    for p in range(2):
        W1, W2 = network.weights[f"in{p}"], network.weights[f"out{p}"]
        assert np.allclose(W2 @ W1, 0.01 * np.outer(U[p], V[p]), atol=1e-15)
        assert np.allclose(W1 @ W1.T, W2.T @ W2, atol=1e-15)
    assert not np.allclose(network.weights["in0"], network.weights["in1"])
