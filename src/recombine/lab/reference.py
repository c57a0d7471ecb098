"""The papers' own numbers, and ours beside them."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import hypot
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .results import Results


@dataclass(frozen=True)
class Reference:
    """One number that a paper reports, or that its published code prints."""

    artifact: str
    """The table, figure or section."""
    task: str
    model: str
    setting: str
    metric: str
    value: float
    uncertainty: float | None
    uncertainty_kind: str
    line: str
    """Line of the source document."""
    note: str

    def as_share(self) -> "Reference":
        """The same number as a share of 1, where the paper prints percent."""
        error = self.uncertainty
        return replace(
            self,
            metric=self.metric.removesuffix("_percent"),
            value=self.value / 100,
            uncertainty=None if error is None else error / 100,
        )


@cache
def references(name: str) -> tuple[Reference, ...]:
    """All rows of `studies/reference/<name>.csv`."""
    file = resources.files("recombine.studies") / "reference" / f"{name}.csv"
    with file.open(encoding="utf-8") as lines:
        return tuple(
            Reference(
                artifact=row["artifact"],
                task=row["task"],
                model=row["model"],
                setting=row["setting"],
                metric=row["metric"],
                value=float(row["value"]),
                uncertainty=float(row["uncertainty"]) if row["uncertainty"] else None,
                uncertainty_kind=row["uncertainty_kind"],
                line=row["line"],
                note=row["note"],
            )
            for row in csv.DictReader(lines)
        )


def reference(name: str, **where: str) -> Reference:
    """The one row of `name` whose columns equal `where`: `reference("x", artifact="table-1")`."""
    rows = _index(name, tuple(where)).get(tuple(where.values()), [])
    if len(rows) != 1:
        raise LookupError(f"{len(rows)} rows of {name} match {where}")
    return rows[0]


@cache
def _index(name: str, columns: tuple[str, ...]) -> dict[tuple[str, ...], list[Reference]]:
    """The rows of `name` by their values in some columns."""
    found: dict[tuple[str, ...], list[Reference]] = {}
    for row in references(name):
        found.setdefault(tuple(getattr(row, column) for column in columns), []).append(row)
    return found


def difference(one: Reference, other: Reference) -> Reference:
    """A paper's number minus another; the errors of independent runs add in quadrature."""
    error = None
    if one.uncertainty is not None and other.uncertainty is not None:
        error = hypot(one.uncertainty, other.uncertainty)
    return replace(
        one, model=f"{one.model} − {other.model}", value=one.value - other.value, uncertainty=error
    )


def artifact(name: str) -> str:
    """Where a number is printed, in words: `table-5.1` is Table 5.1."""
    words = name.replace("-", " ")
    return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class Beside:
    """One of our quantities, shown beside the paper's."""

    quantity: str
    paper: Reference
    ours: "Callable[[Results], np.ndarray]"
    """One value per seed."""
