"""Atom and compound divergence of a split (Keysers et al. 2020, Section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from ._encoded_split import EncodedSplit
from ._set_counts import SetCounts, factor_sets

ATOM_ALPHA = 0.5
"""The Chernoff coefficient of atoms: training and test count alike."""
COMPOUND_ALPHA = 0.1
"""The Chernoff coefficient of compounds: it matters more that those of the test are trained at all
than how often."""


@dataclass(frozen=True)
class Divergence:
    """How far the distributions of training and test are apart, from 0 to 1."""

    atoms: float
    """D_A: of single values or tokens. A test of recombination keeps it low."""
    compounds: float
    """D_C: of their combinations. The higher, the more recombination is asked for."""
    compounds_are: str
    """What the compounds are."""


def chernoff_divergence(
    P: Num[np.ndarray, " kinds"] | Sequence[float | int],
    Q: Num[np.ndarray, " kinds"] | Sequence[float | int],
    alpha: float,
) -> float:
    """1 − C_α(P ‖ Q) with C_α(P ‖ Q) = Σ_k p_k^α q_k^(1−α).

    ```python
    >>> chernoff_divergence([3, 1], [1, 3], 0.5)
    0.1339745962155613
    ```

    **Arguments:**

    - `P`: weights of training; they are divided by their sum.
    - `Q`: weights of the test.
    - `alpha`: 0.5 for atoms, 0.1 for compounds.
    """
    p, q = np.asarray(P, float), np.asarray(Q, float)
    if not p.sum() > 0 or not q.sum() > 0:
        raise ValueError("a divergence needs weights above 0 on both sides")
    both = (p > 0) & (q > 0)
    p, q = p[both] / p.sum(), q[both] / q.sum()
    return float(np.clip(1 - np.sum(p**alpha * q ** (1 - alpha)), 0, 1))


def table_divergence(split: EncodedSplit, t: int = 2) -> Divergence:
    """The divergence of a table: atoms are values of factors, compounds combinations of t values.

    Every row has one atom per factor and one compound per set of t factors, so the divergence is
    the mean over these. Compounds count as often as they occur.
    """
    if split.test is None:
        raise ValueError("a divergence compares training with a test; give both")

    def mean(size: int, alpha: float) -> float:
        found = []
        for chosen in factor_sets(len(split.factors), size):
            train, test = (
                SetCounts(items, chosen, split.sizes, rows)
                for items, rows in (
                    (split.trained, split.trained_rows),
                    (split.tested, split.tested_rows),
                )
            )
            keys = test.occurring
            # Only what occurs in both adds to the coefficient.
            p = train.of_keys(keys) / train.counts.sum()
            q = test.of_keys(keys) / test.counts.sum()
            found.append(1 - float(np.sum(p**alpha * q ** (1 - alpha))))
        return float(np.clip(np.mean(found), 0, 1))

    names = {2: "pairs", 3: "triples"}
    return Divergence(
        mean(1, ATOM_ALPHA), mean(t, COMPOUND_ALPHA), f"{names.get(t, f'sets of {t}')} of values"
    )


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Where compounds occur in the items of a split."""

    item: Int[np.ndarray, " occurrences"]
    compound: Int[np.ndarray, " occurrences"]
    inner: Int[np.ndarray, " pairs"]
    """Of pairs of occurrences of which one lies within the other, the inner one."""
    outer: Int[np.ndarray, " pairs"]
    """The outer one, a compound of the next size."""


def compound_weights(found: Occurrences) -> Float[np.ndarray, " occurrences"]:
    """The weight of every occurrence, 1 − max over G' of P(G' | G): how far it stands for itself.

    P(G' | G) is the share of the occurrences of the compound G that lie within an occurrence of
    G'. A compound that occurs only as a part of one larger compound has the weight 0. Larger
    compounds than the next size have no larger share, so the next size decides.
    """
    weights = np.ones(len(found.item))
    if not len(found.inner):
        return weights
    count = np.bincount(found.compound)
    size = np.int64(len(count))
    inside = found.compound[found.inner] * size + found.compound[found.outer]
    kinds, kind = np.unique(inside, return_inverse=True)
    # An occurrence counts once for every compound that holds it.
    once = np.unique(kind.astype(np.int64) * len(found.item) + found.inner)
    shares = np.bincount(once // len(found.item), minlength=len(kinds)) / count[kinds // size]
    largest = np.zeros(len(found.item))
    np.maximum.at(largest, found.inner, shares[kind])
    return weights - largest


def weighted_divergence(
    found: Occurrences,
    is_trained: Bool[np.ndarray, " items"],
    alpha: float,
    rows: Float[np.ndarray, " items"] | None = None,
) -> float:
    """The divergence of compounds, each item counting a compound with its largest weight in it.

    **Arguments:**

    - `found`: the occurrences of compounds in the items of training and test.
    - `is_trained`: which items are those of training.
    - `alpha`: the Chernoff coefficient.
    - `rows`: how often each item counts, by default once.
    """
    weights, kinds = compound_weights(found), int(found.compound.max(initial=-1)) + 1
    keys, place = np.unique(
        found.item * np.int64(max(kinds, 1)) + found.compound, return_inverse=True
    )
    largest = np.zeros(len(keys))
    np.maximum.at(largest, place, weights)
    item = keys // max(kinds, 1)
    trained = is_trained[item]
    if rows is not None:
        largest = largest * rows[item]
    compound = keys % max(kinds, 1)
    P = np.bincount(compound[trained], largest[trained], minlength=kinds)
    Q = np.bincount(compound[~trained], largest[~trained], minlength=kinds)
    if not P.sum() or not Q.sum():
        return 0.0 if not Q.sum() else 1.0
    return chernoff_divergence(P, Q, alpha)
