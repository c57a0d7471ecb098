"""How far off predictions are, in units of what they should be."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def relative_loss(
    predictions: Float[Array, "*tasks samples outputs"],
    targets: Float[Array, "*tasks samples outputs"],
    *,
    by_sample: bool = False,
) -> Float[Array, "*tasks"]:
    """E‖ŷ − y‖² / E‖y‖² for each task: 1 for a prediction of zero.

    With `by_sample` the ratio is taken for every sample before it is averaged, E[‖ŷ − y‖² / ‖y‖²];
    samples whose target is exactly zero are left out.
    """
    errors = jnp.sum((predictions - targets) ** 2, axis=-1)
    powers = jnp.sum(targets**2, axis=-1)
    if not by_sample:
        return errors.sum(axis=-1) / powers.sum(axis=-1)
    counted = powers > 0
    return jnp.mean(errors / jnp.where(counted, powers, 1), axis=-1, where=counted)
