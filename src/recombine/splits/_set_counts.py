"""How often combinations of the values of a few factors occur."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

import numpy as np
from jaxtyping import Int

Items = Int[np.ndarray, "_ factors"]
"""Combinations of values, as their numbers."""

_LISTED = 2**24
"""So many combinations of values at most have a counter each; of more, only those that occur."""
_MOST_SETS = 300


class SetCounts:
    """How often each combination of the values of a few factors occurs among items."""

    def __init__(
        self,
        items: Items,
        factors: Sequence[int],
        sizes: Sequence[int],
        weights: Int[np.ndarray, " items"] | None = None,
    ):
        """**Arguments:**

        - `items`: combinations of values.
        - `factors`: the factors that are looked at.
        - `sizes`: how many values every factor has.
        - `weights`: how often each item is counted, by default once.
        """
        self._factors, self._sizes = list(factors), [sizes[f] for f in factors]
        self.possible = prod(self._sizes)
        if self.possible >= 2**62:
            raise ValueError("factors with so many values have no counts; leave some out")
        keys = self.keys(items)
        if self.possible <= _LISTED:
            self._found = None
            self.counts = np.bincount(keys, weights, minlength=self.possible).astype(np.int64)
        else:
            self._found, places = np.unique(keys, return_inverse=True)
            self.counts = np.bincount(places, weights).astype(np.int64)

    @property
    def occurring(self) -> Int[np.ndarray, " occurring"]:
        """The keys of the combinations that occur."""
        return np.flatnonzero(self.counts) if self._found is None else self._found

    def of_keys(self, keys: Int[np.ndarray, " items"]) -> Int[np.ndarray, " items"]:
        """The counts of combinations that have these keys."""
        if self._found is None:
            return self.counts[keys]
        places = np.searchsorted(self._found, keys).clip(max=len(self._found) - 1)
        return np.where(self._found[places] == keys, self.counts[places], 0)

    def of(self, items: Items) -> Int[np.ndarray, " items"]:
        """The counts of the combinations that items have."""
        return self.of_keys(self.keys(items))

    def copy(self) -> "SetCounts":
        """The same counts, which may be changed."""
        other = object.__new__(SetCounts)
        other.__dict__.update(self.__dict__, counts=self.counts.copy())
        return other

    @property
    def is_listed(self) -> bool:
        """Whether `counts` has an entry for every combination, in the order of the keys."""
        return self._found is None

    def keys(self, items: Items) -> Int[np.ndarray, " items"]:
        keys = np.zeros(len(items), np.int64)
        for f, size in zip(self._factors, self._sizes, strict=True):
            keys = keys * size + items[:, f]
        return keys


def factor_sets(factors: int, t: int) -> Iterator[tuple[int, ...]]:
    """All sets of t factors; of very many, as many as can be looked at."""
    for n, chosen in enumerate(combinations(range(factors), t)):
        if n == _MOST_SETS:
            return
        yield chosen
