"""Losses of scores against labels, averaged over a batch."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int


def _hinge(scores: Array, labels: Array, instead: float) -> Float[Array, ""]:
    """The hinge, where `instead` stands in the place of the true class among the wrong ones."""
    true = jax.nn.one_hot(labels, scores.shape[-1], dtype=bool)
    wrong = jnp.where(true, instead, scores).max(axis=-1)
    right = jnp.where(true, scores, 0).sum(axis=-1)
    return jax.nn.relu(1 + wrong - right).mean()


def categorical_hinge(
    scores: Float[Array, "batch classes"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """max(0, 1 + max_c (1 − t_c) z_c − Σ_c t_c z_c), with t the one-hot label (Appendix A).

    This is the form of Keras, which the published code uses. The true class takes part in the inner
    maximum with 0: where all wrong scores are negative, the true one has to reach 1 all the same.
    `multiclass_hinge` is the usual form.
    """
    return _hinge(scores, labels, 0.0)


def multiclass_hinge(
    scores: Float[Array, "batch classes"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """max(0, 1 + max_{c ≠ y} z_c − z_y): the true score is to be 1 above all others."""
    return _hinge(scores, labels, -jnp.inf)


def softmax_cross_entropy(
    scores: Float[Array, "batch classes"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """− log softmax(z)_y."""
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()
