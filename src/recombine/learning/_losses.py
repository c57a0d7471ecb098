"""Losses of a task: predictions against targets, averaged over the samples that count."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..tasks._episode import Examples


def counted_mean(
    values: Float[Array, " samples"], weight: Float[Array, " samples"]
) -> Float[Array, ""]:
    """The mean over samples with weight 1; 0 if there is none."""
    return jnp.sum(values * weight) / jnp.maximum(weight.sum(), 1.0)


def kl_divergence(
    prediction: Float[Array, "samples outputs"], examples: Examples
) -> Float[Array, ""]:
    """KL(y ‖ softmax(prediction)): soft targets y, predictions as logits."""
    log_ratio = jax.scipy.special.xlogy(examples.y, examples.y) - examples.y * jax.nn.log_softmax(
        prediction
    )
    return counted_mean(log_ratio.sum(-1), examples.weight)


def half_squared_error(
    prediction: Float[Array, "samples outputs"], examples: Examples
) -> Float[Array, ""]:
    """½ Σ (prediction − y)², summed over outputs."""
    return counted_mean(0.5 * jnp.square(prediction - examples.y).sum(-1), examples.weight)


def cross_entropy(
    prediction: Float[Array, "samples outputs"], examples: Examples
) -> Float[Array, ""]:
    """− Σ y log softmax(prediction): targets as one-hot rows, predictions as logits."""
    return counted_mean(-(examples.y * jax.nn.log_softmax(prediction)).sum(-1), examples.weight)
