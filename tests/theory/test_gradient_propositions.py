"""Propositions on gradient steps and redundant inputs, and where they fail."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, theory

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

    return theory.first_step(network, loss, first_weights, SECOND, x)


@pytest.fixture(scope="module")
def points():
    """Points of three quadrants: the second coordinate tells something of the first one's sign."""
    rng = np.random.default_rng(0)
    labels = np.array([[0, 0], [0, 1], [1, 0]])[rng.integers(3, size=400)]
    return (labels - rng.random((400, 2))).astype(np.float32), np.float32(2 * labels[:, 0] - 1)


def test_the_sign_tells_a_bit_and_has_no_slope():
    found = theory.proposition_1_counterexamples()["sign"]
    assert found.information == 1
    assert not found.slopes.any()
    assert not found.agree


def test_a_square_of_signs_has_slopes_and_tells_nothing():
    found = theory.proposition_1_counterexamples()["square of a sign"]
    assert found.information == 0
    assert list(found.slopes) == [-2, 2]
    assert not found.agree


@pytest.mark.parametrize(("f", "bits"), [(jnp.tanh, 3), (lambda x: 0 * x, 0), (jnp.square, 2)])
def test_on_a_connected_support_smooth_functions_agree(f, bits):
    found = theory.derivative_and_information(f, (jnp.arange(8) - 3.5) / 4)
    assert found.information == pytest.approx(bits)
    assert found.agree


def test_predictions_tell_no_more_of_the_target_than_of_the_input():
    rng = np.random.default_rng(0)
    data = rng.dirichlet(np.ones(12)).reshape(3, 4)
    predictions = rng.dirichlet(np.ones(5) / 3, size=(20, 4))
    found = theory.information_along_training(data, predictions)
    assert found.bounded(1e-12)
    chain = data[:, :, None] * predictions[0]
    assert found.of_target[0] == pytest.approx(theory.mutual_information(chain, 0, 2))
    assert found.of_input[0] == pytest.approx(theory.mutual_information(chain, 1, 2))
    assert not found._replace(of_input=found.of_target - 1e-3).bounded()


def test_information_begins_with_the_first_step_that_lowers_the_loss():
    # Four numbered inputs with targets 0, 0, 1, 1; answers: constant, constant, half right, right.
    data = np.eye(2)[[0, 0, 1, 1]].T
    answers = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    found = theory.information_along_training(data, np.eye(2)[answers])
    some = theory.entropy([1, 3]) - 0.5
    assert found.of_target == pytest.approx([0, 0, some, 1])
    assert found.of_input == pytest.approx([0, 0, theory.entropy([1, 3]), 1])
    assert found.after_first_gain([1, 1.1, 0.7, 0.2]) == pytest.approx(some)
    assert np.isnan(found.after_first_gain([1, 1, 1, 1]))


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

    step = eqx.filter_jit(theory.first_step)
    found = step(network, loss, first_weights, SECOND, x, learning_rate=0.1)
    assert found.before == pytest.approx([1, 0])
    assert found.after == pytest.approx([1.2, 0.4])
    assert found.change == pytest.approx([0.2, 0.4])
    assert found.ratio == pytest.approx(2)


def test_a_model_is_blind_along_the_axis_of_its_inputs():
    layer = eqx.nn.Linear(3, 4, key=jax.random.key(0))
    chosen = jnp.array([True, False, True])
    seen = theory.blind(layer, lambda layer: layer.weight, chosen, axis=1).weight
    assert not seen[:, chosen].any()
    assert np.array_equal(seen[:, 1], layer.weight[:, 1])
    with pytest.raises(ValueError, match="mask of 3 inputs does not fit"):
        theory.blind(layer, lambda layer: layer.weight, chosen)


@pytest.mark.parametrize("fitted", [False, True])
def test_cross_weights_of_a_linear_model_start_with_the_correlation(x64, fitted):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=(500, 2)) * 1.0
    y[:, 1] = np.where(y[:, 0] == 1, 0, y[:, 1])
    x = y - rng.random((500, 2))
    step = jax.jit(theory.linear_first_step, static_argnames="bias_is_fitted")
    found = step(jnp.asarray(x), jnp.asarray(y), learning_rate=0.3, bias_is_fitted=fitted)
    centre = y.mean(axis=0) if fitted else 0
    slow = sum(np.outer(b - centre, a) for a, b in zip(x, y, strict=True)) / 500
    assert np.allclose(found.step, 0.3 * slow, atol=1e-12)
    assert np.allclose(found.predicted, found.step, atol=1e-12)


def test_a_centred_input_gets_a_cross_weight_only_if_it_correlates():
    # All four combinations equally often, then three of them, then all four with targets 0 and 1.
    four = jnp.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    three = four[:3] - four[:3].mean(axis=0)
    step = jax.jit(theory.linear_first_step)
    assert step(four, four).step[0, 1] == 0
    assert abs(step(three, four[:3]).step[0, 1]) > 0.1
    assert step(four, (four + 1) / 2).step[0, 1] == 0


def test_terms_of_outputs_sum_to_the_gradient(x64):
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(rng.normal(size=(7, n))) for n in (3, 2))

    def loss(outputs):
        return jnp.square(jnp.tanh(outputs) - y).mean() + jnp.prod(outputs, axis=1).mean()

    @jax.jit
    def both(key):
        network = models.MLP((3, 5, 2), key=key)
        kept = network(x)[:, 1]

        def through_the_first(network):
            return loss(jnp.stack([network(x)[:, 0], kept], axis=1))

        slow = jax.grad(through_the_first)(network)
        return theory.gradient_by_output(network, loss, x), slow

    found, slow = both(jax.random.key(0))
    assert found.terms.shape == (2, 3 * 5 + 5 + 5 * 2 + 2)
    assert np.allclose(found.terms.sum(axis=0), found.gradient, atol=1e-12)
    flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(slow)])
    assert np.allclose(found.terms[0], flat, atol=1e-12)
    cosine = np.dot(*found.terms) / np.prod(np.linalg.norm(found.terms, axis=1))
    assert np.allclose(found.cosines, [[1, cosine], [cosine, 1]], atol=1e-12)


def test_opposite_outputs_cancel_and_their_cosine_says_so():
    x = jnp.ones((3, 1))
    weights = eqx.nn.Linear(1, 1, use_bias=False, key=jax.random.key(0))

    class Opposed(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x):
            y = jax.vmap(self.layer)(x)
            return jnp.concatenate([y, -y], axis=1)

    found = eqx.filter_jit(theory.gradient_by_output)(Opposed(weights), jnp.sum, x)
    assert found.gradient == 0
    assert found.cosines[0, 1] == pytest.approx(-1)
