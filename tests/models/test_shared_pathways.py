import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, splits, tasks


def modes_of(X, Y, mask):
    return jax.tree_util.Partial(probes.route_modes, target_map=Y.T @ X, mask=mask)


def test_shapes_follow_the_blocks():
    network = models.SharedPathways.orthogonal(
        0.2, block_sizes=(1, 2, 4), num_domains=4, width=8, key=jax.random.key(0)
    )
    assert network.block_sizes == (1, 2, 4)
    for q, scheme in zip((1, 2, 4), network.schemes, strict=True):
        G = 4 // q
        assert scheme.W1.shape == (G, G, q, 8, 4)
        assert scheme.W2.shape == (G, G, 8, 8)
        assert scheme.W3.shape == (G, G, q, 7, 8)


def test_every_route_takes_the_path_of_its_blocks(x64):
    X, _ = tasks.hierarchical_items()
    network = models.SharedPathways.orthogonal(
        0.7, block_sizes=(2, 3), num_domains=6, width=8, key=jax.random.key(0)
    )
    outputs, parts = jax.jit(lambda n: (n.outputs(X), n.scheme_outputs(X)))(network)
    np.testing.assert_allclose(outputs, parts.sum(0), atol=1e-13)
    for part, q, scheme in zip(parts, (2, 3), network.schemes, strict=True):
        W1, W2, W3 = map(np.asarray, (scheme.W1, scheme.W2, scheme.W3))
        for i in range(6):
            for j in range(6):
                a, b = i // q, j // q
                W = W3[a, b, j % q] @ W2[a, b] @ W1[a, b, i % q]
                np.testing.assert_allclose(part[i, j], X @ W.T, atol=1e-13)


def test_the_fully_shared_scheme_is_a_routing_network(x64):
    X, Y = tasks.hierarchical_items()
    mask = splits.full_mask(3)
    shared = models.SharedPathways.orthogonal(
        0.3, block_sizes=(3,), num_domains=3, width=16, key=jax.random.key(0)
    )
    routing = jax.tree.map(lambda W: W[0, 0], shared.schemes[0])
    assert isinstance(routing, models.RoutingNetwork)
    rule = learning.routing_descent(X, Y, mask, 0.05)
    shared, shared_curves = learning.train(rule, shared, 100, every=50)
    routing, routing_curves = learning.train(rule, routing, 100, every=50)
    np.testing.assert_allclose(shared.schemes[0].W2[0, 0], routing.W2, atol=1e-11)
    np.testing.assert_allclose(shared.schemes[0].W1[0, 0], routing.W1, atol=1e-11)
    np.testing.assert_allclose(shared_curves["loss"], routing_curves["loss"], rtol=1e-11)
    assert shared_curves["loss"][-1] < 0.9 * shared_curves["loss"][0]


def test_head_starts_are_given_scheme_by_scheme(x64):
    X, Y = tasks.hierarchical_items()
    network = models.SharedPathways.decoupled(
        (0.3, 0.1), Y.T @ X, block_sizes=(1, 2), num_domains=2, width=8, key=jax.random.key(0)
    )
    for b0, scheme in zip((0.3, 0.1), network.schemes, strict=True):
        for W in jax.tree.leaves(scheme):
            s = jnp.linalg.svd(W, compute_uv=False)
            np.testing.assert_allclose(s, np.full(s.shape, b0), atol=1e-12)


@pytest.mark.parametrize("sizes", [(3,), (0,), (2, 3)])
def test_blocks_must_divide_the_domains(sizes):
    with pytest.raises(ValueError, match="does not divide 4 domains"):
        models.SharedPathways.orthogonal(
            0.2, block_sizes=sizes, num_domains=4, key=jax.random.key(0)
        )


def test_a_network_needs_a_scheme():
    with pytest.raises(ValueError, match="at least one scheme"):
        models.SharedPathways.orthogonal(0.2, block_sizes=(), num_domains=4, key=jax.random.key(0))


def race(block_sizes, M, b0, S, D, step, steps):
    """Euler steps of the reduced race: one (B1, B2) a scheme and mode, with a common error."""
    q = np.array(block_sizes, float)[:, None]
    B1 = np.broadcast_to(np.asarray(b0, float).reshape(-1, 1), (len(q), len(S))).copy()
    B2 = B1.copy()
    for _ in range(steps):
        error = S - D * np.sum(B2 * B1**2, axis=0)
        B1, B2 = (
            B1 + step * q / M**2 * B2 * B1 * error,
            B2 + step * q**2 / M**2 * B1**2 * error,
        )
    return B1, B2


def test_racing_schemes_follow_the_reduced_dynamics(x64):
    X, Y = tasks.hierarchical_items()
    task = tasks.RoutingTask(X, Y, 4)
    modes = task.modes()
    network = models.SharedPathways.decoupled(
        (0.3, 0.25, 0.2),
        Y.T @ X,
        block_sizes=(1, 2, 4),
        num_domains=4,
        width=8,
        key=jax.random.key(0),
    )
    learning_rate = 0.02
    tau = 7 / (2 * 16 * learning_rate)
    rule = learning.routing_descent(X, Y, task.mask, learning_rate, modes_of(X, Y, task.mask))
    _, curves = learning.train(rule, network, 200, every=50)
    for n, step in enumerate(curves["step"]):
        B1, B2 = race(
            (1, 2, 4), 4, (0.3, 0.25, 0.2), np.asarray(modes.S), np.asarray(modes.D), 1 / tau, step
        )
        np.testing.assert_allclose(curves["scheme_modes"][n], B2 * B1**2, atol=1e-11)


def test_the_most_shared_scheme_wins_the_race(x64):
    X, Y = tasks.hierarchical_items()
    network = models.SharedPathways.orthogonal(
        0.1, block_sizes=(1, 4), num_domains=4, width=16, key=jax.random.key(0)
    )
    mask = splits.full_mask(4)
    rule = learning.routing_descent(X, Y, mask, 0.03, modes_of(X, Y, mask))
    _, curves = learning.train(rule, network, 1000, every=500)
    final = curves["scheme_modes"][-1]
    np.testing.assert_allclose(final.sum(0), [13.60147, 6.40312, 3, 3], rtol=0.01)
    assert np.all(final[1] > 0.99 * final.sum(0))


def test_a_large_head_start_lets_the_dedicated_scheme_win(x64):
    X, Y = tasks.hierarchical_items()
    network = models.SharedPathways.decoupled(
        (1.0, 0.01), Y.T @ X, block_sizes=(1, 4), num_domains=4, width=8, key=jax.random.key(0)
    )
    mask = splits.full_mask(4)
    rule = learning.routing_descent(X, Y, mask, 0.03, modes_of(X, Y, mask))
    _, curves = learning.train(rule, network, 1000, every=500)
    assert curves["scheme_modes"][-1, 0, 0] > 0.99 * 13.6
