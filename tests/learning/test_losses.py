import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning
from recombine.tasks import Examples

LOSSES = {
    "kl_divergence": learning.kl_divergence,
    "half_squared_error": learning.half_squared_error,
    "cross_entropy": learning.cross_entropy,
}


def examples(y, weight=None):
    y = jnp.asarray(y, float)
    weight = jnp.ones(len(y)) if weight is None else jnp.asarray(weight, float)
    return Examples(jnp.zeros((len(y), 1)), y, weight)


def test_divergence_of_soft_targets_by_hand(x64):
    logits = jnp.log(jnp.array([[1.0, 1.0, 2.0], [3.0, 1.0, 0.5]]))
    targets = examples([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    first = 0.5 * np.log(0.5 / 0.25) + 0.25 * np.log(0.25 / 0.25) + 0.25 * np.log(0.25 / 0.5)
    second = -np.log(3 / 4.5)
    expected = (first + second) / 2
    assert learning.kl_divergence(logits, targets) == pytest.approx(expected, rel=1e-12)


def test_half_squared_error_sums_over_outputs_by_hand(x64):
    prediction = jnp.array([[1.0, 2.0], [0.0, 4.0]])
    targets = examples([[0.0, 0.0], [0.0, 1.0]])
    # (1 + 4) / 2 and (0 + 9) / 2
    assert learning.half_squared_error(prediction, targets) == (2.5 + 4.5) / 2


def test_cross_entropy_by_hand(x64):
    logits = jnp.log(jnp.array([[1.0, 3.0], [1.0, 1.0]]))
    targets = examples([[0.0, 1.0], [1.0, 0.0]])
    expected = (np.log(4 / 3) + np.log(2)) / 2
    assert learning.cross_entropy(logits, targets) == pytest.approx(expected, rel=1e-12)


def test_divergence_is_0_for_a_perfect_prediction_and_else_above(x64):
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)))
    targets = examples(jax.nn.softmax(logits))
    # Logits are predictions up to a constant.
    assert learning.kl_divergence(logits + 3, targets) == pytest.approx(0, abs=1e-15)
    assert learning.kl_divergence(2 * logits, targets) > 0.01


def test_divergence_differs_from_cross_entropy_by_the_entropy_of_targets(x64):
    rng = np.random.default_rng(0)
    logits, y = jnp.asarray(rng.normal(size=(5, 4))), rng.dirichlet(np.ones(4), 5)
    entropy = -np.mean(np.sum(y * np.log(y), -1))
    difference = learning.cross_entropy(logits, examples(y)) - learning.kl_divergence(
        logits, examples(y)
    )
    assert difference == pytest.approx(entropy, rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_samples_without_weight_do_not_count(name):
    rng = np.random.default_rng(0)
    prediction = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    y = rng.dirichlet(np.ones(3), 5)
    y[[1, 4]] = 0.0
    loss = jax.jit(jax.value_and_grad(LOSSES[name]))
    counted = np.array([0, 2, 3])
    alone, of_counted = loss(prediction[counted], examples(y[counted]))
    padded, of_all = loss(prediction, examples(y, [1, 0, 1, 1, 0]))
    assert padded == pytest.approx(float(alone), rel=1e-5)
    np.testing.assert_allclose(of_all[counted], of_counted, rtol=1e-4, atol=1e-7)
    assert not np.any(of_all[jnp.array([1, 4])])


@pytest.mark.parametrize("name", LOSSES)
def test_a_task_in_which_nothing_counts_has_loss_0(name):
    value, gradient = jax.jit(jax.value_and_grad(LOSSES[name]))(
        jnp.ones((2, 3)), examples(np.ones((2, 3)) / 3, [0, 0])
    )
    assert value == 0
    assert not np.any(gradient)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_finite_where_targets_are_exactly_0(name):
    targets = examples([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])

    def twice(prediction):
        """The gradient's own gradient is taken in meta-learning."""
        return jnp.sum(jax.grad(LOSSES[name])(prediction, targets) ** 2)

    prediction = jnp.array([[50.0, -50.0, 0.0], [0.0, 0.0, 0.0]])
    value, gradient = jax.jit(jax.value_and_grad(twice))(prediction)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    assert np.any(gradient != 0)


def test_the_mean_is_over_what_counts():
    assert learning.counted_mean(jnp.array([1.0, 5.0, 9.0]), jnp.array([1.0, 0.0, 1.0])) == 5
    assert learning.counted_mean(jnp.array([1.0, 5.0]), jnp.zeros(2)) == 0
