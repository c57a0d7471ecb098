"""Models in one file: one that has a part for each position, one that has a part for each pair."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int


class Additive(eqx.Module):
    """Adds what it has learned of each dial's position."""

    parts: Float[Array, "2 positions features"]

    def __init__(self, positions: int, features: int, *, key: Array):
        self.parts = 0.1 * jax.random.normal(key, (2, positions, features))

    def __call__(self, dials: Int[Array, "*batch 2"]) -> Float[Array, "*batch features"]:
        return self.parts[0, dials[..., 0]] + self.parts[1, dials[..., 1]]


class Table(eqx.Module):
    """Remembers each pair by itself."""

    entries: Float[Array, "positions positions features"]

    def __init__(self, positions: int, features: int, *, key: Array):
        self.entries = 0.1 * jax.random.normal(key, (positions, positions, features))

    def __call__(self, dials: Int[Array, "*batch 2"]) -> Float[Array, "*batch features"]:
        return self.entries[dials[..., 0], dials[..., 1]]
