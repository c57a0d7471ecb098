"""Which sources a target may read: Booleans that are combined with `&`."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def padding_mask(lengths: Int[Array, " batch"], length: int) -> Bool[Array, "batch 1 {length}"]:
    """True for the sources of every item that are no padding.

    ```python
    mask = padding_mask(lengths, 12) & causal_mask(12, 12)
    ```
    """
    return (jnp.arange(length) < lengths[:, None])[:, None, :]


def causal_mask(targets: int, sources: int) -> Bool[Array, "{targets} {sources}"]:
    """True for sources that do not come after their target; targets are the last of the sources."""
    return jnp.arange(sources) <= jnp.arange(sources - targets, sources)[:, None]
