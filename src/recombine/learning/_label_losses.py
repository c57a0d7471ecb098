"""Losses of scores or logits against labels, averaged over a batch."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int


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
    scores: Float[Array, "*batch classes"], labels: Int[Array, "*batch"]
) -> Float[Array, ""]:
    """− log softmax(z)_y."""
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()


def sequence_cross_entropy(
    logits: Float[Array, "size steps symbols"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Float[Array, ""]:
    """Cross-entropy summed over the symbols of a sequence, up to its length; mean of sequences."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, outputs)
    mask = jnp.arange(outputs.shape[1]) < lengths[:, None]
    return jnp.where(mask, losses, 0).sum() / len(outputs)


@jax.custom_vjp
def route_cross_entropy(
    logits: Float[Array, "batch domains domains classes"],
    labels: Int[Array, "batch domains"],
    mask: Bool[Array, "domains domains"],
) -> Float[Array, ""]:
    """Softmax cross-entropy, averaged over the batch and the routes in `mask`.

    Logits of route (i, j) are at `[:, i, j]`, labels of output domain j at `[:, j]`.
    """
    return _route_forward(logits, labels, mask)[0]


# The gradient is softmax minus one-hot, for which the forward pass has everything at hand: written
# out, a step of learning is a fifth faster than with the derivative of log-softmax.
def _route_forward(logits, labels, mask):
    target = jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)[:, None]
    weight = (mask / (mask.sum() * len(logits))).astype(logits.dtype)[:, :, None]
    top = logits.max(-1, keepdims=True)
    exp = jnp.exp(logits - top)
    total = exp.sum(-1, keepdims=True)
    losses = jnp.log(total) + top - (logits * target).sum(-1, keepdims=True)
    return (losses * weight).sum(), (exp / total - target) * weight


def _route_backward(gradient, cotangent):
    return cotangent * gradient, None, None


route_cross_entropy.defvjp(_route_forward, _route_backward)
