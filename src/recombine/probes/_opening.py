"""When columns of a gated network open, and whether in the order of the computation.

Read once, after training, and on the host: these are NumPy functions.
"""

from collections.abc import Container, Sequence

import numpy as np
from jaxtyping import ArrayLike, Float, Int, Real


def opening_steps(
    gates: Float[ArrayLike, "steps *batch columns channels"], *, level: float = 0.5
) -> Int[np.ndarray, "*batch columns"]:
    """The first step, from 0, at which each column's mean gate exceeds `level`.

    A column that never opens has the number of steps: it comes after all others.
    """
    opened = np.asarray(gates).mean(axis=-1) > level
    return np.where(opened.any(axis=0), opened.argmax(axis=0), len(opened))


def half_open(gates: Float[ArrayLike, "steps *batch columns channels"]) -> float:
    """Half of the largest mean gate of any column at any step.

    A `level` of `opening_steps` for networks that keep most channels closed: where a third of the
    channels of a column take over new values and the others never do, its mean gate stays at 1/3.
    """
    return 0.5 * float(np.asarray(gates).mean(axis=-1).max())


def opening_order(
    opening: Real[ArrayLike, " columns"], order: Real[ArrayLike, " columns"]
) -> float:
    """Spearman's correlation between when columns open and when they should.

    **Arguments:**

    - `opening`: the opening step of every column, from `opening_steps`.
    - `order`: a number that grows with the place of a column in the computation, such as
        `application_distances` or `subtree_heights`; NaN for columns that do not count.

    **Returns:** 1 if columns open in this order, -1 in the reverse; NaN if it is not defined:
    fewer than two columns, or all of them alike.
    """
    from scipy.stats import spearmanr

    opening, order = np.asarray(opening, float), np.asarray(order, float)
    counts = np.isfinite(order)
    opening, order = opening[counts], order[counts]
    if len(np.unique(opening)) < 2 or len(np.unique(order)) < 2:
        return float("nan")
    return float(spearmanr(opening, order).statistic)


def application_distances(
    words: Sequence[str], symbols: Container[str], functions: Container[str]
) -> Float[np.ndarray, " columns"]:
    """How many functions are applied up to each column of `b a 3` or `3 a b`: here 2, 1 and 1, 2.

    **Arguments:**

    - `words`: an input with one symbol.
    - `symbols`, `functions`: what these are written as; columns of anything else are NaN, and so
        is the symbol's.
    """
    found = [place for place, word in enumerate(words) if word in symbols]
    if len(found) != 1:
        raise ValueError(f"an input has one symbol, not {len(found)}: {' '.join(words)}")
    distances = np.abs(np.arange(len(words)) - found[0]).astype(float)
    return np.where([word in functions for word in words], distances, np.nan)


def subtree_heights(words: Sequence[str]) -> Float[np.ndarray, " columns"]:
    """How deep brackets are nested from each opening one on: 1 if there are none inside.

    A word that begins with `[` or `(` opens, `]` or `)` closes; columns of anything else are NaN.
    In `[MAX 2 [MIN 4 7 ] ]` the heights are 2 and 1.
    """
    heights = np.full(len(words), np.nan)
    opened: list[int] = []
    inside: list[int] = [0]
    for place, word in enumerate(words):
        if word[:1] in ("[", "("):
            opened.append(place)
            inside.append(0)
        elif word in ("]", ")"):
            if not opened:
                raise ValueError(f"a bracket closes that was not opened: {' '.join(words)}")
            height = 1 + inside.pop()
            heights[opened.pop()] = height
            inside[-1] = max(inside[-1], height)
    if opened:
        raise ValueError(f"a bracket is not closed: {' '.join(words)}")
    return heights
