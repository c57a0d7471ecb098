"""Entropy and mutual information of finite tables, in bits.

A table holds the joint probabilities of discrete variables, one axis per variable. Counts do as
well: tables are divided by their sum.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Int, Num

Table = Num[ArrayLike, "..."] | Sequence[Any]
"""Joint probabilities or counts, also as nested lists."""
Axes = int | Sequence[int]
"""A variable, or several that are taken together."""


def _as_set(axes: Axes, variables: int) -> frozenset[int]:
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    if any(not -variables <= axis < variables for axis in listed):
        raise ValueError(f"the table has the axes 0 to {variables - 1}; got {listed}")
    return frozenset(axis % variables for axis in listed)


def marginal(table: Table, axes: Axes | None = None) -> Float[np.ndarray, "..."]:
    """The joint probabilities of some variables of a table, in the order of their axes.

    **Arguments:**

    - `table`: joint probabilities or counts, one axis per variable.
    - `axes`: the variables to keep; None: all.
    """
    table = np.asarray(table, float)
    total = table.sum()
    if table.size == 0 or table.min() < 0 or not 0 < total < np.inf:
        raise ValueError(
            "a table of probabilities has no negative entry and a finite sum above 0; got a"
            f" smallest entry of {table.min() if table.size else None} and a sum of {total}"
        )
    kept = _as_set(range(table.ndim) if axes is None else axes, table.ndim)
    return np.asarray(table.sum(axis=tuple(set(range(table.ndim)) - kept)) / total)


def entropy(table: Table, axes: Axes | None = None) -> float:
    """H of some variables of a table together, in bits; of all if `axes` is None.

    ```python
    >>> entropy([0.5, 0.25, 0.25])
    1.5
    ```
    """
    p = marginal(table, axes)
    p = p[p > 0]
    return max(0.0, float(-(p * np.log2(p)).sum()))


def mutual_information(table: Table, first: Axes, second: Axes) -> float:
    """I(A; B) in bits, where A and B are variables of a table; the others are summed over.

    ```python
    >>> mutual_information([[0.5, 0], [0, 0.5]], 0, 1)
    1.0
    ```

    **Arguments:**

    - `table`: joint probabilities or counts, one axis per variable.
    - `first`, `second`: the axes of A and of B, one or several each. I(A; A) is the entropy of A.
    """
    return conditional_mutual_information(table, first, second, ())


def conditional_mutual_information(table: Table, first: Axes, second: Axes, given: Axes) -> float:
    """I(A; B | C) = H(A, C) + H(B, C) − H(A, B, C) − H(C) in bits.

    ```python
    >>> xor = [[[0.25, 0], [0, 0.25]], [[0, 0.25], [0.25, 0]]]
    >>> mutual_information(xor, 0, 2), conditional_mutual_information(xor, 0, 2, 1)
    (0.0, 1.0)
    ```

    It is up to rounding never negative, and obeys the chain rule I(A, C; B) = I(A; B | C) + I(C; B)
    (Theorem 2). Along a Markov chain A → B → C it falls: I(A; B) ≥ I(A; C) (Theorem 1).

    **Arguments:**

    - `table`: joint probabilities or counts, one axis per variable.
    - `first`, `second`, `given`: the axes of A, B and C. Axes in none of them are summed over.
    """
    table = marginal(table)
    a, b, c = (_as_set(axes, table.ndim) for axes in (first, second, given))
    H = {axes: entropy(table, tuple(axes)) for axes in (a | c, b | c, a | b | c, c)}
    return H[a | c] + H[b | c] - H[a | b | c] - H[c]


def table_of_samples(
    samples: Int[ArrayLike, "samples variables"], sizes: Sequence[int]
) -> Float[np.ndarray, "..."]:
    """The frequencies of combinations in a sample: a table with an axis for each variable.

    **Arguments:**

    - `samples`: the values, counted from 0.
    - `sizes`: how many values each variable has.
    """
    samples = np.asarray(samples)
    if samples.shape[1] != len(sizes) or np.any((samples < 0) | (samples >= np.asarray(sizes))):
        raise ValueError(
            f"samples must have {len(sizes)} columns of values from 0 to below {list(sizes)}"
        )
    table = np.zeros(tuple(sizes))
    np.add.at(table, tuple(samples.T), 1 / len(samples))
    return table
