"""What the studies of the family draw and tell: every network on every task, familiar and new."""

from collections.abc import Mapping, Sequence

from recombine.lab import Results, figures

KINDS = {"familiar": "familiar", "new": "new"}
"""Metrics, and how they are told."""


def ordered(results: Results, field: str, known: Sequence[str]) -> list[str]:
    """The values of a setting that there are: a user's own first, then those that are known."""
    found = results.values(field)
    return [v for v in found if v not in known] + [v for v in known if v in found]


def draw_suite(results: Results, tasks: Mapping[str, str], models: Sequence[str]):
    """A panel per task: accuracy of every network on familiar and on new items."""
    shown = [task for task in tasks if task in results.values("task")]
    figure = figures.panels(*(tasks[t] for t in shown), x="", y="accuracy", shared_y=True)
    for panel, task in enumerate(shown):
        runs = results.where(task=task)
        names = ordered(runs, "model", models)
        for color, (metric, words) in enumerate(KINDS.items()):
            values = [runs.metric(metric, model=model) for model in names]
            figures.add_points(figure, names, values, words, color=color, panel=panel, line=False)
        if all("guessing" in r.metrics for r in runs.records):
            figures.add_level(figure, runs.metric("guessing").mean(), "guessing", panel=panel)
    return figure


def draw_learning(results: Results, tasks: Mapping[str, str], models: Sequence[str]):
    """A panel per task: accuracy on new items during training."""
    shown = [task for task in tasks if task in results.values("task")]
    figure = figures.panels(*(tasks[t] for t in shown), x="step", y="accuracy", shared_y=True)
    every = ordered(results, "model", models)
    for panel, task in enumerate(shown):
        runs = results.where(task=task)
        for model in ordered(runs, "model", models):
            steps, values = runs.curve("new", model=model)
            figures.add_band(figure, steps, values, model, color=every.index(model), panel=panel)
    return figure
