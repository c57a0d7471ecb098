"""Can the trained combinations of a table support the others? Checked before any training."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal, TypeVar

import numpy as np

from ._additive_effects import AdditiveEffects, joined_columns
from ._factors import Combination, FactorTable, Table, Value, rows_with
from ._missing_combinations import Part, determining_combinations, joining_combinations

Place = Literal["trained", "within", "undetermined", "across", "new"]

_SHOWN = 8

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class SupportReport:
    """What the trained combinations of a table offer for the others.

    The conditions are numbered S1 to S4.
    """

    trained: FactorTable
    unseen: tuple[Value, ...]
    """S1: values that are tested and never trained; nothing can be known of them."""
    components: tuple[Part, ...]
    """S2: the connected components of the graph whose nodes are values and whose edges are the
    trained combinations; the values of every factor in each. Each may learn a code of its own."""
    within: tuple[Combination, ...]
    """S4: the tested combinations that recombine values of one component: expected to work."""
    undetermined: tuple[Combination, ...]
    """S4: the tested combinations of values of one component that would not follow from the trained
    ones even if the effects of values added up."""
    across: tuple[Combination, ...]
    """S4: the tested combinations of values of several components: all values are trained, but
    nothing relates them."""
    new: tuple[Combination, ...]
    """S4: the tested combinations with a value that is never trained."""
    repeated: int = 0
    """How many rows of the test are trained combinations: these do not test recombination."""
    tested_rows: int = 0
    """How many rows the test has."""
    supported_rows: int = 0
    """How many rows of the test are combinations that are trained or in `within`."""

    @property
    def compositional(self) -> bool:
        """S1: every tested value is trained."""
        return not self.unseen

    @property
    def connected(self) -> bool:
        """S2: trained combinations connect all trained values."""
        return len(self.components) == 1

    @property
    def determined(self) -> bool:
        """S3: if every value had an effect and these added up, the trained combinations would fix
        all others.

        With two factors this is S2. With more it asks for more: a combination that connects two
        components by a value that occurs nowhere else leaves open what is due to that value.
        """
        return not self.to_determine

    @property
    def supports_recombination(self) -> bool:
        """Whether no condition that a network needs for all new combinations is known to fail.

        S1 and S2 are necessary for modular networks (Theorem 9 and its counterexamples), S3 for any
        that can add up effects. Whether a network makes use of them is another matter.
        """
        return self.compositional and self.connected and self.determined

    def judge(self, combination: Sequence[Hashable]) -> Place:
        """The place of a combination: trained, or in one of the fields of this report."""
        chosen = tuple(combination)
        if len(chosen) != len(self.trained.factors):
            raise ValueError(f"a combination has one value of each of {list(self.trained.factors)}")
        return self._places((chosen,))[0]

    @property
    def supported_share(self) -> float | None:
        """The share of the test's rows that are new combinations and supported, among those that
        are new combinations; None without such rows."""
        new = self.tested_rows - self.repeated
        return (self.supported_rows - self.repeated) / new if new else None

    @cached_property
    def to_add(self) -> tuple[Combination, ...]:
        """The fewest combinations whose training would make the support compositional and connected
        (S1 and S2)."""
        return joining_combinations(self.components, self._unseen_values)

    @cached_property
    def to_determine(self) -> tuple[Combination, ...]:
        """The fewest combinations whose training would meet S1 to S3: `to_add`, and others."""
        pairs = zip(self.trained.values, self._unseen_values, strict=True)
        known = replace(self.trained, values=tuple(seen + new for seen, new in pairs))
        return determining_combinations(known, self.to_add)

    def _places(self, combinations: Sequence[Combination]) -> list[Place]:
        """The place of every combination."""
        places: list[Place] = []
        for combination in combinations:
            parts = {self._homes.get(place) for place in enumerate(combination)}
            if None in parts:
                places.append("new")
            elif len(parts) > 1:
                places.append("across")
            else:
                places.append("trained" if combination in self._known else "within")
        recombined = [n for n, place in enumerate(places) if place == "within"]
        if recombined:
            asked = self.trained.numbers_of([combinations[n] for n in recombined])
            determined = self._effects.are_determined(asked)
            for n in np.array(recombined)[~determined].tolist():
                places[n] = "undetermined"
        return places

    @cached_property
    def _homes(self) -> dict[tuple[int, Hashable], int]:
        """The component of every value."""
        return {
            (f, value): number
            for number, part in enumerate(self.components)
            for f, values in enumerate(part)
            for value in values
        }

    @cached_property
    def _known(self) -> frozenset[Combination]:
        return frozenset(self.trained)

    @cached_property
    def _effects(self) -> AdditiveEffects:
        return AdditiveEffects(self.trained.numbers, [len(v) for v in self.trained.values])

    @property
    def _unseen_values(self) -> list[tuple[Hashable, ...]]:
        return [
            tuple(value for name, value in self.unseen if name == factor)
            for factor in self.trained.factors
        ]

    def describe(self) -> str:
        """The report in words: what holds, what is missing, and which combinations to add."""
        factors, values = self.trained.factors, self.trained.values
        total = prod(map(len, values))
        verdict = "can" if self.supports_recombination else "cannot be relied on to"
        sizes = " x ".join(f"{len(v)} {f}" for f, v in zip(factors, values, strict=True))
        to_add, to_determine = self.to_add, self.to_determine
        lines = [
            f"{len(self.trained)} of {total} combinations are trained ({sizes}). They {verdict}"
            " support new ones.",
            _line(
                self.compositional,
                "S1 every value occurs in training",
                f"S1 values that never occur in training: {_shown(self.unseen, _value)}",
            ),
            _line(
                self.connected,
                "S2 trained combinations connect all trained values",
                f"S2 trained combinations form {len(self.components)} components that share no"
                f" value: {_shown(self.components, lambda part: _part(factors, part), '; ')}",
            ),
        ]
        if to_add:
            what = "connect them" if self.compositional else "train and connect all values"
            lines.append(f"     to {what}, also train: {_shown(to_add, _combination)}")
        lines.append(
            _line(
                not to_determine,
                "S3 the effects of all values can be told apart",
                "S3 the effects of some values cannot be told apart",
            )
        )
        further = to_determine[len(to_add) :]
        if further:
            lines.append(f"     to tell them apart, also train: {_shown(further, _combination)}")
        return "\n".join(lines + self._describe_tested(total))

    def _describe_tested(self, total: int) -> list[str]:
        failing = {
            "values of several components": self.across,
            "a value that is not trained": self.new,
            "effects that cannot be told apart": self.undetermined,
        }
        tested = len(self.within) + sum(map(len, failing.values()))
        if self.tested_rows and not tested:
            return [" NOT S4 all tested combinations are trained: none is new"]
        if not tested:
            within = sum(prod(map(len, part)) for part in self.components) - len(self.trained)
            other = total - len(self.trained)
            return [
                _line(
                    within == other,
                    f"S4 {within} of {other} other combinations of these values lie within one"
                    " component",
                )
            ]
        return [
            _line(
                len(self.within) == tested,
                f"S4 {len(self.within)} of {tested} new combinations that are tested are supported"
                f" ({self.supported_share:.0%} of their rows)",
            ),
            *([self._describe_repeated()] if self.repeated else ()),
            *(
                f"     {why}: {_shown(combinations, _combination)}"
                for why, combinations in failing.items()
                if combinations
            ),
        ]

    def _describe_repeated(self) -> str:
        return f"     {self.repeated} of {self.tested_rows} rows of the test are trained, too"

    def __str__(self) -> str:
        return self.describe()


def support_report(
    train: Table | FactorTable,
    test: Table | FactorTable | None = None,
    *,
    factors: Sequence[str] | None = None,
) -> SupportReport:
    """Check whether trained combinations can support new ones, from the tables alone.

    ```python
    >>> train = [("red", "disc"), ("red", "ring"), ("blue", "star")]
    >>> print(support_report(train, [("blue", "disc")], factors=("colour", "shape")))
    3 of 6 combinations are trained (2 colour x 3 shape). They cannot be relied on to support new ones.
      ok S1 every value occurs in training
     NOT S2 trained combinations form 2 components that share no value: colour red, shape disc | ring; colour blue, shape star
         to connect them, also train: (red, star)
     NOT S3 the effects of some values cannot be told apart
     NOT S4 0 of 1 new combinations that are tested are supported (0% of their rows)
         values of several components: (blue, disc)
    ```

    **Arguments:**

    - `train`: the trained combinations: rows of values, an array, dicts, columns by name, a data
        frame of pandas or Polars, the path of a CSV or Parquet file, or a `FactorTable`. At least
        two factors. Rows may occur more than once.
    - `test`: the combinations that will be tested; those that are trained are counted apart. If
        None, all other combinations of the trained values are counted.
    - `factors`: the columns that are factors, by default all; where columns have no names, these
        are their names.
    """  # noqa: E501
    trained = FactorTable.of(train, factors)
    if len(trained.factors) < 2:
        raise ValueError("one factor alone has no combinations; give two factors or more")
    report = SupportReport(trained, (), _components(trained), (), (), (), ())
    if test is None:
        return report
    rows = rows_with(test, trained.factors)
    tested = FactorTable.of(rows, trained.factors)
    found: dict[Place, list[Combination]] = {}
    for place, combination in zip(report._places(tested.combinations), tested, strict=True):
        found.setdefault(place, []).append(combination)
    times = Counter(rows)
    repeated = sum(times[c] for c in found.get("trained", ()))
    return replace(
        report,
        repeated=repeated,
        tested_rows=len(rows),
        supported_rows=repeated + sum(times[c] for c in found.get("within", ())),
        unseen=tuple(
            (factor, value)
            for factor, seen, asked in zip(
                trained.factors, map(set, trained.values), tested.values, strict=True
            )
            for value in asked
            if value not in seen
        ),
        within=tuple(found.get("within", ())),
        undetermined=tuple(found.get("undetermined", ())),
        across=tuple(found.get("across", ())),
        new=tuple(found.get("new", ())),
    )


def _components(trained: FactorTable) -> tuple[Part, ...]:
    """The values of every factor in each connected component, in the order of their values."""
    sizes = [len(values) for values in trained.values]
    columns = trained.numbers + np.cumsum([0, *sizes[:-1]])
    first = np.repeat(columns[:, :1], columns.shape[1] - 1, axis=1)
    labels = joined_columns(first.ravel(), columns[:, 1:].ravel(), sum(sizes))
    seen = np.unique(columns)
    parts: dict[int, list[list[Hashable]]] = {}
    every = [(f, value) for f, values in enumerate(trained.values) for value in values]
    for column, label in zip(seen.tolist(), labels[seen].tolist(), strict=True):
        f, value = every[column]
        parts.setdefault(label, [[] for _ in sizes])[f].append(value)
    return tuple(tuple(map(tuple, part)) for part in parts.values())


def _line(holds: bool, yes: str, no: str | None = None) -> str:
    return f"  ok {yes}" if holds else f" NOT {no or yes}"


def _value(value: Value) -> str:
    return f"{value[0]} {value[1]}"


def _combination(combination: Combination) -> str:
    return f"({', '.join(map(str, combination))})"


def _part(factors: Sequence[str], part: Part) -> str:
    return ", ".join(
        f"{factor} {_shown(values, str, ' | ')}"
        for factor, values in zip(factors, part, strict=True)
    )


def _shown(items: Sequence[_Item], text: Callable[[_Item], str], between: str = ", ") -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return between.join(map(text, items[:_SHOWN])) + more
