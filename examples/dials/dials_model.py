"""Two models in one file: one with a part for each position, one with a part for each pair."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int


class Additive(eqx.Module):
    """Adds up one learned vector per dial position."""

    parts: Float[Array, "2 positions features"]

    def __init__(self, positions: int, features: int, *, key: Array):
        self.parts = 0.1 * jax.random.normal(key, (2, positions, features))

    def __call__(self, dials: Int[Array, "*batch 2"]) -> Float[Array, "*batch features"]:
        return self.parts[0, dials[..., 0]] + self.parts[1, dials[..., 1]]


class Table(eqx.Module):
    """Memorises one vector per pair of positions."""

    entries: Float[Array, "positions positions features"]

    def __init__(self, positions: int, features: int, *, key: Array):
        self.entries = 0.1 * jax.random.normal(key, (positions, positions, features))

    def __call__(self, dials: Int[Array, "*batch 2"]) -> Float[Array, "*batch features"]:
        return self.entries[dials[..., 0], dials[..., 1]]
