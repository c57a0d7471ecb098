"""Positions: what tells a column where it is."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def sinusoids(positions: Int[Array, " positions"], width: int) -> Float[Array, "positions {width}"]:
    """A code of every position, which may be negative: Eq. C.1.

    Channels 2k and 2k + 1 are the sine and the cosine of position / 10000^(2k / width).

    ```python
    sinusoids(jnp.arange(-3, 4), 128)  # of the offsets from three to the left to three to the right
    ```
    """
    if width % 2:
        raise ValueError(f"sines and cosines come in pairs; {width} channels are an odd number")
    rates = 10_000.0 ** (-jnp.arange(0, width, 2) / width)
    angles = positions[:, None] * rates
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=2).reshape(len(positions), width)


class AbstractPositions(eqx.Module):
    """How absolute positions enter the columns, before the first layer."""

    @abc.abstractmethod
    def __call__(
        self, columns: Float[Array, "batch length width"], first: int | Int[Array, ""] = 0
    ) -> Float[Array, "batch length width"]:
        """The columns, marked by their positions, which are counted from `first` on."""


class SinusoidalPositions(AbstractPositions):
    """Sinusoids are added to the columns."""

    def __call__(
        self, columns: Float[Array, "batch length width"], first: int | Int[Array, ""] = 0
    ) -> Float[Array, "batch length width"]:
        _, length, width = columns.shape
        return columns + sinusoids(first + jnp.arange(length), width).astype(columns.dtype)


class ScaledPositions(AbstractPositions):
    """Sinusoids times one number are added to the columns times another.

    How large both are against each other decides what a transformer learns: see
    `recombine.models.specs.AbstractEmbeddingSpec`.
    """

    token_scale: float = eqx.field(static=True, default=1.0)
    position_scale: float = eqx.field(static=True, default=1.0)

    def __call__(
        self, columns: Float[Array, "batch length width"], first: int | Int[Array, ""] = 0
    ) -> Float[Array, "batch length width"]:
        _, length, width = columns.shape
        added = self.position_scale * sinusoids(first + jnp.arange(length), width)
        return self.token_scale * columns + added.astype(columns.dtype)
