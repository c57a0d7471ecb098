"""Statements: a number that results estimate, and the bound that it is compared with.

One standard for all: a statement *holds* if the 95 % interval over seeds is on the right side of
its bound, *fails* if it is on the wrong side, and is *undecided* if the bound lies inside. The
interval of a one-sided statement has one side. Statements on every seed have none.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from .errors import Missing
from .intervals import ERROR, MOST_SEEDS, Estimate, share_limits
from .quantities import Quantity, by_seed

if TYPE_CHECKING:
    from .results import Results

VerdictWord = Literal["holds", "fails", "undecided"]
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "≤": np.less_equal, ">": np.greater, "≥": np.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What results say of a statement."""

    verdict: VerdictWord
    evidence: dict[str, Any]
    """The numbers behind the verdict, by what they are."""
    seeds: int | None = None
    """If it is undecided for want of seeds: how many would be likely to decide it."""


class Statement(abc.ABC):
    """A statement that results confirm, refute or leave undecided."""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, ...]:
        """The numbers that it compares with, each once."""

    @abc.abstractmethod
    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        """What results say; raises `Missing` if they do not suffice."""

    def __and__(self, other: "Statement") -> "Statement":
        return AllOf((self, other))

    def __bool__(self) -> bool:
        raise TypeError(
            "a statement is neither true nor false before it is judged: write all_of(a, b) for"
            " `a and b`, and .between(low, high) for `low < a < high`"
        )


class Number(Protocol):
    """What a statement compares with a bound."""

    @property
    def label(self) -> str: ...
    @property
    def word(self) -> str:
        """What the number is called: mean, value."""

    def estimate(self, results: "Results") -> Estimate: ...


@dataclass(frozen=True, eq=False)
class OneSided(Statement):
    """A number is above or below a bound."""

    number: Number
    sign: str
    bound: float

    @property
    def bounds(self) -> tuple[float, ...]:
        return (self.bound,)

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        found = self.number.estimate(results)
        half = found.half(error, sides=1)
        verdict, limit = _one_sided(self.sign, self.bound, found.value - half, found.value + half)
        return _finding(
            f"{self.number.label} {self.sign} {self.bound:g}",
            verdict,
            {self.number.word: found.value, _interval(error): limit, "n": found.n},
            found.seeds_to_reach(abs(found.value - self.bound), error, sides=1),
        )


@dataclass(frozen=True, eq=False)
class Between(Statement):
    """A number is between two bounds; the interval has two sides."""

    number: Number
    low: float
    high: float
    margin: float | None = None
    """Half the distance of the bounds, where they are a value and a margin."""

    @property
    def bounds(self) -> tuple[float, ...]:
        return (self.low, self.high) if self.margin is None else (self.margin,)

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        found = self.number.estimate(results)
        half = found.half(error, sides=2)
        low, high = found.value - half, found.value + half
        verdict: VerdictWord = "undecided"
        if self.low <= low and high <= self.high:
            verdict = "holds"
        elif high < self.low or low > self.high:
            verdict = "fails"
        distance = min(abs(found.value - self.low), abs(found.value - self.high))
        return _finding(
            f"{self.number.label} in [{self.low:g}, {self.high:g}]",
            verdict,
            {self.number.word: found.value, _interval(error): [low, high], "n": found.n},
            found.seeds_to_reach(distance, error, sides=2),
        )


@dataclass(frozen=True, eq=False)
class EveryValue(Statement):
    """Every single value of a quantity is on the right side of a bound."""

    quantity: Quantity
    sign: str
    bound: float
    exact: bool = False
    """Whether nothing is drawn, so that seeds do not count."""

    @property
    def bounds(self) -> tuple[float, ...]:
        return (self.bound,)

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        values = self.quantity(results)
        if not len(values):
            raise Missing(f"{self.quantity.label} has no value")
        holds = bool(np.all(SIGNS[self.sign](values, self.bound)))
        below = self.sign in "<≤"
        extreme = {"largest" if below else "smallest": values.max() if below else values.min()}
        evidence = {"value": values[0]} if len(values) == 1 else extreme | {"n": len(values)}
        name = f"{self.quantity.label} {self.sign} {self.bound:g}"
        return _finding(
            name if self.exact else f"{name}, every seed", "holds" if holds else "fails", evidence
        )


@dataclass(frozen=True, eq=False)
class ShareOfSeeds(Statement):
    """A share of seeds is above or below a bound, by the exact interval of a share."""

    quantity: Quantity
    """0 where it is not true."""
    sign: str
    bound: float

    @property
    def bounds(self) -> tuple[float, ...]:
        return (self.bound,)

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        values = (by_seed(self.quantity, results) != 0).all(axis=1)
        n, true = len(values), int(values.sum())
        if not n:
            raise Missing(f"{self.quantity.label} has no value")
        verdict, limit = _one_sided(self.sign, self.bound, *share_limits(true, n, error))
        return _finding(
            f"share of seeds with {self.quantity.label} {self.sign} {self.bound:g}",
            verdict,
            {"share": true / n, _interval(error): limit, "n": n},
            self._seeds(true / n, n, error),
        )

    def _seeds(self, share: float, n: int, error: float) -> int | None:
        """With how many seeds a share like this one would be decided."""
        while n <= MOST_SEEDS:
            low, high = share_limits(round(share * n), n, error)
            if low > self.bound or high < self.bound:
                return n
            n = math.ceil(1.05 * n) + 1
        return None


@dataclass(frozen=True, eq=False)
class AllOf(Statement):
    """Several statements at once: it fails if one fails, and holds if all hold."""

    parts: tuple[Statement, ...]

    @property
    def bounds(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(b for part in self.parts for b in part.bounds))

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        found = [part.judge(results, error) for part in self.parts]
        evidence = _joined(found)
        if any(one.verdict == "fails" for one in found):
            return Finding("fails", evidence)
        waiting = [one.seeds for one in found if one.verdict == "undecided"]
        if not waiting:
            return Finding("holds", evidence)
        # As many as the slowest part needs, if it can be said.
        return Finding("undecided", evidence, None if None in waiting else max(waiting))  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class AnyOf(Statement):
    """One of several statements: it holds if one holds, and fails if all fail."""

    parts: tuple[Statement, ...]

    @property
    def bounds(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(b for part in self.parts for b in part.bounds))

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        # Each part may err less often, so that all together err as seldom as one.
        found = [part.judge(results, error / len(self.parts)) for part in self.parts]
        evidence = _joined(found)
        if any(one.verdict == "holds" for one in found):
            return Finding("holds", evidence)
        if all(one.verdict == "fails" for one in found):
            return Finding("fails", evidence)
        seeds = [one.seeds for one in found if one.seeds is not None]
        return Finding("undecided", evidence, min(seeds, default=None))


@dataclass(frozen=True, eq=False)
class ForAll(Statement):
    """A statement on every value of a setting that has been run."""

    axis: str
    make: Callable[[Any], Statement]
    chosen: "Callable[[Results, Any], bool]"
    """Which of the values are meant."""
    where: dict[str, Any]

    @property
    def bounds(self) -> tuple[float, ...]:
        return self.make("any").bounds

    def judge(self, results: "Results", error: float = ERROR) -> Finding:
        results = results.where(**self.where) if self.where else results
        values = [v for v in results.values(self.axis) if self.chosen(results, v)]
        if not values:
            raise Missing(f"no trial with any {self.axis} that is meant")
        return AllOf(tuple(map(self.make, values))).judge(results, error)


def _one_sided(
    sign: str, bound: float, low: float, high: float
) -> tuple[VerdictWord, dict[str, float]]:
    """The verdict on a one-sided statement, and the limit that decides it."""
    above = sign in ">≥"
    worst, best = (low, high) if above else (high, low)
    if SIGNS[sign](worst, bound):
        return "holds", {"at least" if above else "at most": worst}
    if not SIGNS[sign](best, bound):
        return "fails", {"at most" if above else "at least": best}
    return "undecided", {"at least" if above else "at most": worst}


def _finding(
    name: str, verdict: VerdictWord, evidence: dict[str, Any], seeds: int | None = None
) -> Finding:
    if verdict != "undecided":
        return Finding(verdict, {name: evidence | {"verdict": verdict}})
    likely = seeds or f"more than {MOST_SEEDS:,}"
    return Finding(verdict, {name: evidence | {"verdict": verdict, "seeds needed": likely}}, seeds)


def _joined(found: list[Finding]) -> dict[str, Any]:
    return {name: value for one in found for name, value in one.evidence.items()}


def _interval(error: float) -> str:
    return f"{100 * (1 - error):.3g} % interval"
