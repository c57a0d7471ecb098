"""What was measured: every metric of every condition, with its mean and interval over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .intervals import confidence_interval
from .results import Record, Results
from .rounding import interval
from .study import setting_text
from .tables import plain_table
from .words import count, printable

MOST_ROWS = 40
"""How many rows a table of one study has."""
GAP = 3
"""Columns between two columns of a table."""


@dataclass(frozen=True)
class Measured:
    """The means of all metrics in all conditions, as text."""

    shared: str
    """What all conditions have in common."""
    axes: list[str]
    """The settings in which conditions differ."""
    conditions: list[tuple[str, ...]]
    """Their values, in order."""
    metrics: list[str]
    cells: dict[tuple[int, str], str]
    """By the number of the condition and the metric."""
    seeds: list[int]
    """How many seeds every condition has."""

    @property
    def seeds_text(self) -> str:
        least, most = min(self.seeds), max(self.seeds)
        return count(most, "seed") if least == most else f"{least} to {most} seeds"

    def column(self, metric: str) -> list[str]:
        return [self.cells.get((i, metric), "") for i in range(len(self.conditions))]

    def label(self, condition: int) -> list[str]:
        """A condition, one setting per line."""
        values = self.conditions[condition]
        return [f"{a}={v}" for a, v in zip(self.axes, values, strict=True) if v]


def measured(results: Results) -> Measured | None:
    """All metrics of `results`; None if there are none."""
    groups: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in results.records:
        words = (
            (printable(name), printable(setting_text(v))) for name, v in record.condition.items()
        )
        groups.setdefault(tuple(words), []).append(record)
    metrics = list(dict.fromkeys(name for r in results.records for name in r.metrics))
    if not metrics:
        return None
    conditions = [dict(key) for key in groups]
    names = dict.fromkeys(name for condition in conditions for name in condition)
    axes = [n for n in names if len({c.get(n) for c in conditions}) > 1]
    shared = [f"{n}={conditions[0][n]}" for n in names if n not in axes]
    cells = {
        (place, name): _cell(records, name)
        for place, records in enumerate(groups.values())
        for name in metrics
    }
    return Measured(
        shared=", ".join(shared),
        axes=axes,
        conditions=[tuple(c.get(axis, "") for axis in axes) for c in conditions],
        metrics=[printable(name) for name in metrics],
        cells={(place, printable(name)): text for (place, name), text in cells.items() if text},
        seeds=[len({r.seed for r in records}) for records in groups.values()],
    )


def _cell(records: Sequence[Record], name: str) -> str:
    values = [r.metrics[name] for r in records if name in r.metrics]
    if not values:
        return ""
    mean, low, high = confidence_interval(np.array(values))
    return interval(mean, (high - low) / 2 if len(values) > 1 else None)


def measured_tables(results: Results, width: int, most: int = MOST_ROWS) -> Iterator[Table | Text]:
    """What was measured, in tables that fit into `width`, and a line on what does not.

    Conditions are columns if all of them fit, else rows.
    """
    found = measured(results)
    if found is None:
        return
    title = f"{printable(results.study)}: measured at preset {results.preset}, {found.seeds_text}"
    yield Text(title + (f" ({found.shared})" if found.shared else ""))
    rows = found.metrics[:most]
    if _widths_of_columns(found, rows) <= width:
        yield _metrics_as_rows(found, rows)
        left = count(len(found.metrics) - len(rows), "metric") if len(found.metrics) > most else ""
    else:
        shown = 0
        for chunk in _chunks(found, width):
            if shown and shown + len(found.conditions) > most:
                break
            yield _conditions_as_rows(found, chunk, most)
            shown += len(found.conditions)
            last = chunk[-1]
        others = len(found.metrics) - found.metrics.index(last) - 1
        more = [count(others, "metric")] if others else []
        more += (
            [count(len(found.conditions) - most, "condition")]
            if len(found.conditions) > most
            else []
        )
        left = " and ".join(more)
    if left:
        yield Text(f"… and {left} more: `recombine export --to results.csv` writes all")


def _widths_of_columns(found: Measured, metrics: Sequence[str]) -> int:
    """How wide a table is that has conditions as columns."""
    total = max(map(len, metrics))
    for place in range(len(found.conditions)):
        cells = [found.cells.get((place, m), "") for m in metrics]
        total += GAP + max(map(len, [*found.label(place), *cells]))
    return total


def _metrics_as_rows(found: Measured, metrics: Sequence[str]) -> Table:
    table = plain_table()
    table.add_column("metric", no_wrap=True)
    for place in range(len(found.conditions)):
        label = "\n".join(found.label(place)) or "mean"
        table.add_column(escape(label), justify="right", no_wrap=True)
    for name in metrics:
        cells = (found.cells.get((i, name), "–") for i in range(len(found.conditions)))
        table.add_row(escape(name), *cells)
    return table


def _chunks(found: Measured, width: int) -> Iterator[list[str]]:
    """The metrics, in groups that fit beside the axes."""
    columns = zip(*found.conditions, strict=True) if found.axes else ()
    first = sum(
        GAP + max(map(len, (axis, *values)))
        for axis, values in zip(found.axes, columns, strict=True)
    )
    chunk: list[str] = []
    left = width - first
    for name in found.metrics:
        size = GAP + max(map(len, (name, *found.column(name))))
        if chunk and size > left:
            yield chunk
            chunk, left = [], width - first
        chunk.append(name)
        left -= size
    yield chunk


def _conditions_as_rows(found: Measured, metrics: Sequence[str], most: int) -> Table:
    table = plain_table()
    for axis in found.axes:
        table.add_column(escape(axis))
    for name in metrics:
        table.add_column(escape(name), justify="right")
    for place, values in enumerate(found.conditions[:most]):
        cells = (found.cells.get((place, name), "–") for name in metrics)
        table.add_row(*map(escape, values), *cells)
    return table
