"""Our numbers beside the papers'."""

from collections.abc import Sequence
from dataclasses import dataclass

from .intervals import confidence_interval
from .reference import Beside, Reference
from .results import Results


@dataclass(frozen=True)
class Number:
    """One of our numbers beside the paper's: mean and 95 % interval over seeds."""

    quantity: str
    paper: Reference
    seeds: int = 0
    mean: float = 0.0
    low: float = 0.0
    high: float = 0.0


def numbers(rows: Sequence[Beside], results: Results) -> list[Number]:
    """One number per row; those with results come first."""
    return sorted((_number(row, results) for row in rows), key=lambda number: number.seeds == 0)


def _number(row: Beside, results: Results) -> Number:
    try:
        values = row.ours(results)
    except Exception:  # one number that cannot be computed must not hide the others
        return Number(row.quantity, row.paper)
    mean, low, high = confidence_interval(values)
    return Number(row.quantity, row.paper, len(values), mean, low, high)
