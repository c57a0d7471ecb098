"""Dropout that costs few random bits."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray


def kept(shape: tuple[int, ...], rate: float, *, key: PRNGKeyArray) -> Bool[Array, "..."]:
    """Which of the numbers of an array stay: each with probability 1 − `rate`, to 16 bits."""
    size = math.prod(shape)
    # Two decisions a random word: drawing words is most of the cost of dropout on a CPU.
    words = jax.random.bits(key, ((size + 1) // 2,), jnp.uint32)
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1)[:size]
    return (halves >= round(rate * 2**16)).reshape(shape)


def dropout(
    x: Float[Array, "*shape"], rate: float, *, key: PRNGKeyArray | None
) -> Float[Array, "*shape"]:
    """Set numbers to 0 with probability `rate`, and scale the others up by 1 / (1 − rate).

    Without a `key`, or at a rate of 0, nothing changes.
    """
    if key is None or rate == 0:
        return x
    return jnp.where(kept(x.shape, rate, key=key), x / (1 - rate), 0)
