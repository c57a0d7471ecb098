"""A task in one file: two dials whose effects add."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from recombine.tasks import AbstractTask


class DialBatch(NamedTuple):
    dials: Int[Array, "batch 2"]
    targets: Float[Array, "batch features"]


class Dials(AbstractTask):
    """Two dials with `positions` positions each; every position contributes a fixed vector.

    The parts are the positions of each dial, a combination is a pair of positions. With
    `effects[0, 1] = [1, 0]` and `effects[1, 3] = [0, 2]`, the pair (1, 3) has the target [1, 2].
    """

    effects: Float[Array, "2 positions features"]

    def __init__(self, positions: int, features: int, *, key: Array):
        self.effects = jax.random.normal(key, (2, positions, features))

    def target(self, dials: Int[Array, "*batch 2"]) -> Float[Array, "*batch features"]:
        """The sum of the contributions of both dials."""
        return self.effects[0, dials[..., 0]] + self.effects[1, dials[..., 1]]

    def pairs(self) -> Int[Array, "pairs 2"]:
        """All combinations of positions."""
        n = self.effects.shape[1]
        return jnp.stack(jnp.meshgrid(jnp.arange(n), jnp.arange(n), indexing="ij"), -1).reshape(
            -1, 2
        )

    def sample(self, size: int, *, key: Array) -> DialBatch:
        """`size` combinations, drawn uniformly, with their targets."""
        dials = jax.random.randint(key, (size, 2), 0, self.effects.shape[1])
        return DialBatch(dials, self.target(dials))
