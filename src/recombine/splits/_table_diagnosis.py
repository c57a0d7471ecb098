"""What a table of factors supports, and what it lacks: every question, asked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ._addition_plan import AdditionPlan
from ._difficulty import Difficulty
from ._divergence import Divergence, table_divergence
from ._encoded_split import EncodedSplit, Items, are_among, distinct
from ._factor_information import SharedInformation
from ._item_support import SUPPORT_KINDS, ItemSupport
from ._tway_coverage import TWayCoverage, tway_coverage

Asked = Literal["the test", "all other combinations", "a sample of the other combinations"]

_ASKED = 100_000
_SAMPLED = 20_000
_THIN = 2
_LISTED = 8


@dataclass(frozen=True)
class ThinValue:
    """A value of which training shows little."""

    factor: str
    value: Any
    trained: int
    """How many different combinations with it are trained."""
    asked: int
    """How many different combinations with it are asked for, and not trained."""


@dataclass(frozen=True, eq=False)
class TableDiagnosis:
    """What the trained rows of a table of factors offer for those that are asked for."""

    split: EncodedSplit
    asked_are: Asked
    """Which combinations are judged: those of the test or, without one, others of the values."""
    items: Items
    """The combinations that are judged, each once."""
    rows: Int[np.ndarray, " items"]
    """How many rows each of them has."""
    information: tuple[SharedInformation, ...]
    """Between every two factors."""
    target_information: tuple[SharedInformation, ...]
    """Between every factor and the target."""
    plan: AdditionPlan | None

    @cached_property
    def support(self) -> ItemSupport:
        """S1 to S3."""
        return ItemSupport(self.split.trained, self.split.sizes)

    @cached_property
    def kinds(self) -> Int[np.ndarray, " items"]:
        """S4: the kind of support of every item, as its place in `SUPPORT_KINDS`."""
        return self.support.kinds(self.items)

    @cached_property
    def difficulty(self) -> Float[np.ndarray, " items"]:
        """The predicted difficulty of every item."""
        return Difficulty(self.split).of(self.items)

    @property
    def new(self) -> np.ndarray:
        """Which items are not trained."""
        return self.kinds > 0

    @property
    def kind_counts(self) -> dict[str, int]:
        """How many items there are of each kind."""
        counts = np.bincount(self.kinds, minlength=len(SUPPORT_KINDS))
        return dict(zip(SUPPORT_KINDS, counts.tolist(), strict=True))

    @property
    def supported_share(self) -> float | None:
        """The share of supported rows among those whose combination is not trained."""
        new = int(self.rows[self.new].sum())
        return float(self.rows[self.kinds == 1].sum() / new) if new else None

    @property
    def repeated_rows(self) -> int:
        """How many judged rows have a combination that is trained."""
        return int(self.rows[~self.new].sum())

    @property
    def mean_difficulty(self) -> float | None:
        """The mean predicted difficulty of the rows whose combination is not trained."""
        if not self.new.any():
            return None
        return float(np.average(self.difficulty[self.new], weights=self.rows[self.new]))

    @property
    def possible(self) -> int:
        """How many combinations the values have."""
        return prod(self.split.sizes)

    @property
    def unseen(self) -> tuple[tuple[str, Any], ...]:
        """S1: values that are asked for and never trained."""
        places = np.flatnonzero(~self.support.seen)
        return tuple(self._value(place) for place in places.tolist())

    @cached_property
    def parts(self) -> tuple[tuple[tuple[Any, ...], ...], ...]:
        """S2: the values of every factor in each connected component."""
        return tuple(
            tuple(
                tuple(v for n, v in enumerate(values) if component[start + n] == part)
                for start, values in zip(self.support.offsets, self.split.values, strict=True)
            )
            for component in (self.support.component,)
            for part in range(min(self.support.components, _LISTED))
        )

    @cached_property
    def coverage(self) -> tuple[TWayCoverage, ...]:
        """Coverage of pairs and, with three factors or more, of triples of values."""
        asked = self.items if self.asked_are == "the test" else self.items[:0]
        ways = range(2, min(3, len(self.split.factors)) + 1)
        return tuple(tway_coverage(self.split, t, asked) for t in ways)

    @cached_property
    def divergence(self) -> tuple[Divergence, ...]:
        """Atom and compound divergence, compounds being pairs and triples of values."""
        if self.split.test is None:
            return ()
        return tuple(table_divergence(self.split, way.t) for way in self.coverage)

    @cached_property
    def thin(self) -> tuple[ThinValue, ...]:
        """Values that are asked for and trained in two combinations at most, the most asked first.

        All that a network can know of them is how they are in this company.
        """
        size = sum(self.split.sizes)
        trained = np.bincount((self.split.trained + self.support.offsets).ravel(), minlength=size)
        asked = np.bincount((self.items[self.new] + self.support.offsets).ravel(), minlength=size)
        found = np.flatnonzero((trained > 0) & (trained <= _THIN) & (asked > 0))
        order = found[np.lexsort([-asked[found], trained[found]])]
        return tuple(ThinValue(*self._value(int(n)), int(trained[n]), int(asked[n])) for n in order)

    def examples(self, kind: int, most: int = 3) -> tuple[tuple[Any, ...], ...]:
        """Some items of a kind, by their values."""
        chosen = self.items[self.kinds == kind][:most].tolist()
        return tuple(tuple(self.split.named(item).values()) for item in chosen)

    def _value(self, place: int) -> tuple[str, Any]:
        f = int(np.searchsorted(self.support.offsets, place, side="right")) - 1
        return self.split.factors[f], self.split.values[f][place - int(self.support.offsets[f])]


def asked_items(split: EncodedSplit) -> tuple[Asked, Items, Int[np.ndarray, " items"]]:
    """The combinations to judge: those of the test or, without one, the others of the values."""
    if split.test is not None:
        return "the test", split.tested, split.tested_rows
    total = prod(split.sizes)
    if total <= _ASKED:
        every = np.stack(np.unravel_index(np.arange(total), split.sizes), axis=1)
        others, name = every[~are_among(every, split.trained)], "all other combinations"
    else:
        rng = np.random.default_rng(0)
        drawn = np.stack([rng.integers(size, size=_SAMPLED) for size in split.sizes], axis=1)
        others = distinct(drawn[~are_among(drawn, split.trained)])[0]
        name = "a sample of the other combinations"
    return name, others, np.ones(len(others), np.int64)  # type: ignore[return-value]


def shown_combination(values: Sequence[Any]) -> str:
    """A combination as text."""
    return f"({', '.join(map(str, values))})"
