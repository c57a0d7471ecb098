"""What the studies of nested expressions read from their results, and how they show it."""

from typing import Any

from recombine.lab import (
    Beside,
    Figure,
    Judgement,
    Reference,
    Results,
    figures,
    paired_difference,
    reference,
)

from .expression_trial import MODELS
from .lookup_results import mean, present, stuck

ON_LAPTOP: dict[str, dict[str, Any]] = {
    "NDR": {},
    "+ abs/rel + gate": {},
    "+ rel": {"matrix_rate": 2e-3},
    "Bidirectional LSTM": {"matrix_rate": None, "learning_rate": 3e-3},
}
"""The networks of preset laptop, those that take longest first, and their settings where they are
not those of NDR. With its rates, transformers without gates never leave chance."""
LAPTOP_MODELS = tuple(ON_LAPTOP)
AHEAD = 0.1
"""By how much NDR is ahead of the transformer with relative positions, at least."""
ABOVE_MAJORITY = 0.3
"""By how much it is better than always saying the most frequent value, at least."""
PAPER_NAMES = {"NDR": "+ geom. att. + gate (NDR)"}
"""Rows of Tables 5.3 and 5.4 that are called otherwise here."""
MEASURES = {"iid": "IID", "deeper": "deeper expressions"}
SMOKE: dict[str, Any] = {
    "size": 4, "hidden": 4, "heads": 1, "layers": 2, "batch": 4, "steps": 2, "every": 1,
    "warm_up": 1, "evaluated": 20, "train": 40, "buckets": 1,
}  # fmt: skip


def by_model(results: Results, metric: str) -> dict[str, float]:
    """A metric's mean over seeds of every network."""
    return {m: mean(results, metric, model=m) for m in present(results, "model", MODELS)}


def router_ahead(results: Results) -> Judgement:
    ahead = paired_difference(
        results.metric("deeper", model="NDR"), results.metric("deeper", model="+ rel")
    )
    evidence = {
        f"NDR less + rel on deeper expressions (bound: at least {AHEAD:g})": ahead,
        "deeper expressions": by_model(results, "deeper"),
        "IID": by_model(results, "iid"),
        "runs of + rel that never left chance": stuck(results.where(model="+ rel")),
    }
    return Judgement(ahead["paired difference"] >= AHEAD, evidence)


def router_computes(results: Results) -> Judgement:
    ahead = paired_difference(
        results.metric("deeper", model="NDR"), results.metric("majority", model="NDR")
    )
    evidence = {
        f"NDR less the share of the most frequent value (bound: at least {ABOVE_MAJORITY:g})": (
            ahead
        ),
        "deeper expressions": results.metric("deeper", model="NDR"),
        "share of the most frequent value": results.metric("majority", model="NDR"),
    }
    return Judgement(ahead["paired difference"] >= ABOVE_MAJORITY, evidence)


def all_learn(results: Results, bound: float) -> Judgement:
    """All networks reach a bound on expressions as in training."""
    iid = by_model(results, "iid")
    evidence = {
        f"IID (bound: at least {bound:g})": iid,
        "the worst seed": {m: results.metric("iid", model=m).min() for m in iid},
        "runs that never left chance": {m: stuck(results.where(model=m)) for m in iid},
    }
    return Judgement(min(iid.values()) >= bound, evidence)


def router_generalizes(results: Results, bound: float, metrics: tuple[str, ...]) -> Judgement:
    """NDR reaches a bound on deeper expressions."""
    found = {metric: mean(results, metric, model="NDR") for metric in metrics}
    evidence = {
        f"deeper expressions (bound: at least {bound:g})": found,
        "by seed": {metric: results.metric(metric, model="NDR") for metric in metrics},
        "IID": mean(results, "iid", model="NDR"),
    }
    return Judgement(min(found.values()) >= bound, evidence)


def published(table: str, model: str, iterations: str, metric: str) -> Reference:
    """A number of the paper; `metric` is `iid` or `deeper`."""
    names = {"iid": "IID (depth 1-5) accuracy", "deeper": "test (depth 7-8) accuracy"}
    return reference(
        "data-router", artifact=table, model=PAPER_NAMES.get(model, model),
        setting=f"{iterations} iterations", metric=names[metric],
    )  # fmt: skip


def beside(table: str, model: str, iterations: str, metric: str, ours: str | None = None) -> Beside:
    """A number of the paper beside ours, of another metric if `ours` says so."""
    return Beside(
        f"{model}, {MEASURES[metric]}, {iterations}",
        published(table, model, iterations, metric),
        lambda results: results.metric(ours or metric, model=model),
    )


def draw_table(results: Results, paper: dict[str, Reference]):
    """The rows of a table; `paper` has the published accuracy on deeper expressions."""
    figure = figures.panels("", x="", y="accuracy")
    models = present(results, "model", MODELS)
    for color, (metric, name) in enumerate(MEASURES.items()):
        values = [results.metric(metric, model=model) for model in models]
        figures.add_points(figure, models, values, name, color=color, line=False)
    figures.add_reference(figure, models, [paper[m].value for m in models], "paper, deeper")
    figures.add_level(figure, results.metric("majority").mean(), "the most frequent value")
    return figure


def draw_by_depth(results: Results):
    figure = figures.panels("", x="depth", y="accuracy")
    for model in present(results, "model", MODELS):
        depths, accuracy = results.curve("by_depth", model=model)
        figures.add_points(figure, depths, list(accuracy.T), model, color=MODELS.index(model))
    _, trained = results.values("depths")[0]
    figures.add_level(figure, trained + 0.5, "deeper than trained", axis="x")
    return figure


def draw_learning(results: Results):
    figure = figures.panels(*MEASURES.values(), x="steps", y="accuracy", columns=2, shared_y=True)
    for panel, metric in enumerate(MEASURES):
        for model in present(results, "model", MODELS):
            steps, accuracy = results.curve(metric, model=model)
            color = MODELS.index(model)
            figures.add_seeds(figure, steps, accuracy, model, color=color, panel=panel)
    return figure


def table_figures(table: str, paper: dict[str, Reference]) -> tuple[Figure, ...]:
    """The figures that both studies have."""
    return (
        Figure(
            "table",
            "Accuracy of every network",
            f"{table}: all seeds, their mean and its 95 % interval. The paper's numbers are of a "
            "larger task.",
            lambda results: draw_table(results, paper),
        ),
        Figure(
            "by-depth",
            "Accuracy by depth",
            "Of the chosen networks, on expressions that were not in training.",
            draw_by_depth,
        ),
        Figure(
            "learning",
            "Accuracy during training",
            "All seeds and their mean.",
            draw_learning,
        ),
    )
