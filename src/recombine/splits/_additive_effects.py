"""What trained combinations tell of the effects of values, if effects add up.

Every value is a column, every combination a row with ones at its values. A combination is
determined if its row is a weighted sum of trained rows, which is to say that all vectors of effects
that vanish on the trained rows vanish on it as well: the kernel decides.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

_TOLERANCE = 1e-6
_PIVOT = 1e-10


def joined_columns(
    first: Int[np.ndarray, " edges"], second: Int[np.ndarray, " edges"], count: int
) -> Int[np.ndarray, " columns"]:
    """The connected component of each of `count` columns, numbered by their smallest columns."""
    edges = coo_array((np.ones(len(first), bool), (first, second)), shape=(count, count))
    return connected_components(edges, directed=False)[1].astype(np.int64)


class AdditiveEffects:
    """The effects of values that trained combinations leave open, as a kernel.

    Two values that are trained in the same company of all other factors have the same effect up to
    an offset of their factor that no combination can tell: in the kernel they are one column. Most
    tables shrink to almost nothing by this; the kernel of the rest is computed.
    """

    _columns: Int[np.ndarray, " values"]
    """The column of the kernel for every value, those of the first factor first."""
    _kernel: Float[np.ndarray, "columns open"]
    nullity: int
    """The dimension of all effects that vanish on the trained rows. Offsets of factors that cancel
    are among them, one less than there are factors, and the effect of every untrained value."""

    def __init__(self, combinations: Int[np.ndarray, "combinations factors"], sizes: Sequence[int]):
        """**Arguments:**

        - `combinations`: the number of the value of every factor in trained combinations.
        - `sizes`: how many values every factor has.
        """
        self._offsets = np.cumsum([0, *sizes[:-1]])
        rows, count = combinations + self._offsets, sum(sizes)
        self._columns, before = np.arange(count), count + 1
        while count < before:
            labels = _merged(rows, count)
            self._columns, rows = labels[self._columns], _distinct(labels[rows])
            before, count = count, int(labels.max()) + 1
        self._kernel, rank = _kernel(rows, count)
        self.nullity = count - rank

    def of(
        self, combinations: Int[np.ndarray, "combinations factors"]
    ) -> Float[np.ndarray, "combinations open"]:
        """The open effects of combinations: zero if they are determined."""
        return self._kernel[self._columns[combinations + self._offsets]].sum(axis=1)

    def are_determined(
        self, combinations: Int[np.ndarray, "combinations factors"]
    ) -> Bool[np.ndarray, " combinations"]:
        """Whether combinations are determined; their values must be joined by trained ones."""
        return np.linalg.norm(self.of(combinations), axis=1) < _TOLERANCE

    def independent(
        self, combinations: Int[np.ndarray, "combinations factors"]
    ) -> Int[np.ndarray, " chosen"]:
        """Those combinations that are determined neither by trained ones nor by those before."""
        columns = self._columns[combinations + self._offsets]
        _, first = np.unique(columns, axis=0, return_index=True)
        chosen: list[int] = []
        directions = np.zeros((self._kernel.shape[1],) * 2)
        for n in np.sort(first):
            effect = self._kernel[columns[n]].sum(axis=0)
            known = directions[: len(chosen)]
            for _ in range(2):
                effect = effect - (known @ effect) @ known
            size = np.linalg.norm(effect)
            if size > _TOLERANCE:
                directions[len(chosen)] = effect / size
                chosen.append(int(n))
        return np.array(chosen, int)


def _merged(rows: np.ndarray, count: int) -> np.ndarray:
    """Labels of columns that are equal where rows differ in one column only."""
    ends: list[np.ndarray] = []
    for f in range(rows.shape[1]):
        company = _keys(np.delete(rows, f, axis=1))
        order = np.argsort(company, kind="stable")
        alike = company[order][1:] == company[order][:-1]
        column = rows[order, f]
        ends.append(np.stack([column[:-1][alike], column[1:][alike]]))
    first, second = np.concatenate(ends, axis=1)
    return joined_columns(first, second, count)


def _distinct(rows: np.ndarray) -> np.ndarray:
    return rows[np.unique(_keys(rows), return_index=True)[1]]


def _keys(rows: np.ndarray) -> np.ndarray:
    """One number per row, the same for equal rows only."""
    low, sizes = rows.min(axis=0), np.ptp(rows, axis=0) + 1
    if prod(map(int, sizes)) < 2**62:
        return np.ravel_multi_index(tuple((rows - low).T), tuple(sizes))
    keys = np.zeros(len(rows), np.int64)
    for column, size in zip((rows - low).T, sizes, strict=True):
        keys = np.unique(keys * size + column, return_inverse=True)[1]
    return keys


def _kernel(rows: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """Orthonormal vectors that vanish on all rows, and the rank of the rows.

    The effects of a row that shares no column with others are left at zero: offsets of its factors
    are all that it leaves open, and no combination of its values can tell them.
    """
    shared = rows[(np.bincount(rows.ravel(), minlength=count)[rows] > 1).any(axis=1)]
    used, columns = np.unique(shared, return_inverse=True)
    if not len(used):
        return np.zeros((count, 0)), len(rows)
    places = np.repeat(np.arange(len(shared)), rows.shape[1]), columns.ravel()
    ones = coo_array((np.ones(shared.size), places), shape=(len(shared), len(used))).tocsr()
    gram = (ones.T @ ones).toarray()
    scale = 1 / np.sqrt(np.diag(gram))
    factor, order, rank, _ = lapack.dpstrf(gram * np.outer(scale, scale), tol=_PIVOT)
    solved = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    kernel = np.zeros((count, len(used) - rank))
    kernel[used[order - 1]] = np.vstack([-solved, np.eye(len(used) - rank)])
    kernel[used] *= scale[:, None]
    kernel[used] = np.linalg.qr(kernel[used])[0]
    return kernel, int(rank) + len(rows) - len(shared)
