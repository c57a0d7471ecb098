"""Normalisation over the numbers of a row."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class LayerNorm(eqx.Module):
    """Zero mean and unit variance over the last axis, then a learned scale and offset."""

    scale: Float[Array, " width"]
    offset: Float[Array, " width"]

    def __init__(self, width: int):
        self.scale, self.offset = jnp.ones(width), jnp.zeros(width)

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        x = x - x.mean(-1, keepdims=True)
        x = x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5)
        return x * self.scale + self.offset
