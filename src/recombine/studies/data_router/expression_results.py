"""What the studies of nested expressions read from their results, and how they show it."""

from collections.abc import Callable
from typing import Any

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Reference,
    Results,
    figures,
    for_all,
    mean,
    paired,
    per_seed,
)

from . import paper
from .expression_trial import MODELS
from .lookup_results import learned
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
MEASURES = {"iid": "IID", "deeper": "deeper expressions"}
SMOKE: dict[str, Any] = {
    "batch_size": 4, "steps": 2, "every": 1, "warmup_steps": 1, "evaluated": 20, "train": 40,
    "buckets": 1, "model.width": 4, "model.hidden": 4, "model.heads": 1, "model.layers": 2,
}  # fmt: skip


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset laptop: sizes and rates of its network."""
    return ON_LAPTOP.get(network_of(condition) or "", {})


def router_ahead(things: str, where: str) -> Claim:
    """NDR is ahead of the transformer with relative positions."""
    return Claim(
        "router-ahead",
        "NDR is ahead of the transformer with relative positions by at least {0:points} on "
        f"{things}.",
        where,
        paired("deeper", "ndr", "relative") >= 0.1,
        context=learned("relative"),
    )


def router_computes(things: str, where: str) -> Claim:
    """NDR is better than always saying the most frequent value."""
    return Claim(
        "router-computes",
        f"On {things} NDR is right at least {{0:points}} more often than the most frequent value "
        "is.",
        where,
        mean(per_seed("deeper") - per_seed("majority"), model="ndr") >= 0.3,
    )


def all_learn(things: str, where: str, share: float) -> Claim:
    """All networks are right on what they were trained on."""
    return Claim(
        "all-learn",
        f"All networks are right on at least {{0:%}} of {things} as deep as in training.",
        where,
        for_all("model", lambda model: mean("iid", model=model) >= share, among=MODELS),
    )


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
