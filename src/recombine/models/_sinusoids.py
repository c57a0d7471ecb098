"""Positions as sines and cosines."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def sinusoids(positions: Int[Array, " positions"], size: int) -> Float[Array, "positions {size}"]:
    """A code of every position, which may be negative: Eq. C.1.

    Channels 2k and 2k + 1 are the sine and the cosine of position / 10000^(2k / size).

    ```python
    sinusoids(jnp.arange(-3, 4), 128)  # of the offsets from three to the left to three to the right
    ```
    """
    if size % 2:
        raise ValueError(f"sines and cosines come in pairs; {size} channels are an odd number")
    rates = 10_000.0 ** (-jnp.arange(0, size, 2) / size)
    angles = positions[:, None] * rates
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=2).reshape(len(positions), size)
