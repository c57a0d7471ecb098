"""What may be done to batches before they are learned from, so that a part of inputs tells less.

A part of an input is given by a mask of the shape of one example's `x`, True where the part lies.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ._optimizer import Number


def _chances(x: Array, key: PRNGKeyArray) -> Float[Array, "batch ..."]:
    """One number between 0 and 1 per example, to be compared with `x`."""
    return jax.random.uniform(key, (len(x),) + (1,) * (x.ndim - 1))


class DropParts(eqx.Module):
    """With probability `rate` one of the `parts` of an example is 0, each as often as the others.

    Parts are stacked, `[parts, ...]`.
    """

    parts: Bool[Array, "parts ..."]
    rate: Number

    def __call__(self, batch: Any, key: PRNGKeyArray) -> Any:
        """The batch with parts that are 0."""
        place = _chances(batch.x, key) * len(self.parts)
        dropped = jnp.zeros(batch.x.shape, bool)
        for i, part in enumerate(self.parts):
            dropped |= part & (i <= place) & (place < i + self.rate)
        return batch._replace(x=jnp.where(dropped, 0, batch.x))


class AddNoise(eqx.Module):
    """Gaussian noise on a part of every example."""

    part: Bool[Array, "..."]
    deviation: Number

    def __call__(self, batch: Any, key: PRNGKeyArray) -> Any:
        """The noisy batch."""
        noise = jax.random.normal(key, batch.x.shape, batch.x.dtype)
        return batch._replace(x=batch.x + jnp.where(self.part, self.deviation * noise, 0))


class ExchangeParts(eqx.Module):
    """With probability `rate` a part of an example is that of another one of the batch."""

    part: Bool[Array, "..."]
    rate: Number

    def __call__(self, batch: Any, key: PRNGKeyArray) -> Any:
        """The batch with parts that have moved."""
        of_chances, of_shift = jax.random.split(key)
        # A shift leaves no part in its place.
        shift = jax.random.randint(of_shift, (), 1, max(len(batch.x), 2))
        moves = self.part & (_chances(batch.x, of_chances) < self.rate)
        return batch._replace(x=jnp.where(moves, jnp.roll(batch.x, shift, axis=0), batch.x))
