"""How a memory is used: how sharp links are, how heads read, which parts of words they compare."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..tasks._bitmaps import BITMAP_PHASES


def peak(weights: Float[Array, "*rows cells"]) -> Float[Array, "*rows"]:
    """The largest weight of every distribution over cells."""
    return weights.max(axis=-1)


def entropy(weights: Float[Array, "*rows cells"]) -> Float[Array, "*rows"]:
    """The entropy of every distribution over cells, made to sum to 1, as a share of the largest.

    0 for one cell, 1 if all weigh the same, or none does.
    """
    total = weights.sum(axis=-1, keepdims=True)
    cells = weights.shape[-1]
    share = jnp.where(total > 0, weights / jnp.where(total > 0, total, 1), 1 / cells)
    return -jnp.where(share > 0, share * jnp.log(jnp.where(share > 0, share, 1)), 0).sum(
        axis=-1
    ) / jnp.log(cells)


class LinkUse(NamedTuple):
    """What links are like while they are to be followed; see `link_use`."""

    peak: Float[Array, " parts"]
    """The largest weight of forward distributions: mean over the rows of every part."""
    entropy: Float[Array, " parts"]
    """Their entropy, as a share of the largest."""


def link_use(
    forward: Float[Array, "size time heads cells"],
    due: Bool[Array, "size time"],
    parts: Int[Array, "size time"],
    count: int,
) -> LinkUse:
    """Peak and entropy of forward distributions, where an answer is due, part by part.

    **Arguments:**

    - `forward`: distributions over cells, as in `DNCTrace.reading`.
    - `parts`: which part a row belongs to, counted from 0 up to `count`. Parts without a row give
        NaN.
    """
    own = due[:, :, None] & (parts[:, :, None] == jnp.arange(count))
    rows = own.sum(axis=(0, 1))

    def mean(values):
        found = (own * values.mean(axis=2)[:, :, None]).sum(axis=(0, 1))
        return jnp.where(rows > 0, found / jnp.maximum(rows, 1), jnp.nan)

    return LinkUse(mean(peak(forward)), mean(entropy(forward)))


def by_phase(
    values: Float[Array, "size time *shape"], phases: Int[Array, "size time"]
) -> Float[Array, " phases *shape"]:
    """The mean of something in every phase, in the order of `tasks.BITMAP_PHASES`.

    With read modes it says how heads read when, with masks which parts of words they compare. A
    phase that does not occur gives NaN.
    """
    count = len(BITMAP_PHASES)
    own = (phases[:, :, None] == jnp.arange(count)).astype(values.dtype)
    total = jnp.einsum("btp,bt...->p...", own, values)
    rows = own.sum(axis=(0, 1)).reshape(count, *[1] * (values.ndim - 2))
    return jnp.where(rows > 0, total / jnp.maximum(rows, 1), jnp.nan)
