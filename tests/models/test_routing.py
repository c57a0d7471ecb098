import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, splits, tasks
from recombine.tasks._routes import mean_route_loss


def svd_of_target():
    X, Y = tasks.hierarchical_items()
    U, s, Vt = np.linalg.svd(np.asarray(Y.T @ X))
    return Y.T @ X, U, s, Vt.T


def test_orthogonal_weights_have_one_singular_value(x64):
    network = models.RoutingNetwork.orthogonal(0.2, num_domains=3, key=jax.random.key(0))
    assert network.W1.shape == (3, 64, 4)
    assert network.W2.shape == (64, 64)
    assert network.W3.shape == (3, 7, 64)
    for W in jax.tree.leaves(network):
        s = jnp.linalg.svd(W, compute_uv=False)
        np.testing.assert_allclose(s, np.full(s.shape, 0.2), atol=1e-12)
    assert np.max(np.abs(network.W1[0] - network.W1[1])) > 0.01


def test_xavier_weights_fill_the_glorot_range(x64):
    network = models.RoutingNetwork.xavier(0.5, num_domains=40, key=jax.random.key(0))
    for W in jax.tree.leaves(network):
        bound = 0.5 * np.sqrt(6 / (W.shape[-1] + W.shape[-2]))
        assert np.max(np.abs(W)) <= bound
        assert np.max(np.abs(W)) > 0.99 * bound
        np.testing.assert_allclose(np.var(W), bound**2 / 3, rtol=0.06)


def test_decoupled_weights_are_diagonal_in_the_modes_of_the_target(x64):
    T, U, _, V = svd_of_target()
    network = models.RoutingNetwork.decoupled(0.08, T, num_domains=3, key=jax.random.key(0))
    # The total map shows each mode with strength b0^3, up to the sign conventions of the bases.
    B = U.T @ np.asarray(network.W3[1] @ network.W2 @ network.W1[2]) @ V
    np.testing.assert_allclose(np.abs(B[:4]), 0.08**3 * np.eye(4), atol=1e-15)
    np.testing.assert_allclose(B[4:], 0, atol=1e-15)
    # W1 V has orthogonal columns, U^T W3 orthogonal rows, each of length b0, and W2 turns the one
    # into the other: every B is diagonal.
    columns, rows = np.asarray(network.W1[0] @ V), np.asarray(U.T @ network.W3[0])
    np.testing.assert_allclose(columns.T @ columns, 0.08**2 * np.eye(4), atol=1e-15)
    np.testing.assert_allclose(rows @ rows.T, 0.08**2 * np.eye(7), atol=1e-15)
    np.testing.assert_allclose(
        np.abs(rows @ np.asarray(network.W2) @ columns), 0.08**3 * np.eye(7, 4), atol=1e-15
    )


def test_decoupled_weights_are_the_same_for_all_domains(x64):
    T, *_ = svd_of_target()
    network = models.RoutingNetwork.decoupled(0.1, T, num_domains=4, key=jax.random.key(1))
    for W in (network.W1, network.W3):
        np.testing.assert_array_equal(W, jnp.broadcast_to(W[:1], W.shape))


def test_decoupled_modes_reach_the_targets_own_directions(x64):
    T, _, s, _ = svd_of_target()
    network = models.RoutingNetwork.decoupled(0.1, T, num_domains=1, width=8, key=jax.random.key(1))
    overlap = np.sum(np.asarray(T) * np.asarray(network.route_maps()[0, 0]))
    np.testing.assert_allclose(overlap, 0.1**3 * np.sum(s))


def test_decoupled_weights_need_room_for_all_modes():
    with pytest.raises(ValueError, match="width >= 7"):
        models.RoutingNetwork.decoupled(
            0.1, jnp.ones((7, 4)), num_domains=2, width=6, key=jax.random.key(0)
        )


def test_all_routes_at_once_equal_one_route_at_a_time(x64):
    network = models.RoutingNetwork.orthogonal(
        0.7, num_domains=(3, 5), inputs=6, features=2, width=9, key=jax.random.key(0)
    )
    X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)))
    W1, W2, W3 = map(np.asarray, (network.W1, network.W2, network.W3))
    outputs, maps, hidden = network.outputs(X), network.route_maps(), network.hidden(X)
    assert outputs.shape == (3, 5, 4, 2)
    for i in range(3):
        np.testing.assert_allclose(hidden[i], X @ W1[i].T, atol=1e-14)
        for j in range(5):
            W = W3[j] @ W2 @ W1[i]
            np.testing.assert_allclose(maps[i, j], W, atol=1e-14)
            np.testing.assert_allclose(outputs[i, j], X @ W.T, atol=1e-14)
            np.testing.assert_allclose(network(X[0], i, j), W @ X[0], atol=1e-14)


def test_a_hand_computed_network_of_width_one():
    network = models.RoutingNetwork(
        W1=jnp.array([[[2.0]], [[3.0]]]), W2=jnp.array([[5.0]]), W3=jnp.array([[[1.0]], [[-1.0]]])
    )
    np.testing.assert_array_equal(
        network.outputs(jnp.array([[1.0]]))[:, :, 0, 0], [[10, -10], [15, -15]]
    )


def test_the_general_gated_network_computes_the_same(x64):
    X, Y = tasks.hierarchical_items(key=jax.random.key(5))
    mask = splits.ring_mask(3, 2)
    network = models.RoutingNetwork.orthogonal(0.6, num_domains=3, width=9, key=jax.random.key(0))
    examples = models.routing_examples(X, Y, mask)
    activity = jax.jit(lambda n: n.to_gated_linear()(examples))(network)
    outputs = network.outputs(X)
    for n, (i, j) in enumerate(np.argwhere(np.asarray(mask))):
        for other in range(3):
            expected = outputs[i, j] if other == j else np.zeros((4, 7))
            got = activity[f"output {other}"][4 * n : 4 * n + 4]
            np.testing.assert_allclose(got, expected, atol=1e-13)


def test_the_general_gated_network_has_the_same_loss_and_gradient(x64):
    X, Y = tasks.hierarchical_items()
    mask = splits.ring_mask(3, 2)
    network = models.RoutingNetwork.orthogonal(0.6, num_domains=3, width=9, key=jax.random.key(0))
    examples = models.routing_examples(X, Y, mask)

    def general_loss(network):
        return network.to_gated_linear().loss(examples)

    def routed_loss(network):
        return mean_route_loss(network.outputs(X), Y, mask)

    general = jax.jit(jax.value_and_grad(general_loss))(network)
    routed = jax.jit(jax.value_and_grad(routed_loss))(network)
    for one, other in zip(jax.tree.leaves(general), jax.tree.leaves(routed), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_inactive_domains_show_other_items():
    X, Y = tasks.hierarchical_items()
    examples = models.routing_examples(X, Y, splits.full_mask(2))
    shown = [np.argmax(examples.x[f"input {i}"], axis=1) for i in range(2)]
    assert np.all(shown[0] != shown[1])


def test_weights_take_the_precision_in_use(x64):
    size = {"num_domains": 2, "width": 8}
    network = models.RoutingNetwork.orthogonal(0.2, **size, key=jax.random.key(0))
    assert all(W.dtype == jnp.float64 for W in jax.tree.leaves(network))
    with jax.enable_x64(False):
        network = models.RoutingNetwork.orthogonal(0.2, **size, key=jax.random.key(0))
        assert all(W.dtype == jnp.float32 for W in jax.tree.leaves(network))
