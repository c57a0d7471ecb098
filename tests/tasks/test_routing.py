import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits, tasks

PAPER_ITEMS = np.array(
    [
        [6, 4, 0, 3, 0, 0, 0],
        [6, 4, 0, 0, 3, 0, 0],
        [6, 0, 4, 0, 0, 3, 0],
        [6, 0, 4, 0, 0, 0, 3],
    ]
)


def test_hierarchical_items_are_those_of_the_paper():
    X, Y = tasks.hierarchical_items()
    np.testing.assert_array_equal(X, np.eye(4))
    np.testing.assert_array_equal(Y, PAPER_ITEMS)


def test_a_deeper_tree_gives_each_item_one_feature_a_level():
    X, Y = tasks.hierarchical_items((5.0, 4.0, 3.0, 2.0))
    assert X.shape == (8, 8)
    assert Y.shape == (8, 15)
    np.testing.assert_array_equal(np.sort(Y, axis=1)[:, -4:], np.tile([2, 3, 4, 5], (8, 1)))
    # Siblings share everything but their last feature, and only the root with the other half.
    assert np.sum((Y[0] > 0) & (Y[1] > 0)) == 3
    assert np.sum((Y[0] > 0) & (Y[7] > 0)) == 1


def test_singular_values_are_those_of_the_paper(x64):
    X, Y = tasks.hierarchical_items()
    s = tasks.RoutingTask(X, Y, 7).singular_values
    np.testing.assert_allclose(s, [13.60147, 6.40312, 3, 3], atol=5e-6)
    np.testing.assert_allclose(jnp.sum(s**2), 244)


def test_averaged_correlations_are_a_quarter_for_four_one_hot_items(x64):
    modes = tasks.RoutingTask(*tasks.hierarchical_items(), 7).modes()
    np.testing.assert_allclose(modes.S, np.array([13.60147, 6.40312, 3, 3]) / 4, atol=2e-6)
    np.testing.assert_allclose(modes.D, np.full(4, 0.25))
    assert modes.residual < 1e-15


def test_orthonormal_inputs_change_neither_singular_values_nor_correlations(x64):
    plain = tasks.RoutingTask(*tasks.hierarchical_items(), 7)
    turned = tasks.RoutingTask(*tasks.hierarchical_items(key=jax.random.key(3)), 7)
    np.testing.assert_allclose(turned.X @ turned.X.T, np.eye(4), atol=1e-12)
    assert np.max(np.abs(turned.X - plain.X)) > 0.1
    np.testing.assert_allclose(turned.singular_values, plain.singular_values)
    np.testing.assert_allclose(turned.modes().D, plain.modes().D)
    assert turned.modes().residual < 1e-12


def test_modes_put_the_correlations_of_any_data_together_again(x64):
    kx, ky = jax.random.split(jax.random.key(0))
    task = tasks.RoutingTask(jax.random.normal(kx, (9, 5)), jax.random.normal(ky, (9, 3)), 4)
    modes = task.modes()
    np.testing.assert_allclose(modes.U * modes.S @ modes.V.T, task.Y.T @ task.X / 9, atol=1e-12)
    v = np.asarray(modes.V[:, 0])
    np.testing.assert_allclose(modes.D[0], np.mean((np.asarray(task.X) @ v) ** 2))
    # Random inputs are correlated along directions of their own: the reduction is not exact.
    assert modes.residual > 0.01


def test_residual_vanishes_when_input_and_target_correlations_share_their_axes(x64):
    X = np.diag([1.0, 2.0, 0.5])
    task = tasks.RoutingTask(X, np.diag([3.0, 1.0, 2.0]), 2)
    modes = task.modes()
    np.testing.assert_allclose(modes.S, np.array([3, 2, 1]) / 3)
    np.testing.assert_allclose(modes.D, np.array([1, 4, 0.25]) / 3)
    assert modes.residual < 1e-15


def test_sample_draws_every_trained_route_and_no_other():
    mask = splits.ring_mask(5, 2)
    task = tasks.RoutingTask(*tasks.hierarchical_items(), 5, mask)
    batch = task.sample(2000, key=jax.random.key(0))
    counts = np.zeros((5, 5))
    np.add.at(counts, (np.asarray(batch.input_domain), np.asarray(batch.output_domain)), 1)
    np.testing.assert_array_equal(counts > 0, mask)
    assert np.all(np.abs(counts[np.asarray(mask)] - 200) < 5 * np.sqrt(200))
    np.testing.assert_array_equal(batch.x, task.X[batch.item])
    np.testing.assert_array_equal(batch.y, PAPER_ITEMS[np.asarray(batch.item)])
    assert np.all(np.bincount(np.asarray(batch.item), minlength=4) > 400)


def test_sample_is_deterministic_in_its_key_and_compiles():
    task = tasks.RoutingTask(*tasks.hierarchical_items(), 3)
    draw = jax.jit(lambda key: task.sample(16, key=key))
    one, two = draw(jax.random.key(1)), task.sample(16, key=jax.random.key(1))
    other = task.sample(16, key=jax.random.key(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.input_domain, other.input_domain)


@pytest.mark.parametrize(
    ("X", "Y", "mask", "message"),
    [
        (np.ones((3, 2)), np.ones((3, 1)), None, "span 1 of 2"),
        (np.eye(3), np.ones((2, 1)), None, "3 inputs but 2 targets"),
        (np.eye(2), np.eye(2), np.ones((3, 2), bool), "must be square"),
        (np.eye(2), np.eye(2), np.zeros((2, 2), bool), "trains no route"),
    ],
)
def test_data_that_cannot_be_learned_from_are_refused(X, Y, mask, message):
    with pytest.raises(ValueError, match=message):
        tasks.RoutingTask(X, Y, 2, mask)
