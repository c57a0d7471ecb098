"""Results of a suite, several networks on several tasks, as a table and as JSON."""

from typing import Any

from rich.markup import escape
from rich.table import Table

from .conditions import Case
from .errors import Missing
from .intervals import confidence_interval
from .published import published
from .results import Results
from .study import Study

KINDS = ("familiar", "new")
"""The metrics of a suite."""


def values_of(study: Study, preset: str, axis: str) -> list[str]:
    """The values that an axis has in a preset, in order."""
    cases: list[Case] = study.cases(preset)
    return list(dict.fromkeys(str(case.condition[axis]) for case in cases))


def rows_of(study: Study, results: Results) -> list[dict[str, Any]]:
    """Accuracy of every network on every task, familiar and new: mean, interval, seeds."""
    tasks = [t for t in values_of(study, "laptop", "task") if t in results.values("task")]
    known = values_of(study, "laptop", "model")
    found = results.values("model")
    models = [m for m in found if m not in known] + [m for m in known if m in found]
    tasks += [t for t in results.values("task") if t not in tasks]
    rows = []
    for task in tasks:
        for kind in KINDS:
            row: dict[str, Any] = {"task": task, "items": kind, "networks": {}}
            for model in models:
                try:
                    values = results.metric(kind, model=model, task=task)
                except Missing:
                    continue
                mean, low, high = map(float, confidence_interval(values))
                row["networks"][model] = {
                    "mean": mean, "low": max(low, 0.0), "high": min(high, 1.0),
                    "seeds": len(values),
                }  # fmt: skip
            rows.append(row)
    return rows


def document_of(study: Study, results: Results) -> dict[str, Any]:
    """The rows of a suite as one document."""
    return {
        "study": study.name, "preset": results.preset, "overrides": results.overrides,
        "rows": rows_of(study, results),
    }  # fmt: skip


def suite_table(study: Study, results: Results) -> Table:
    """The rows of a suite: a column per network, and those that come with the package."""
    rows = rows_of(study, results)
    models = list(dict.fromkeys(m for row in rows for m in row["networks"]))
    shipped = _shipped(study)
    table = Table(title=f"{study.name}: accuracy", title_justify="left")
    for name in ("task", "items", *models):
        table.add_column(escape(name), justify="left" if name in ("task", "items") else "right")
    for model in shipped:
        table.add_column(escape(f"{model}, published"), justify="right", style="dim")
    for row in rows:
        cells = [_cell(row["networks"].get(m)) for m in models]
        cells += [_cell(of.get((row["task"], row["items"]))) for of in shipped.values()]
        table.add_row(
            row["task"] if row["items"] == KINDS[0] else "", row["items"], *cells,
            end_section=row["items"] == KINDS[-1],
        )  # fmt: skip
    table.caption = "means over seeds, with 95 % intervals; new items ask for new combinations"
    return table


def _shipped(study: Study) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """What results that come with the package say of networks, by task and kind."""
    found = published(study.name)
    if found is None:
        return {}
    by_model: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for row in rows_of(study, found.results):
        for model, cell in row["networks"].items():
            by_model.setdefault(model, {})[row["task"], row["items"]] = cell
    return by_model


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "–"
    if found["seeds"] < 2 or found["low"] == found["high"]:
        return f"{found['mean']:.2f}"
    return f"{found['mean']:.2f} ({found['low']:.2f}-{found['high']:.2f})"
