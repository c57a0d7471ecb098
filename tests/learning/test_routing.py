import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, models, probes, splits, tasks
from recombine.tasks._routes import mean_route_loss, summed_route_loss


def loss_route_by_route(weights, X, Y, mask):
    """The summed loss, one route at a time."""
    W1, W2, W3 = weights
    total = 0.0
    for i in range(len(W1)):
        for j in range(len(W3)):
            if mask[i, j]:
                total += jnp.mean((Y - X @ (W3[j] @ W2 @ W1[i]).T) ** 2)
    return total


def spectrum_and_modes(target_map, mask):
    """What to observe besides errors."""

    def measure(network):
        modes = probes.route_modes(network, target_map, mask)
        return probes.pathway_spectrum(network) | modes

    return measure


@eqx.filter_jit
def observed(rule, network):
    return rule.observe(network)


def test_loss_at_zero_weights_is_that_of_figure_4(x64):
    _, Y = tasks.hierarchical_items()
    mask = splits.ring_mask(7, 4)
    outputs = jnp.zeros((7, 7, 4, 7))
    assert summed_route_loss(outputs, Y, mask) == pytest.approx(244)
    assert mean_route_loss(outputs, Y, mask) == pytest.approx(244 / 8)
    assert probes.route_errors(outputs, Y)[0, 0] == pytest.approx(122)


def test_summed_loss_is_2KM_over_features_times_the_papers(x64):
    _, Y = tasks.hierarchical_items()
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 5, 4, 7)))
    for K in (1, 3, 5):
        mask = splits.ring_mask(5, K)
        ratio = summed_route_loss(outputs, Y, mask) / mean_route_loss(outputs, Y, mask)
        assert ratio == pytest.approx(2 * K * 5 / 7)


def test_a_step_descends_the_gradient_of_the_loss_route_by_route(x64):
    X, Y = tasks.hierarchical_items(key=jax.random.key(9))
    mask = np.asarray(splits.ring_mask(3, 2))
    network = models.RoutingNetwork.orthogonal(0.8, num_domains=3, width=9, key=jax.random.key(0))
    rule = learning.routing_descent(X, Y, mask, 0.03)
    weights = (network.W1, network.W2, network.W3)
    loss, gradient = jax.jit(jax.value_and_grad(lambda w: loss_route_by_route(w, X, Y, mask)))(
        weights
    )
    assert rule.loss(network) == pytest.approx(float(loss), rel=1e-13)
    stepped = eqx.filter_jit(rule.step)(network, jnp.asarray(0))
    for W, W0, dW in zip(jax.tree.leaves(stepped), weights, gradient, strict=True):
        np.testing.assert_allclose(W, W0 - 0.03 * dW, atol=1e-13)


def test_untrained_routes_do_not_enter_the_gradient(x64):
    X, Y = tasks.hierarchical_items()
    network = models.RoutingNetwork.orthogonal(0.8, num_domains=3, width=9, key=jax.random.key(0))
    rule = learning.routing_descent(X, Y, splits.diagonal_mask(3, 2), 0.1)
    stepped = eqx.filter_jit(rule.step)(network, jnp.asarray(0))
    np.testing.assert_array_equal(stepped.W1[2], network.W1[2])
    np.testing.assert_array_equal(stepped.W3[2], network.W3[2])
    assert np.max(np.abs(stepped.W1[0] - network.W1[0])) > 1e-3


@pytest.fixture(scope="module")
def figure_4():
    """One run at the settings of Figure 4, from small random weights."""
    with jax.enable_x64(True):
        X, Y = tasks.hierarchical_items()
        mask = splits.ring_mask(7, 4)
        network = models.RoutingNetwork.orthogonal(0.2, num_domains=7, key=jax.random.key(1))
        rule = learning.routing_descent(X, Y, mask, 0.02)
        final, curves = learning.train(rule, network, 500)
    return X, network, final, curves


def test_loss_falls_in_the_stages_of_figure_4(figure_4):
    _, _, _, curves = figure_4
    assert curves["loss"][0] == pytest.approx(244, rel=0.01)
    drops = probes.drop_times(curves["step"], curves["loss"], (150.0, 40.0, 9.0))
    # The ranges of 200 other seeds.
    for drop, low, high in zip(drops, (66, 138, 290), (90, 186, 356), strict=True):
        assert low < drop < high
    assert 0.9 < probes.delay_index(curves["step"], curves["loss"]) < 0.93


def test_untrained_routes_work_without_training(figure_4):
    _, _, _, curves = figure_4
    assert curves["trained_error"][-1] < 1e-3
    assert curves["untrained_error"][-1] < 0.01
    assert curves["untrained_error"][0] == pytest.approx(122, rel=0.01)


def test_domains_come_to_share_one_representation(figure_4):
    X, network, final, _ = figure_4
    with jax.enable_x64(True):
        assert abs(probes.sharing_index(network.hidden(X))) < 0.2
        hidden = final.hidden(X)
        assert np.min(probes.off_diagonal_cosines(hidden)) > 0.99
        assert 0.95 < probes.sharing_index(hidden) < 0.98
        assert 0.2 < probes.distance_ratio(hidden) < 0.25
        ratio = probes.hidden_to_input_ratio(final.W1[0], final.W2)
        np.testing.assert_allclose(ratio[:2], np.sqrt(7), rtol=0.03)


def test_isolated_routes_learn_private_codes(x64):
    X, Y = tasks.hierarchical_items()
    network = models.RoutingNetwork.orthogonal(0.2, num_domains=10, key=jax.random.key(0))
    rule = learning.routing_descent(X, Y, splits.ring_mask(10, 1), 0.05)
    final, curves = learning.train(rule, network, 1000, every=500)
    assert curves["trained_error"][-1] < 1e-6
    # Worse than the 122 of zero weights: confidently wrong.
    assert 160 < curves["untrained_error"][-1] < 260
    assert probes.sharing_index(final.hidden(X)) < 0.3


def test_decoupled_weights_share_from_the_start(x64):
    X, Y = tasks.hierarchical_items()
    network = models.RoutingNetwork.decoupled(0.08, Y.T @ X, num_domains=7, key=jax.random.key(0))
    assert probes.sharing_index(network.hidden(X)) == pytest.approx(1)


def test_decoupled_learning_follows_the_reduced_dynamics(x64):
    task = tasks.RoutingTask(*tasks.hierarchical_items(), 5, splits.ring_mask(5, 3))
    modes = task.modes()
    learning_rate = 0.02
    network = models.RoutingNetwork.decoupled(
        0.2, task.target_map, num_domains=5, width=8, key=jax.random.key(0)
    )
    rule = learning.routing_descent(
        task.X, task.Y, task.mask, learning_rate, spectrum_and_modes(task.target_map, task.mask)
    )
    _, curves = learning.train(rule, network, 150, every=50)
    step = 2 * 3 * 5 * learning_rate / 7
    S, D = np.asarray(modes.S), np.asarray(modes.D)
    B1, B2 = np.full(4, 0.2), np.full(4, 0.2)
    for t in range(151):
        if t % 50 == 0:
            n = t // 50
            np.testing.assert_allclose(curves["trained_modes"][n], B2 * B1**2, atol=1e-12)
            np.testing.assert_allclose(curves["untrained_modes"][n], B2 * B1**2, atol=1e-12)
            np.testing.assert_allclose(curves["singular_in"][n], np.sort(B1)[::-1], atol=1e-12)
            hidden = curves["singular_hidden"][n]
            np.testing.assert_allclose(hidden, [*np.sort(B2)[::-1], *[0.2] * 4], atol=1e-12)
            s = np.sum((4 * (S - B2 * B1**2 * D)) ** 2)
            np.testing.assert_allclose(curves["loss"][n], 15 * s / 28, rtol=1e-10)
        error = S - B2 * B1**2 * D
        B1, B2 = B1 + step / 5 * B2 * B1 * error, B2 + step * B1**2 * error


def test_observations_are_only_what_is_asked_for(x64):
    X, Y = tasks.hierarchical_items()
    network = models.RoutingNetwork.orthogonal(0.2, num_domains=3, width=16, key=jax.random.key(0))
    plain = observed(learning.routing_descent(X, Y, splits.full_mask(3), 0.1), network)
    assert set(plain) == {"loss", "paper_loss", "trained_error", "untrained_error"}
    assert np.isnan(plain["untrained_error"])
    rule = learning.routing_descent(
        X, Y, splits.full_mask(3), 0.1, spectrum_and_modes(Y.T @ X, splits.full_mask(3))
    )
    full = observed(rule, network)
    assert full["singular_in"].shape == (4,)
    assert full["singular_hidden"].shape == (10,)
    assert full["singular_out"].shape == (7,)
    assert full["trained_modes"].shape == (4,)
    U, _, Vt = np.linalg.svd(np.asarray(Y.T @ X), full_matrices=False)
    strengths = probes.mode_strengths(network.route_maps(), U, Vt.T)
    np.testing.assert_allclose(full["trained_modes"], strengths.mean((0, 1)), atol=1e-14)


def test_schemes_are_observed_apart(x64):
    X, Y = tasks.hierarchical_items()
    network = models.SharedPathways.decoupled(
        (0.3, 0.2), Y.T @ X, block_sizes=(1, 2), num_domains=2, width=7, key=jax.random.key(0)
    )
    rule = learning.routing_descent(
        X, Y, splits.full_mask(2), 0.1, spectrum_and_modes(Y.T @ X, splits.full_mask(2))
    )
    seen = observed(rule, network)
    np.testing.assert_allclose(seen["scheme_modes"], [[0.3**3] * 4, [0.2**3] * 4], atol=1e-14)
    np.testing.assert_allclose(seen["singular_in"], [[0.3] * 4, [0.2] * 4], atol=1e-14)
    np.testing.assert_allclose(seen["trained_modes"], [0.3**3 + 0.2**3] * 4, atol=1e-14)


def test_training_works_in_single_precision():
    X, Y = tasks.hierarchical_items()
    network = models.RoutingNetwork.orthogonal(0.3, num_domains=4, width=16, key=jax.random.key(0))
    rule = learning.routing_descent(X, Y, splits.ring_mask(4, 2), 0.05)
    final, curves = learning.train(rule, network, 400, every=100)
    assert final.W2.dtype == jnp.float32
    assert curves["loss"][-1] < 0.1 * curves["loss"][0]


def test_adding_the_recommended_routes_opens_the_untrained_ones(x64):
    X, Y = tasks.hierarchical_items()
    mask = np.asarray(splits.diagonal_mask(6))
    improved = mask.copy()
    for i, j in splits.routing_report(mask).routes_to_mix:
        improved[i, j] = True
    assert improved.sum() == 11
    network = models.RoutingNetwork.orthogonal(0.2, num_domains=6, width=32, key=jax.random.key(0))
    errors = []
    for trained in (mask, improved):
        rule = learning.routing_descent(X, Y, trained, 0.5 / trained.sum())
        _, curves = learning.train(rule, network, 1000, every=500)
        assert curves["trained_error"][-1] < 0.01
        errors.append(curves["untrained_error"][-1])
    assert errors[0] > 100
    assert errors[1] < 0.1
