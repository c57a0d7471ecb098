"""Task latents: how strongly each module of a mask enters a task."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray


def discrete_latents(masks: Bool[ArrayLike, "*tasks modules"]) -> Float[Array, "*tasks modules"]:
    """Each mask divided by its Euclidean norm: (0, 1, 0, 1) becomes (0, 1, 0, 1) / √2.

    A mask without any module stays zero.
    """
    ones = jnp.asarray(masks, float)
    return ones / jnp.sqrt(jnp.maximum(ones.sum(axis=-1, keepdims=True), 1))


def continuous_latents(
    masks: Bool[ArrayLike, "*tasks modules"], *, key: PRNGKeyArray, sum_to_one: bool = False
) -> Float[Array, "*tasks modules"]:
    """A latent within the span of each mask (Algorithm 1): z = (w + mask) / 2.

    The weights w are exponentially distributed on the mask and divided by 1 + Σ w. Entries of the
    mask lie between 0.5 and 1, all others are exactly 0.

    **Arguments:**

    - `masks`: which modules take part.
    - `key`: for the exponential weights.
    - `sum_to_one`: divide w by Σ w instead, as the paper's prose says: w is then uniform on the
        simplex, and a mask of one module always gives z = 1.
    """
    ones = jnp.asarray(masks, float)
    w = jax.random.exponential(key, ones.shape) * ones
    total = w.sum(axis=-1, keepdims=True)
    # The smallest number keeps a mask without any module from dividing 0 by 0.
    w = w / jnp.maximum(total, jnp.finfo(w.dtype).tiny) if sum_to_one else w / (1 + total)
    return 0.5 * (w + ones)
