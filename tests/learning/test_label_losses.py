import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning


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
