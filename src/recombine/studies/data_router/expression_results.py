"""What the studies of nested expressions read from their results, and how they show it."""

from collections.abc import Callable
from typing import Any

from recombine.lab import Beside, Figure, Judgement, Reference, Results, figures, paired_difference

from . import paper
from .expression_trial import MODELS
from .lookup_results import mean, present, stuck
from .paper import network_of, networks, numbers_of, title

UNGATED_ON_LAPTOP: dict[str, Any] = {
    "model.width": 64, "model.hidden": 128, "model.heads": 8, "model.layers": 11,
    "model.dropout": 0.2, "model.attention.dropout": 0.1,
}  # fmt: skip
GATED_ON_LAPTOP = UNGATED_ON_LAPTOP | {"model.block.gate_dropout": 0.1}
RECURRENT_ON_LAPTOP: dict[str, Any] = {
    "muon_rate": None, "learning_rate": 3e-3, "model.units": 64, "model.embedding": 64,
    "model.layers": 2, "model.dropout": 0.2,
}  # fmt: skip
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "ndr": GATED_ON_LAPTOP,
    "position-gate": GATED_ON_LAPTOP,
    "relative": UNGATED_ON_LAPTOP | {"muon_rate": 2e-3},
    "transformer": UNGATED_ON_LAPTOP | {"muon_rate": 2e-3},
    "bi-lstm": RECURRENT_ON_LAPTOP,
    "lstm": RECURRENT_ON_LAPTOP,
}
"""Settings of every network at preset laptop. With the rates of NDR, transformers without gates
never leave chance."""
BI_LSTM_AS_PUBLISHED: dict[str, Any] = {"model.end_token": True, "model.reads_halves": True}
"""What the published code reads."""
LAPTOP_MODELS = ("ndr", "position-gate", "relative", "bi-lstm")
"""The networks of preset laptop, those that take longest first."""
AHEAD = 0.1
"""By how much NDR is ahead of the transformer with relative positions, at least."""
ABOVE_MAJORITY = 0.3
"""By how much NDR is better than always saying the most frequent value, at least."""
MEASURES = {"iid": "IID", "deeper": "deeper expressions"}
SMOKE: dict[str, Any] = {
    "batch_size": 4, "steps": 2, "every": 1, "warmup_steps": 1, "evaluated": 20, "train": 40,
    "buckets": 1, "model.width": 4, "model.hidden": 4, "model.heads": 1, "model.layers": 2,
}  # fmt: skip


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset laptop: sizes and rates of its network."""
    return ON_LAPTOP.get(network_of(condition) or "", {})


def by_model(results: Results, metric: str) -> dict[str, float]:
    """A metric's mean over seeds of every network of the paper."""
    return {m: mean(results, metric, model=m) for m in present(results, "model", MODELS)}


def titled(values: dict[str, Any]) -> dict[str, Any]:
    """Values by the titles of networks."""
    return {title(model): value for model, value in values.items()}


def router_ahead(results: Results) -> Judgement:
    ahead = paired_difference(
        results.metric("deeper", model="ndr"), results.metric("deeper", model="relative")
    )
    evidence = {
        f"NDR minus + rel on deeper expressions (bound: at least {AHEAD:g})": ahead,
        "deeper expressions": titled(by_model(results, "deeper")),
        "IID": titled(by_model(results, "iid")),
        "runs of + rel that never left chance": stuck(results.where(model="relative")),
    }
    return Judgement(ahead["paired difference"] >= AHEAD, evidence)


def router_computes(results: Results) -> Judgement:
    ahead = paired_difference(
        results.metric("deeper", model="ndr"), results.metric("majority", model="ndr")
    )
    evidence = {
        f"NDR minus the share of the most frequent value (bound: at least {ABOVE_MAJORITY:g})": (
            ahead
        ),
        "deeper expressions": results.metric("deeper", model="ndr"),
        "share of the most frequent value": results.metric("majority", model="ndr"),
    }
    return Judgement(ahead["paired difference"] >= ABOVE_MAJORITY, evidence)


def all_learn(results: Results, bound: float) -> Judgement:
    """All networks reach a bound on expressions as in training."""
    iid = by_model(results, "iid")
    evidence = {
        f"IID (bound: at least {bound:g})": titled(iid),
        "the worst seed": {title(m): results.metric("iid", model=m).min() for m in iid},
        "runs that never left chance": {title(m): stuck(results.where(model=m)) for m in iid},
    }
    return Judgement(min(iid.values()) >= bound, evidence)


def router_generalizes(results: Results, bound: float, metrics: tuple[str, ...]) -> Judgement:
    """NDR reaches a bound on deeper expressions."""
    found = {metric: mean(results, metric, model="ndr") for metric in metrics}
    evidence = {
        f"deeper expressions (bound: at least {bound:g})": found,
        "by seed": {metric: results.metric(metric, model="ndr") for metric in metrics},
        "IID": mean(results, "iid", model="ndr"),
    }
    return Judgement(min(found.values()) >= bound, evidence)


def published(table: str, model: str, iterations: str, metric: str) -> Reference:
    """A number of the paper; `metric` is `iid` or `deeper`."""
    names = {"iid": "IID (depth 1-5) accuracy", "deeper": "test (depth 7-8) accuracy"}
    return paper.published(table, model, f"{iterations} iterations", names[metric])


def beside(table: str, model: str, iterations: str, metric: str, ours: str | None = None) -> Beside:
    """A number of the paper beside ours, of another metric if `ours` says so."""
    return Beside(
        f"{title(model)}, {MEASURES[metric]}, {iterations}",
        published(table, model, iterations, metric),
        lambda results: results.metric(ours or metric, model=model),
    )


def draw_table(results: Results, find: Callable[[str], Reference]):
    """The rows of a table; `find` has the published accuracy on deeper expressions."""
    figure = figures.panels("", x="", y="accuracy")
    models = networks(results)
    for color, (metric, name) in enumerate(MEASURES.items()):
        values = [results.metric(metric, model=model) for model in models]
        figures.add_points(figure, list(map(title, models)), values, name, color=color, line=False)
    if found := numbers_of(models, find):
        figures.add_reference(figure, list(found), list(found.values()), "paper, deeper")
    figures.add_level(figure, results.metric("majority").mean(), "the most frequent value")
    return figure


def draw_by_depth(results: Results):
    figure = figures.panels("", x="depth", y="accuracy")
    for color, model in enumerate(networks(results)):
        depths, accuracy = results.curve("by_depth", model=model)
        figures.add_points(figure, depths, list(accuracy.T), title(model), color=color)
    _, trained = results.values("depths")[0]
    figures.add_level(figure, trained + 0.5, "deeper than trained", axis="x")
    return figure


def draw_learning(results: Results):
    figure = figures.panels(*MEASURES.values(), x="steps", y="accuracy", columns=2, shared_y=True)
    for panel, metric in enumerate(MEASURES):
        for color, model in enumerate(networks(results)):
            steps, accuracy = results.curve(metric, model=model)
            figures.add_seeds(figure, steps, accuracy, title(model), color=color, panel=panel)
    return figure


def table_figures(table: str, find: Callable[[str], Reference]) -> tuple[Figure, ...]:
    """The figures that both studies have."""
    return (
        Figure(
            "table",
            "Accuracy of every network",
            f"{table}: all seeds, their mean and its 95 % interval. The paper's numbers are of a "
            "larger task.",
            lambda results: draw_table(results, find),
        ),
        Figure(
            "by-depth",
            "Accuracy by depth",
            "Accuracy of the chosen networks on expressions that were not in training.",
            draw_by_depth,
        ),
        Figure(
            "learning",
            "Accuracy during training",
            "All seeds and their mean.",
            draw_learning,
        ),
    )
