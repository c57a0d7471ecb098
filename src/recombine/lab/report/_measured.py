"""All metrics of a study: a table, and a figure for studies that draw none."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import Missing
from ..intervals import Estimate
from ..results import Record, Results
from ..study import Figure, Study, in_words
from ._text import words

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_PANELS = 6
MOST_SERIES = 7


@dataclass(frozen=True)
class MeasuredRow:
    """A metric in one condition, over seeds."""

    condition: str
    metric: str
    mean: float
    half: float | None
    """Half of the 95 % interval; None of one seed."""
    seeds: int


def measured_rows(results: Results) -> list[MeasuredRow]:
    """Every metric in every condition."""
    return [
        _row(condition, name, [r.metrics[name] for r in records if name in r.metrics])
        for condition, records in by_condition(results).items()
        for name in dict.fromkeys(name for r in records for name in r.metrics)
    ]


def _row(condition: str, metric: str, values: Sequence[float]) -> MeasuredRow:
    import numpy as np

    found = Estimate.of_mean(np.asarray(values, float))
    return MeasuredRow(
        condition, metric, found.value, found.half() if found.n > 1 else None, found.n
    )


def by_condition(results: Results) -> dict[str, list[Record]]:
    """The trials of each condition, by the condition in words."""
    groups: dict[str, list[Record]] = {}
    for record in results.records:
        groups.setdefault(in_words(record.condition) or "all trials", []).append(record)
    return groups


def metrics_csv(results: Results) -> str:
    """Every metric of every trial, one per row."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("condition", "seed", "metric", "value"))
    for condition, records in by_condition(results).items():
        for record in records:
            writer.writerows((condition, record.seed, *one) for one in record.metrics.items())
    return file.getvalue()


def measured_figure(study: Study) -> Figure:
    """The figure of a study that draws none: its metrics over its conditions."""
    return Figure(
        "measured",
        "What was measured",
        "Metrics by condition. The study draws no figure of its own.",
        _draw,
    )


def _draw(results: Results) -> "go.Figure":
    from .. import figures

    names = list(dict.fromkeys(n for r in results.records for n in r.metrics))[:MOST_PANELS]
    if not names:
        raise Missing("no trial reports a metric")
    axis, others = _axes(results)
    figure = figures.panels(
        *map(words, names), x=words(axis) or "condition", y="", columns=min(3, len(names))
    )
    series: dict[str, dict[Any, list[Record]]] = {}
    for record in results.records:
        name = in_words({k: record.condition[k] for k in others if k in record.condition})
        place = record.condition.get(axis, in_words(record.condition) or "all trials")
        series.setdefault(name, {}).setdefault(place, []).append(record)
    for panel, metric in enumerate(names):
        for color, (name, places) in enumerate(list(series.items())[:MOST_SERIES]):
            ordered = sorted(places) if axis else list(places)
            ys = [[r.metrics[metric] for r in places[x] if metric in r.metrics] for x in ordered]
            figures.add_points(figure, ordered, ys, name, color=color, panel=panel, line=bool(axis))
    return figure


def _axes(results: Results) -> tuple[str, list[str]]:
    """The setting along which to draw, the one with most numbers; and the other settings."""
    values: dict[str, list[Any]] = {}
    for record in results.records:
        for name, value in record.condition.items():
            values.setdefault(name, []).append(value)
    numeric = [
        name
        for name, found in values.items()
        if len(found) == len(results.records)
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in found)
        and len(set(found)) > 1
    ]
    if not numeric:
        return "", []
    axis = max(numeric, key=lambda name: len(set(values[name])))
    return axis, [name for name in values if name != axis]
