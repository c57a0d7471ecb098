"""Our numbers beside the papers'."""

from collections.abc import Sequence
from dataclasses import dataclass

from .intervals import confidence_interval
from .quantities import Quantity, by_seed
from .reference import Beside, Reference
from .results import Results
from .rounding import interval, last_digit, number, signed

ROUNDING = 1e-6
"""Numbers that differ by this share are the same: single precision has no more digits."""


@dataclass(frozen=True)
class Number:
    """One of our numbers beside the paper's: mean and 95 % interval over seeds."""

    quantity: str
    paper: Reference
    seeds: int = 0
    """How many seeds it is the mean of; 0: there are no results."""
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def half(self) -> float | None:
        """Half of the interval; None if there are too few seeds for one."""
        return (self.high - self.low) / 2 if self.seeds > 1 else None

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.mean - self.paper.value

    @property
    def paper_inside(self) -> bool | None:
        """Whether the paper's number, as it is printed, lies inside our interval.

        None if there is none: of one seed it is only known whether it gives the same number.
        """
        margin = max(last_digit(self.paper.value) / 2, self._rounding)
        inside = self.low - margin <= self.paper.value <= self.high + margin
        return True if inside else None if self.half is None else False

    @property
    def ours_text(self) -> str:
        """Our mean with half of its interval, with the digits that are known."""
        return interval(self.mean, self.half)

    @property
    def paper_text(self) -> str:
        """The paper's number with its uncertainty."""
        error = self.paper.uncertainty
        return number(self.paper.value) + (f" ± {number(error)}" if error else "")

    @property
    def difference_text(self) -> str:
        """Ours minus the paper's, with its sign and the digits that are known."""
        if abs(self.difference) <= self._rounding:
            return "0"
        unit = last_digit(self.paper.value)
        printed = 10 * unit if unit < 1 else 0.0
        return signed(self.difference, None if self.half is None else max(printed, self.half))

    @property
    def _rounding(self) -> float:
        return max(ROUNDING * abs(self.paper.value), 1e-12)


def numbers(rows: Sequence[Beside], results: Results) -> list[Number]:
    """One number per row; those with results come first.

    There is none at preset smoke, at which nothing is held against a paper.
    """
    if results.preset == "smoke":
        return []
    return sorted((_number(row, results) for row in rows), key=lambda number: number.seeds == 0)


def _number(row: Beside, results: Results) -> Number:
    try:
        values = by_seed(Quantity(row.ours, row.quantity), results).mean(axis=1)
    except Exception:  # one number that cannot be computed must not hide the others
        return Number(row.quantity, row.paper)
    mean, low, high = confidence_interval(values)
    return Number(row.quantity, row.paper, len(values), mean, low, high)
