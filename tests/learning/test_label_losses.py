import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning
from recombine.learning._label_losses import route_cross_entropy, sequence_cross_entropy


@pytest.mark.parametrize(
    ("scores", "label", "keras", "usual"),
    [
        # The wrong class ahead of the true one by 2: both 1 + 2.
        ([3.0, 1.0, 0.0], 1, 3.0, 3.0),
        # Ahead by more than the margin: nothing.
        ([3.0, 1.0, 0.0], 0, 0.0, 0.0),
        # All wrong scores negative: the masked true class counts as 0, so 1 + 0 − 0.5.
        ([0.5, -1.0, -2.0], 0, 0.5, 0.0),
        # All scores negative, the true one highest: 1 + 0 + 1 against 1 − 2 + 1.
        ([-1.0, -2.0, -5.0], 0, 2.0, 0.0),
        # A negative true score below a wrong one: 1 + 0 + 3 against 1 − 1 + 3.
        ([-1.0, -3.0, -4.0], 1, 4.0, 3.0),
    ],
)
def test_hinges_have_the_values_computed_by_hand(scores, label, keras, usual):
    z, y = jnp.array([scores]), jnp.array([label])
    assert learning.categorical_hinge(z, y) == pytest.approx(keras)
    assert learning.multiclass_hinge(z, y) == pytest.approx(usual)


def slow(scores, labels):
    """Both hinges and the cross-entropy, sample by sample, from their definitions."""
    rows = []
    for z, y in zip(scores, labels, strict=True):
        t = np.eye(len(z))[y]
        keras = max(0.0, 1 + max((1 - t[c]) * z[c] for c in range(len(z))) - sum(t * z))
        usual = max(0.0, 1 + max(z[c] for c in range(len(z)) if c != y) - z[y])
        rows.append((keras, usual, np.log(np.exp(z).sum()) - z[y]))
    return np.mean(rows, axis=0)


def test_losses_are_means_over_a_batch(x64):
    rng = np.random.default_rng(0)
    scores, labels = 2 * rng.normal(size=(50, 10)) - 1, rng.integers(10, size=50)
    ours = [
        loss(jnp.asarray(scores), jnp.asarray(labels))
        for loss in (
            learning.categorical_hinge, learning.multiclass_hinge, learning.softmax_cross_entropy,
        )
    ]  # fmt: skip
    np.testing.assert_allclose(ours, slow(scores, labels), rtol=1e-12)


def test_hinges_pull_the_true_score_up_and_the_highest_wrong_one_down():
    z, y = jnp.array([[3.0, 1.0, 0.0], [0.5, -1.0, -2.0]]), jnp.array([1, 0])
    keras = jax.grad(learning.categorical_hinge)(z, y)
    usual = jax.grad(learning.multiclass_hinge)(z, y)
    np.testing.assert_allclose(keras, [[0.5, -0.5, 0], [-0.5, 0, 0]])
    np.testing.assert_allclose(usual, [[0.5, -0.5, 0], [0, 0, 0]])


def test_the_loss_of_sentences_is_summed_over_symbols_and_averaged_over_sentences():
    logits = jnp.log(jnp.array([[[0.5, 0.5], [0.25, 0.75]], [[0.9, 0.1], [0.1, 0.9]]]))
    outputs, lengths = jnp.array([[1, 0], [0, 0]]), jnp.array([2, 1])
    loss = sequence_cross_entropy(logits, outputs, lengths)
    np.testing.assert_allclose(loss, -(np.log(0.5) + np.log(0.25) + np.log(0.9)) / 2, rtol=1e-6)


def test_the_loss_of_slots_is_the_mean_of_minus_log_probabilities():
    logits = np.random.default_rng(0).normal(size=(3, 2, 4))
    labels = np.array([[0, 3], [1, 1], [2, 0]])
    slow = []
    for i in range(3):
        for slot in range(2):
            p = np.exp(logits[i, slot]) / np.exp(logits[i, slot]).sum()
            slow.append(-np.log(p[labels[i, slot]]))
    ours = learning.softmax_cross_entropy(jnp.asarray(logits, jnp.float32), jnp.asarray(labels))
    np.testing.assert_allclose(ours, np.mean(slow), rtol=1e-6)


M = 4


@pytest.mark.usefixtures("x64")
def test_the_gradient_of_routes_agrees_with_finite_differences():
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.normal(size=(3, M, M, 5)) * 3)
    labels = jnp.asarray(rng.integers(0, 5, (3, M)))
    mask = jnp.asarray(rng.random((M, M)) < 0.5)
    gradient = jax.grad(lambda z: 2 * route_cross_entropy(z, labels, mask))(logits)
    direction = jnp.asarray(rng.normal(size=logits.shape))
    up = route_cross_entropy(logits + 1e-5 * direction, labels, mask)
    down = route_cross_entropy(logits - 1e-5 * direction, labels, mask)
    assert np.isclose((gradient * direction).sum(), 2 * (up - down) / 2e-5, rtol=1e-7)
    assert not gradient[:, ~mask].any()
    assert np.all(jnp.abs(gradient[:, mask]).max(-1) > 0)


def test_cross_entropy_of_equal_logits_is_the_log_of_the_number_of_classes():
    labels, mask = jnp.zeros((3, 2), int), jnp.eye(2, dtype=bool)
    assert np.isclose(route_cross_entropy(jnp.full((3, 2, 2, 7), 2.5), labels, mask), np.log(7))


def test_cross_entropy_of_large_logits_is_finite():
    logits = jnp.zeros((1, 1, 1, 3)).at[..., 0].set(1e4)
    mask = jnp.ones((1, 1), bool)
    right, wrong = jnp.array([[0]]), jnp.array([[1]])
    assert route_cross_entropy(logits, right, mask) == 0
    assert route_cross_entropy(logits, wrong, mask) == 1e4
    assert np.isfinite(jax.grad(route_cross_entropy)(logits, wrong, mask)).all()
