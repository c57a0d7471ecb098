"""Rows of small numbers, all different."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int


def first_occurrences(rows: Int[np.ndarray, "rows columns"]) -> Int[np.ndarray, " distinct"]:
    """The indices of the rows that equal no earlier row, in order.

    Rows are compared by hashes of 64 bits: of a million rows, all different, one is taken for
    another with a probability of 3e-8, and missing then.
    """
    weights = np.random.default_rng(0).integers(0, 2**64, rows.shape[1], np.uint64) | np.uint64(1)
    hashes = np.zeros(len(rows), np.uint64)
    for column, weight in zip(rows.T, weights, strict=True):
        # Mixed after every column: a mere sum of products would be the same for many rows.
        hashes = (hashes ^ (hashes >> np.uint64(32))) * weight + column.astype(np.uint64)
    return np.sort(np.unique(hashes, return_index=True)[1])


def draw_different(
    count: int, draw: Callable[[int], Int[np.ndarray, "drawn columns"]]
) -> Int[np.ndarray, "count columns"]:
    """The first `count` different rows of those that `draw(size)` gives again and again."""
    rows = draw(count + count // 8 + 8)
    rows = rows[first_occurrences(rows)]
    while len(rows) < count:
        rows = np.concatenate([rows, draw(len(rows) + 8)])
        rows = rows[first_occurrences(rows)]
    return rows[:count]
