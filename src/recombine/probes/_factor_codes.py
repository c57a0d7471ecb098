"""How a representation codes the factors of its inputs: does it add them up, and apart?"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Real

from ._similarity import centred_cosine

_RANK = 1e-6


class FactorCodes(NamedTuple):
    """The codes of factors in the mean activity of combinations."""

    additive: float
    """The share of the variance between combinations that a sum of one vector per value explains;
    NaN if there are no more combinations than such vectors."""
    additive_by_chance: float
    """What that share would be on average of activity without any structure."""
    additive_new: float
    """R² of that sum, fitted to trained combinations, on the others; NaN if there are none."""
    sizes: Float[np.ndarray, " factors"]
    """The share of the variance between combinations that lies in each factor's vectors."""
    overlaps: Float[np.ndarray, "factors factors"]
    """At `[i, j]`, the share of factor i's vectors that lies in the span of factor j's: 0 if their
    codes are orthogonal."""
    overlaps_by_chance: Float[np.ndarray, "factors factors"]
    """What that share would be on average of random directions: the dimension of the span over the
    number of units."""
    parallel: Float[np.ndarray, " factors"]
    """How much a factor's code is the same whatever the other factors are: the mean cosine between
    its codes in two contexts, each centred; NaN if no two contexts have all of its values."""


def factor_codes(
    activity: Real[ArrayLike, "items units"],
    factors: Int[ArrayLike, "items factors"],
    trained: Bool[ArrayLike, " items"] | None = None,
) -> FactorCodes:
    """How additive and how orthogonal the codes of factors are.

    The code of a value is the vector that it adds to the mean activity of every combination it is
    in, by least squares.

    ```python
    >>> rows = np.stack([np.repeat(range(3), 3), np.tile(range(3), 3)], axis=1)
    >>> codes = factor_codes(np.eye(3)[rows].reshape(9, 6), rows)
    >>> round(codes.additive, 3), codes.overlaps.round(3).tolist()
    (1.0, [[1.0, 0.0], [0.0, 1.0]])
    ```

    **Arguments:**

    - `activity`: of every item.
    - `factors`: the number of the value of every factor, for every item.
    - `trained`: the items whose combinations are trained; None: all.
    """
    H, rows = np.asarray(activity, float), np.asarray(factors)
    if H.ndim != 2 or len(H) != len(rows):
        raise ValueError(
            f"activity [items, units] and factors [items, factors] must have as many items; they"
            f" have the shapes {H.shape} and {rows.shape}"
        )
    combinations, places = np.unique(rows, axis=0, return_inverse=True)
    counts = np.bincount(places)
    means = np.zeros((len(combinations), H.shape[1]))
    np.add.at(means, places, H)
    means /= counts[:, None]
    known = np.ones(len(combinations), bool)
    if trained is not None:
        known = np.zeros(len(combinations), bool)
        known[places[np.asarray(trained, bool)]] = True
    design, starts = _design(combinations)
    rank = int(np.linalg.matrix_rank(design))
    effects = _effects(design, means)
    total = np.square(means - means.mean(axis=0)).sum()
    residual = np.square(means - design @ effects).sum()
    enough = len(combinations) > rank and total > 0
    vectors = [_centred(effects, design, start, end) for start, end in starts]
    sizes = [
        np.square(design[:, start:end] @ v).sum() / total if total > 0 else np.nan
        for v, (start, end) in zip(vectors, starts, strict=True)
    ]
    spans = [_span(v) for v in vectors]
    return FactorCodes(
        additive=float(1 - residual / total) if enough else np.nan,
        additive_by_chance=(rank - 1) / (len(combinations) - 1) if enough else np.nan,
        additive_new=_on_new(design, means, known),
        sizes=np.array(sizes),
        overlaps=np.array([[_inside(v, span) for span in spans] for v in vectors]),
        overlaps_by_chance=np.tile([len(span) / H.shape[1] for span in spans], (len(spans), 1)),
        parallel=np.array([_parallel(combinations, means, f) for f in range(rows.shape[1])]),
    )


def _design(
    combinations: Int[np.ndarray, "combinations factors"],
) -> tuple[Float[np.ndarray, "combinations columns"], list[tuple[int, int]]]:
    """A column of ones, and one column for every value; where those of each factor are."""
    columns, starts, at = [np.ones((len(combinations), 1))], [], 1
    for numbers in combinations.T:
        one_hot = (numbers[:, None] == np.unique(numbers)).astype(float)
        columns.append(one_hot)
        starts.append((at, at + one_hot.shape[1]))
        at += one_hot.shape[1]
    return np.concatenate(columns, axis=1), starts


def _effects(design: np.ndarray, means: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(design, means, rcond=None)[0]


def _centred(effects: np.ndarray, design: np.ndarray, start: int, end: int) -> np.ndarray:
    """The vectors of a factor's values, about their mean over combinations."""
    weights = design[:, start:end].mean(axis=0)
    return effects[start:end] - weights @ effects[start:end]


def _span(vectors: np.ndarray) -> Float[np.ndarray, "dimensions units"]:
    _, s, Vt = np.linalg.svd(vectors, full_matrices=False)
    return Vt[s > _RANK * max(float(s.max(initial=0)), 1e-30)] if s.any() else Vt[:0]


def _inside(vectors: np.ndarray, span: np.ndarray) -> float:
    size = np.square(vectors).sum()
    return float(np.square(vectors @ span.T).sum() / size) if size > 0 else float("nan")


def _on_new(design: np.ndarray, means: np.ndarray, known: Bool[np.ndarray, " all"]) -> float:
    # A value that is never trained has no vector.
    asked = ~known & ~(design[:, ~design[known].any(axis=0)] > 0).any(axis=1)
    if not asked.any() or not known.any():
        return float("nan")
    effects = _effects(design[known], means[known])
    about = np.square(means[asked] - means[known].mean(axis=0)).sum()
    missed = np.square(means[asked] - design[asked] @ effects).sum()
    return float(1 - missed / about) if about > 0 else float("nan")


def _parallel(
    combinations: Int[np.ndarray, "combinations factors"], means: np.ndarray, factor: int
) -> float:
    values = np.unique(combinations[:, factor])
    others, context = np.unique(
        np.delete(combinations, factor, axis=1), axis=0, return_inverse=True
    )
    full = [c for c in range(len(others)) if (context == c).sum() == len(values)]
    if len(full) < 2 or len(values) < 2:
        return float("nan")
    # Combinations are sorted, so that values are in order in every context.
    order = [np.flatnonzero(context == c) for c in full]
    order = [places[np.argsort(combinations[places, factor])] for places in order]
    codes: Array = centred_cosine(np.stack([means[places] for places in order]))
    return float(codes)
