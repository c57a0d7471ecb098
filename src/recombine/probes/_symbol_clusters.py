"""Do the representations of a symbol fall into groups? And into those of the task?

Read once, after training, and on the host: these are NumPy functions in double precision.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Int


def symbol_clusters(
    cosines: Float[ArrayLike, "functions functions"], *, least: float = 1e-3
) -> Int[np.ndarray, " functions"]:
    """The cluster of every function, by how alike it makes a symbol to others (Section E.3).

    Rows are points; clusters of least diameter are joined until the next would be wider than half
    the distance of the two points that are farthest apart (complete linkage).

    **Arguments:**

    - `cosines`: the cosines of one symbol, from `cosine_maps`.
    - `least`: if no two points are farther apart than this, all are in one cluster. Half of any
        distance, however small, would leave two.

    **Returns:** numbers from 0 on, in the order in which the clusters first occur.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    points = np.asarray(cosines, float)
    distances = pdist(points)
    if not len(distances) or distances.max() <= least:
        return np.zeros(len(points), int)
    found = fcluster(linkage(distances, "complete"), distances.max() / 2, criterion="distance")
    _, first, numbers = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


class GroupCosines(NamedTuple):
    """How alike functions of one group, and of two, make a symbol."""

    within: Float[np.ndarray, " symbols"]
    """The mean cosine between two different functions of one group, for each symbol."""
    across: Float[np.ndarray, " symbols"]
    """The mean cosine between functions of two groups."""


def group_cosines(
    cosines: Float[ArrayLike, "symbols functions functions"], groups: Int[ArrayLike, " functions"]
) -> GroupCosines:
    """The mean cosines within and across the groups of functions; NaN where there are no pairs."""
    maps, groups = np.asarray(cosines, float), np.asarray(groups)
    same = groups[:, None] == groups
    different = ~np.eye(len(groups), dtype=bool)

    def mean(chosen):
        nothing = np.full(len(maps), np.nan)
        return maps[:, chosen].mean(axis=1) if chosen.any() else nothing

    return GroupCosines(mean(same & different), mean(~same))


def adjusted_rand_index(a: Int[ArrayLike, " items"], b: Int[ArrayLike, " items"]) -> float:
    """How far two partitions agree: 1 if they are the same, 0 on average for random ones.

    The number of pairs of items that are together in both, minus what is expected by chance, over
    its largest value. Also 1 if both are trivial in the same way.
    """
    _, a = np.unique(np.asarray(a), return_inverse=True)
    _, b = np.unique(np.asarray(b), return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)

    def pairs(counts):
        return (counts * (counts - 1) / 2).sum()

    both, first, second = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    every = pairs(np.array([len(a)]))
    expected = first * second / every if every else 0.0
    most = (first + second) / 2
    return float((both - expected) / (most - expected)) if most != expected else 1.0
