"""The memory of a differentiable neural computer: cells that are written, linked and read.

Sections 2.1 and A.1, with the three amendments of the chapter: masked lookup (M), cells that are
emptied when they are freed (D), and sharp links (S). All functions work on batches. Sums over cells
and words are matrix products throughout, which are many times as fast as reductions; for the same
reason the derivatives of the two large updates are written down.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

EPSILON = 1e-6
"""What keeps norms, usages and links from 0. What is freed is hidden from lookups by it alone."""


class MemoryAccess(NamedTuple):
    """What the controller asks of memory."""

    read_keys: Float[Array, "batch heads word"]
    read_strengths: Float[Array, "batch heads"]
    write_key: Float[Array, "batch word"]
    write_strength: Float[Array, " batch"]
    erased: Float[Array, "batch word"]
    """Which parts of a word are erased, e."""
    written: Float[Array, "batch word"]
    """The word that is written, v."""
    frees: Float[Array, "batch heads"]
    """Whether heads free what they read a step ago, f."""
    allocates: Float[Array, " batch"]
    """Whether to write where memory is free, or where the key is found, gᵃ."""
    writes: Float[Array, " batch"]
    """Whether to write at all, gʷ."""
    modes: Float[Array, "batch heads 3"]
    """How heads read: backward along links, by content, forward; π."""
    write_mask: Float[Array, "batch word"] | None
    """Which parts of words are compared; without M `None`, for all."""
    read_masks: Float[Array, "batch heads word"] | None
    forward_sharpness: Float[Array, "batch heads"] | None
    """The power that distributions are raised to; without S `None`, for no change."""
    backward_sharpness: Float[Array, "batch heads"] | None


class MemoryState(NamedTuple):
    """What is in memory, and where it was written and read last."""

    cells: Float[Array, "batch cells word"]
    """M."""
    links: Float[Array, "batch cells cells"]
    """L: how much cell i was written right after cell j."""
    usage: Float[Array, "batch cells"]
    """u."""
    precedence: Float[Array, "batch cells"]
    """p: how much a cell is the one that was written last."""
    written: Float[Array, "batch cells"]
    """The weights of writing, wʷ."""
    read: Float[Array, "batch heads cells"]
    """The weights of reading, wʳ."""
    words: Float[Array, "batch heads word"]
    """What the heads have read, r."""

    @classmethod
    def empty(cls, batch: int, cells: int, word: int, heads: int, dtype=float) -> "MemoryState":
        """The state before the first step: zeros."""
        n = cells
        shapes = (n, word), (n, n), (n,), (n,), (n,), (heads, n), (heads, word)
        return cls(*(jnp.zeros((batch, *shape), dtype) for shape in shapes))

    @property
    def large(self) -> tuple[Array, Array]:
        """Cells and links."""
        return self[0], self[1]

    @property
    def small(self) -> tuple[Array, ...]:
        """All else."""
        return tuple(self[2:])


class Reading(NamedTuple):
    """How the heads have found what they read in a step."""

    backward: Float[Array, "batch heads cells"]
    """Along links, sharpened if links are."""
    content: Float[Array, "batch heads cells"]
    forward: Float[Array, "batch heads cells"]
    plain_backward: Float[Array, "batch heads cells"]
    """Along links, before they are sharpened."""
    plain_forward: Float[Array, "batch heads cells"]


def lookup(
    cells: Float[Array, "batch cells word"],
    keys: Float[Array, "batch heads word"],
    strengths: Float[Array, "batch heads"],
    masks: Float[Array, "batch heads word"] | None = None,
) -> Float[Array, "batch heads cells"]:
    """The softmax of the cells' cosines with keys (2.1), of masked words (2.4)."""
    if masks is None:
        sizes = jnp.einsum("bnw,w->bn", cells**2, jnp.ones(cells.shape[2], cells.dtype))[:, None]
        known = keys
    else:
        sizes = jnp.einsum("brw,bnw->brn", masks**2, cells**2)
        keys = keys * masks
        known = keys * masks
    norms = _root((keys**2).sum(axis=2, keepdims=True)) * _root(sizes)
    cosines = jnp.einsum("brw,bnw->brn", known, cells) / (norms + EPSILON)
    return jax.nn.softmax(strengths[:, :, None] * cosines)


def allocation(usage: Float[Array, "batch cells"]) -> Float[Array, "batch cells"]:
    """Where to write what is new: to the least used cell, as far as it is free, and so on.

    aφ₍ⱼ₎ = (1 − uφ₍ⱼ₎) Πᵢ˂ⱼ uφ₍ᵢ₎, with φ the cells from the least to the most used one; of equal
    ones the first comes first.
    """
    usage = usage * (1 - EPSILON) + EPSILON
    place = jnp.arange(usage.shape[1])
    other, own = usage[:, :, None], usage[:, None]
    before = (other < own) | ((other == own) & (place[:, None] < place))
    # Comparing all pairs costs less than sorting, whose result has to be sent back to its places.
    taken = jnp.einsum("bj,bji->bi", jnp.log(usage), before.astype(usage.dtype))
    return (1 - usage) * jnp.exp(taken)


def sharpened(
    weights: Float[Array, "batch heads cells"], powers: Float[Array, "batch heads"]
) -> Float[Array, "batch heads cells"]:
    """Weights raised to a power and made to sum to 1 (A.10)."""
    weights = weights + EPSILON
    raised = (weights / weights.max(axis=2, keepdims=True)) ** powers[:, :, None]
    return raised / raised.sum(axis=2, keepdims=True)


@jax.custom_vjp
def linked(
    links: Float[Array, "batch cells cells"],
    w: Float[Array, "batch cells"],
    precedence: Float[Array, "batch cells"],
) -> Float[Array, "batch cells cells"]:
    """The links after cells were written with weights w: (1 − wᵢ − wⱼ) Lᵢⱼ + wᵢ pⱼ, 0 for i = j."""
    kept = (1 - w[:, :, None] - w[:, None]) * links
    return _off_diagonal(kept + w[:, :, None] * precedence[:, None])


def _linked_forward(links, w, precedence):
    return linked(links, w, precedence), (links, w, precedence)


def _linked_backward(residual, slope):
    links, w, precedence = residual
    slope = _off_diagonal(slope)
    weighted = slope * links
    ones = jnp.ones_like(w)
    of_w = (
        jnp.einsum("bij,bj->bi", slope, precedence)
        - jnp.einsum("bij,bj->bi", weighted, ones)
        - jnp.einsum("bij,bi->bj", weighted, ones)
    )
    of_links = (1 - w[:, :, None] - w[:, None]) * slope
    return of_links, of_w, jnp.einsum("bij,bi->bj", slope, w)


linked.defvjp(_linked_forward, _linked_backward)


@jax.custom_vjp
def rewritten(
    cells: Float[Array, "batch cells word"],
    kept: Float[Array, "batch cells"],
    w: Float[Array, "batch cells"],
    erased: Float[Array, "batch word"],
    written: Float[Array, "batch word"],
) -> Float[Array, "batch cells word"]:
    """The cells, of which a share is kept, after they were written with weights w (A.8)."""
    stays = kept[:, :, None] * (1 - w[:, :, None] * erased[:, None])
    return cells * stays + w[:, :, None] * written[:, None]


def _rewritten_forward(cells, kept, w, erased, written):
    return rewritten(cells, kept, w, erased, written), (cells, kept, w, erased, written)


def _rewritten_backward(residual, slope):
    cells, kept, w, erased, written = residual
    weighted = slope * cells
    # Sums over words of what is kept, and of what is erased.
    both = jnp.stack([jnp.ones_like(erased), erased], axis=1)
    whole, lost = jnp.moveaxis(jnp.einsum("bnw,bkw->bkn", weighted, both), 1, 0)
    of_kept = whole - w * lost
    of_w = jnp.einsum("bnw,bw->bn", slope, written) - kept * lost
    of_erased = -jnp.einsum("bnw,bn->bw", weighted, kept * w)
    of_written = jnp.einsum("bnw,bn->bw", slope, w)
    of_cells = slope * kept[:, :, None] * (1 - w[:, :, None] * erased[:, None])
    return of_cells, of_kept, of_w, of_erased, of_written


rewritten.defvjp(_rewritten_forward, _rewritten_backward)


def retention(
    frees: Float[Array, "batch heads"], read: Float[Array, "batch heads cells"]
) -> Float[Array, "batch cells"]:
    """ψ: how far cells are kept, where heads free what they read a step ago (A.5)."""
    return jnp.prod(1 - frees[:, :, None] * read, axis=1)


def rewrite(
    asked: MemoryAccess,
    before: MemoryState,
    w: Float[Array, "batch cells"],
    *,
    empties: bool,
    reads: Bool[Array, " batch"] | None = None,
) -> tuple[Float[Array, "batch cells word"], Float[Array, "batch cells cells"]]:
    """The cells and links after writing with weights w (A.8, A.9).

    **Arguments:**

    - `empties`: whether cells that are freed lose what is in them (D).
    - `reads`: the sequences that are not over, by default all. The weights w are 0 in others.
    """
    kept = retention(asked.frees, before.read) if empties else jnp.ones_like(w)
    kept = kept if reads is None else jnp.where(reads[:, None], kept, 1)
    cells = rewritten(before.cells, kept, w, asked.erased, asked.written)
    return cells, linked(before.links, w, before.precedence)


def access(
    asked: MemoryAccess,
    before: MemoryState,
    *,
    empties: bool,
    reads: Bool[Array, " batch"] | None = None,
) -> tuple[MemoryState, Reading]:
    """One step of memory: free, write, link, read (A.5 to A.12).

    **Arguments:**

    - `empties`: whether cells that are freed lose what is in them (D).
    - `reads`: the sequences that are not over, by default all; the memory of others stays.

    **Returns:** the state after the step, and how the heads have found what they read.
    """
    last = jax.lax.stop_gradient(before.written)
    usage = before.usage + last - before.usage * last
    usage = usage * retention(asked.frees, before.read)  # (A.6)

    mask = None if asked.write_mask is None else asked.write_mask[:, None]
    found = lookup(before.cells, asked.write_key[:, None], asked.write_strength[:, None], mask)
    gate = asked.allocates[:, None]
    w = asked.writes[:, None] * (gate * allocation(usage) + (1 - gate) * found[:, 0])  # (A.7)
    w = w if reads is None else jnp.where(reads[:, None], w, 0)
    cells, links = rewrite(asked, before, w, empties=empties, reads=reads)
    precedence = (1 - w.sum(axis=1, keepdims=True)) * before.precedence + w  # (A.9)

    forward = plain_forward = jnp.einsum("bij,brj->bri", links, before.read)
    backward = plain_backward = jnp.einsum("bij,bri->brj", links, before.read)
    if asked.forward_sharpness is not None and asked.backward_sharpness is not None:
        forward = sharpened(forward, asked.forward_sharpness)
        backward = sharpened(backward, asked.backward_sharpness)
    content = lookup(cells, asked.read_keys, asked.read_strengths, asked.read_masks)
    back, by_content, ahead = jnp.split(asked.modes, 3, axis=2)
    read = back * backward + by_content * content + ahead * forward  # (A.12)
    words = jnp.einsum("brn,bnw->brw", read, cells)
    after = MemoryState(cells, links, usage, precedence, w, read, words)
    if reads is not None:
        small = [
            jnp.where(reads.reshape(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(after.small, before.small, strict=True)
        ]
        after = MemoryState(cells, links, *small)
    return after, Reading(backward, content, forward, plain_backward, plain_forward)


def _off_diagonal(links: Float[Array, "batch cells cells"]) -> Float[Array, "batch cells cells"]:
    return links * (1 - jnp.eye(links.shape[1], dtype=links.dtype))


def _root(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Square roots, whose derivative at 0 is 0."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0)
