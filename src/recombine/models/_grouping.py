"""Tokens grouped by the experts that they chose, in whole blocks of rows."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int

BLOCK = 64
"""Rows per block: a smaller product is slower per row, a larger one has more rows to fill up."""


class Grouping(NamedTuple):
    """Where every assignment of a token to an expert lies among rows that are grouped by expert.

    Assignment t K + k is the k-th choice of token t. All rows of a block are of one expert; rows
    without an assignment fill up the last block of each expert.
    """

    assignments: Int[Array, " rows"]
    """The assignment of every row; as many as there are assignments for none."""
    places: Int[Array, "tokens chosen"]
    """The row of every assignment."""
    experts: Int[Array, " blocks"]
    """The expert of every block."""
    used: Int[Array, ""]
    """How many blocks have assignments; they are the first ones."""
    counts: Int[Array, " experts"]
    """The number of assignments of every expert."""


def grouped(choice: Int[Array, "tokens chosen"], experts: int) -> Grouping:
    """Group the choices of tokens by expert.

    There are `BLOCK` rows for every full block of assignments, and a block more per expert.
    """
    flat = choice.reshape(-1).astype(jnp.int32)
    total = len(flat)
    counts = jnp.zeros(experts, jnp.int32).at[flat].add(1)
    blocks = -(-counts // BLOCK)
    ends = jnp.cumsum(blocks)
    order = jnp.argsort(flat, stable=True).astype(jnp.int32)
    by_expert = flat[order]
    within = jnp.arange(total, dtype=jnp.int32) - (jnp.cumsum(counts) - counts)[by_expert]
    rows = (ends - blocks)[by_expert] * BLOCK + within
    most = total // BLOCK + experts
    assignments = jnp.full(most * BLOCK, total, jnp.int32)
    assignments = assignments.at[rows].set(order, unique_indices=True)
    places = jnp.zeros(total, jnp.int32).at[order].set(rows, unique_indices=True)
    of_block = jnp.searchsorted(ends, jnp.arange(most), side="right")
    return Grouping(
        assignments,
        places.reshape(choice.shape),
        jnp.minimum(of_block, experts - 1).astype(jnp.int32),
        ends[-1],
        counts,
    )
