"""Dropout that costs little beside what it drops."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt32


def split(key: PRNGKeyArray | None, count: int) -> list[PRNGKeyArray | None]:
    """So many keys, or so many times none."""
    return [None] * count if key is None else list(jax.random.split(key, count))


def kept(shape: tuple[int, ...], rate: float, *, key: PRNGKeyArray) -> Bool[Array, "..."]:
    """Which of the numbers of an array stay: each with probability 1 − `rate`.

    The bits are a counter that is mixed with both words of the key by multiplications. On a CPU
    JAX's own generator would take as long as the layers between two dropouts; keys are made by it,
    and masks need no more than this.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout rate of {rate:g} is not at least 0 and less than 1")
    first, second = jax.random.key_data(key)[:2]
    counter = jax.lax.iota(jnp.uint32, math.prod(shape)) * jnp.uint32(0x9E3779B9)
    bits = _mixed(_mixed(counter + first) ^ second)
    return (bits >= jnp.uint32(round(rate * 2**32))).reshape(shape)


def _mixed(bits: UInt32[Array, " words"]) -> UInt32[Array, " words"]:
    """A permutation of all words, in which every bit depends on every other one."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x21F0AAAD)
    bits = (bits ^ (bits >> 15)) * jnp.uint32(0xD35A2D97)
    return bits ^ (bits >> 15)


def dropout(
    x: Float[Array, "*shape"], rate: float, *, key: PRNGKeyArray | None
) -> Float[Array, "*shape"]:
    """Set numbers to 0 with probability `rate`, and scale the others up by 1 / (1 − rate).

    Without a `key`, or at a rate of 0, nothing changes.
    """
    if key is None or rate == 0:
        return x
    return jnp.where(kept(x.shape, rate, key=key), x / (1 - rate), 0)
