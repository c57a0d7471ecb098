"""How many pairs and triples of values are trained: t-way coverage."""

from dataclasses import dataclass

import numpy as np

from ._encoded_split import EncodedSplit
from ._set_counts import Items, SetCounts, factor_sets


@dataclass(frozen=True)
class SetCoverage:
    """How many combinations of the values of a few factors are trained."""

    factors: tuple[str, ...]
    possible: int
    """How many combinations their values have."""
    covered: int
    """How many of these are trained."""
    asked: int
    """How many different ones the tested items have."""
    asked_covered: int
    """How many of those are trained."""


@dataclass(frozen=True)
class TWayCoverage:
    """Coverage of all sets of t factors."""

    t: int
    sets: tuple[SetCoverage, ...]

    @property
    def share(self) -> float:
        """The share of all combinations of t values that are trained."""
        return sum(s.covered for s in self.sets) / sum(s.possible for s in self.sets)

    @property
    def asked_share(self) -> float | None:
        """The share of those that the tested items have; None without tested items."""
        asked = sum(s.asked for s in self.sets)
        return sum(s.asked_covered for s in self.sets) / asked if asked else None


def tway_coverage(split: EncodedSplit, t: int, tested: Items) -> TWayCoverage:
    """How many combinations of t values are trained, of all and of those that `tested` has."""
    found = []
    for chosen in factor_sets(len(split.factors), t):
        known = split.trained_pairs if t == 2 else {}
        trained = known.get(chosen) or SetCounts(split.trained, chosen, split.sizes)
        asked = (
            SetCounts(tested, chosen, split.sizes).occurring if len(tested) else np.zeros(0, int)
        )
        found.append(
            SetCoverage(
                factors=tuple(split.factors[f] for f in chosen),
                possible=trained.possible,
                covered=len(trained.occurring),
                asked=len(asked),
                asked_covered=int((trained.of_keys(asked) > 0).sum()),
            )
        )
    return TWayCoverage(t, tuple(found))
