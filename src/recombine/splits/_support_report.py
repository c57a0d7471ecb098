"""Can the trained combinations of a table support the others? Checked before any training."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from ._factors import Combination, FactorTable, Table, Value, rows_with
from ._missing_combinations import (
    Part,
    are_determined,
    determining_combinations,
    joining_combinations,
)
from ._support import connected_support

Place = Literal["trained", "within", "undetermined", "across", "new"]

_SHOWN = 8


@dataclass(frozen=True)
class SupportReport:
    """What the trained combinations of a table offer for the others.

    The conditions are numbered S1 to S4.
    """

    trained: FactorTable
    unseen: tuple[Value, ...]
    """S1: values that are tested and never trained; nothing can be known of them."""
    components: tuple[Part, ...]
    """S2: the connected parts of the graph whose nodes are values and whose edges are the trained
    combinations; the values of every factor in each part. Each part may keep a code of its own."""
    within: tuple[Combination, ...]
    """S4: the tested combinations that recombine values of one part: expected to work."""
    undetermined: tuple[Combination, ...]
    """S4: those within one part that would not follow even if the effects of values added up."""
    across: tuple[Combination, ...]
    """S4: those of values from several parts: all trained, but never in a common frame."""
    new: tuple[Combination, ...]
    """S4: those with a value that is never trained."""

    @property
    def compositional(self) -> bool:
        """S1: every tested value is trained."""
        return not self.unseen

    @property
    def connected(self) -> bool:
        """S2: trained combinations chain all trained values together."""
        return len(self.components) == 1

    @property
    def determined(self) -> bool:
        """S3: if every value had an effect and these added up, the trained combinations would fix
        all others.

        With two factors this is S2. With more it asks for more: a combination that joins two parts
        by a value that occurs nowhere else leaves open what is due to that value.
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
        """Where a combination stands: trained, or as the fields of this report say."""
        chosen = tuple(combination)
        if len(chosen) != len(self.trained.factors):
            raise ValueError(f"a combination has one value of each of {list(self.trained.factors)}")
        return _places(self.trained, self.components, (chosen,))[0]

    @property
    def to_add(self) -> tuple[Combination, ...]:
        """Fewest combinations whose training would make the support compositional and connected
        (S1 and S2)."""
        return joining_combinations(self.components, self._unseen_values)

    @property
    def to_determine(self) -> tuple[Combination, ...]:
        """Fewest combinations whose training would meet S1 to S3: `to_add`, and others."""
        pairs = zip(self.trained.values, self._unseen_values, strict=True)
        known = replace(self.trained, values=tuple(seen + new for seen, new in pairs))
        return determining_combinations(known, self.to_add)

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
                "S1 every value is trained",
                f"S1 values that are never trained: {_shown(map(_value, self.unseen))}",
            ),
            _line(
                self.connected,
                "S2 trained combinations join all values",
                f"S2 trained combinations fall into {len(self.components)} parts that share"
                f" nothing: {_shown((_part(factors, p) for p in self.components), between='; ')}",
            ),
        ]
        if to_add:
            lines.append(f"     train also, to join them: {_shown(map(_combination, to_add))}")
        lines.append(
            _line(
                not to_determine,
                "S3 trained combinations tell the effects of values apart",
                "S3 trained combinations cannot tell the effects of all values apart",
            )
        )
        further = to_determine[len(to_add) :]
        if further:
            lines.append(f"     train also, to tell them: {_shown(map(_combination, further))}")
        return "\n".join(lines + self._describe_tested(total))

    def _describe_tested(self, total: int) -> list[str]:
        failing = {
            "across parts": self.across,
            "with a new value": self.new,
            "not determined": self.undetermined,
        }
        tested = len(self.within) + sum(map(len, failing.values()))
        if not tested:
            within = sum(prod(map(len, part)) for part in self.components) - len(self.trained)
            other = total - len(self.trained)
            return [
                _line(
                    within == other,
                    f"S4 all {other} other combinations of these values lie within one part",
                    f"S4 only {within} of {other} other combinations of these values lie within"
                    " one part",
                )
            ]
        return [
            _line(
                len(self.within) == tested,
                f"S4 all {tested} tested combinations are supported",
                f"S4 only {len(self.within)} of {tested} tested combinations are supported",
            ),
            *(
                f"     {why}: {_shown(map(_combination, combinations))}"
                for why, combinations in failing.items()
                if combinations
            ),
        ]

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
      ok S1 every value is trained
     NOT S2 trained combinations fall into 2 parts that share nothing: colour red, shape disc | ring; colour blue, shape star
         train also, to join them: (red, star)
     NOT S3 trained combinations cannot tell the effects of all values apart
     NOT S4 only 0 of 1 tested combinations are supported
         across parts: (blue, disc)
    ```

    **Arguments:**

    - `train`: the trained combinations: rows of values, an array, columns by name, or a
        `FactorTable`. At least two factors. Rows may occur more than once.
    - `test`: the combinations that will be asked for; those that are trained are passed over. If
        None, all other combinations of the trained values are counted.
    - `factors`: the names of the factors, where tables have rows.
    """  # noqa: E501
    trained = FactorTable.of(train, factors)
    if len(trained.factors) < 2:
        raise ValueError("one factor alone has no combinations; give two factors or more")
    components = tuple(
        tuple(
            tuple(value for v, value in enumerate(values) if (f, v) in part)
            for f, values in enumerate(trained.values)
        )
        for part in map(set, connected_support(trained.codes, across_layers=True).components)
    )
    unseen: list[Value] = []
    found: dict[Place, list[Combination]] = {}
    if test is not None:
        tested = FactorTable.of(rows_with(test, trained.factors), trained.factors)
        places = _places(trained, components, tested.combinations)
        for place, combination in zip(places, tested, strict=True):
            found.setdefault(place, []).append(combination)
        for factor, seen, asked in zip(trained.factors, trained.values, tested.values, strict=True):
            unseen += [(factor, value) for value in asked if value not in set(seen)]
    return SupportReport(
        trained,
        tuple(unseen),
        components,
        within=tuple(found.get("within", ())),
        undetermined=tuple(found.get("undetermined", ())),
        across=tuple(found.get("across", ())),
        new=tuple(found.get("new", ())),
    )


def _places(
    trained: FactorTable, components: Sequence[Part], combinations: Sequence[Combination]
) -> list[Place]:
    """Where every combination stands."""
    homes = {
        (f, value): number
        for number, part in enumerate(components)
        for f, values in enumerate(part)
        for value in values
    }
    known = set(trained)
    places: list[Place] = []
    for combination in combinations:
        parts = {homes.get(place) for place in enumerate(combination)}
        if None in parts:
            places.append("new")
        elif len(parts) > 1:
            places.append("across")
        else:
            places.append("trained" if combination in known else "within")
    recombined = [n for n, place in enumerate(places) if place == "within"]
    if recombined:
        asked = replace(trained, combinations=tuple(combinations[n] for n in recombined))
        determined = are_determined(trained.codes, asked.codes)
        for n, is_determined in zip(recombined, determined, strict=True):
            places[n] = "within" if is_determined else "undetermined"
    return places


def _line(holds: bool, yes: str, no: str) -> str:
    return f"  ok {yes}" if holds else f" NOT {no}"


def _value(value: Value) -> str:
    return f"{value[0]} {value[1]}"


def _combination(combination: Combination) -> str:
    return f"({', '.join(map(str, combination))})"


def _part(factors: Sequence[str], part: Part) -> str:
    return ", ".join(
        f"{factor} {_shown(map(str, values), between=' | ')}"
        for factor, values in zip(factors, part, strict=True)
    )


def _shown(texts: Iterable[str], between: str = ", ") -> str:
    listed = list(texts)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return between.join(listed[:_SHOWN]) + more
