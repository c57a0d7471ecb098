"""Tokens as vectors."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Embedding(eqx.Module):
    """One vector per token; padding, token 0, has none of its own."""

    weight: Float[Array, "vocabulary width"]
    """The vectors of tokens 1, 2, ..."""

    def __call__(self, tokens: Int[Array, "batch length"]) -> Float[Array, "batch length width"]:
        return self.weight[jnp.maximum(tokens - 1, 0)]
