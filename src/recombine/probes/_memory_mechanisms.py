"""What a memory does without any learning: three defects and their remedies, in bare numbers."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..models import _memory


def lookup_of_part(
    cells: Float[Array, "memories cells word"], known: int, strength: float, *, masked: bool
) -> Float[Array, "memories cells cells"]:
    """Weights on all cells when each is looked up by the first `known` numbers of its word.

    **Arguments:**

    - `masked`: whether what is not known is masked, or 0 in the key only.
    """
    mask = (jnp.arange(cells.shape[2]) < known) * 1.0
    masks = jnp.broadcast_to(mask, cells.shape) if masked else None
    strengths = jnp.full(cells.shape[:2], strength)
    return _memory.lookup(cells, cells * mask, strengths, masks)


def lookup_of_freed(
    cells: Float[Array, "memories cells word"], freed: float, strength: float, *, empties: bool
) -> Float[Array, "memories cells"]:
    """Weights when the first cell, which is freed to this degree, is looked up by its own word.

    It was read with all weight a step before; nothing is written.

    **Arguments:**

    - `empties`: whether cells that are freed lose what is in them.
    """
    memories, count, _ = cells.shape
    read = jnp.zeros((memories, 1, count)).at[:, :, 0].set(1.0)
    kept = _memory.retention(jnp.full((memories, 1), freed), read)
    left = cells * kept[:, :, None] if empties else cells
    return _memory.lookup(left, cells[:, :1], jnp.full((memories, 1), strength))[:, 0]


def blurred_links(cells: int, blur: float) -> Float[Array, "cells cells"]:
    """Links after all cells were written in turn: each with weight 1 − η, and η on all others."""
    weights = jnp.where(jnp.eye(cells, dtype=bool), 1 - blur, blur / max(cells - 1, 1))

    def write(state, w):
        links, precedence = state
        links = _memory.linked(links, w[None], precedence)
        return (links, (1 - w.sum()) * precedence + w), None

    start = jnp.zeros((1, cells, cells)), jnp.zeros((1, cells))
    (links, _), _ = jax.lax.scan(write, start, weights)
    return links[0]


def followed_links(
    links: Float[Array, "cells cells"], jumps: int, power: float | None
) -> Float[Array, "jumps cells"]:
    """Where one is after following links forward from the first cell, jump by jump.

    **Arguments:**

    - `power`: what every distribution is raised to before it is made to sum to 1; None: nothing is
        done to it.
    """

    def jump(at, _):
        at = links @ at
        if power is not None:
            at = _memory.sharpened(at[None, None], jnp.full((1, 1), power))[0, 0]
        return at, at

    return jax.lax.scan(jump, jnp.zeros(len(links)).at[0].set(1.0), None, length=jumps)[1]
