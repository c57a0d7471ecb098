"""What studies of table lookup read from their results, and the paper's settings and numbers."""

from collections.abc import Iterable, Iterator
from typing import Any

from recombine.lab import Quantity, Reference, Results, Statement, all_of, figures, mean, per_seed
from recombine.lab.vocabulary import Mean

from . import paper
from .lookup_trial import DIRECTIONS
from .networks import LEARNING_AS_PUBLISHED
from .paper import network_of, networks, title

ALMOST_ALL = 0.95
"""Accuracy from which on a network generalizes, or has learned what it was trained on."""
HALF = 0.5
"""Accuracy that networks without the right biases stay below."""

AS_PUBLISHED: dict[str, Any] = LEARNING_AS_PUBLISHED | {
    "published": True, "symbols": 8, "functions": 9, "valid_lengths": (6, 8),
    "longer_lengths": (9, 10), "every": 1000, "clip": 5.0, "ponder_padding": True,
}  # fmt: skip
"""The task and its sets: Sections 5.2.1 and D.3.2."""
RECURRENT_SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3, "weight_decay": 0.0, "batch_size": 256, "steps": 20_000, "buckets": 1,
}  # fmt: skip
UNGATED_SETTINGS: dict[str, Any] = {
    "learning_rate": 1.5e-4, "weight_decay": 0.0025, "batch_size": 512, "steps": 30_000,
    "buckets": 1,
}  # fmt: skip
GATED_SETTINGS: dict[str, Any] = {
    "learning_rate": 2e-4, "batch_size": 512, "steps": 30_000, "buckets": 1,
}  # fmt: skip
TABLE_D3: dict[str, dict[str, Any]] = {
    "lstm": RECURRENT_SETTINGS,
    "bi-lstm": RECURRENT_SETTINGS | {"model.end_token": True},
    "dnc": RECURRENT_SETTINGS | {"model.output_layer": True},
    "transformer": UNGATED_SETTINGS,
    "relative": UNGATED_SETTINGS,
    "relative-gate": GATED_SETTINGS,
    "position-gate": GATED_SETTINGS,
    "geometric": UNGATED_SETTINGS,
    "ndr": GATED_SETTINGS | {"learning_rate": 1.5e-4, "buckets": 5},
}
"""The paper's settings of every network; its sizes are the defaults of the specs, and what the
published code adds is switched on. A batch of NDR has sequences of one length."""
RECURRENT_ON_LAPTOP: dict[str, Any] = {
    "muon_rate": None, "model.units": 64, "model.embedding": 16, "model.dropout": 0.1,
}  # fmt: skip
GATED_ON_LAPTOP: dict[str, Any] = {
    "model.width": 128, "model.hidden": 256, "model.heads": 8, "model.layers": 10,
    "model.dropout": 0.1, "model.attention.dropout": 0.1, "model.block.gate_dropout": 0.1,
}  # fmt: skip
UNGATED_ON_LAPTOP: dict[str, Any] = {
    "learning_rate": 1e-3, "muon_rate": 2e-3, "model.width": 128, "model.hidden": 256,
    "model.heads": 4, "model.layers": 10, "model.dropout": 0.1, "model.attention.dropout": 0.1,
}  # fmt: skip
MATCH_BIAS: dict[str, Any] = {"model.attention.bias": -2.0}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "lstm": RECURRENT_ON_LAPTOP,
    "bi-lstm": RECURRENT_ON_LAPTOP,
    "dnc": RECURRENT_ON_LAPTOP | {"model.cells": 12, "model.word": 32},
    "transformer": UNGATED_ON_LAPTOP,
    "relative": UNGATED_ON_LAPTOP,
    "relative-gate": GATED_ON_LAPTOP,
    "position-gate": GATED_ON_LAPTOP,
    "geometric": UNGATED_ON_LAPTOP | MATCH_BIAS,
    "ndr": GATED_ON_LAPTOP | MATCH_BIAS,
}
"""Settings of every network at preset laptop. With the rates of NDR, transformers without gates
never leave chance."""
STEPS: dict[str, tuple[int, int]] = {
    "ndr": (1500, 5000),
    "position-gate": (5000, 5000),
}
FEW_STEPS = 1500, 2500
"""Updates of preset laptop, of these networks and of all others: where the result is next to the
column that is read, which most learn faster, and where it is not."""
MEASURES = {"iid": "IID", "longer": "longer inputs"}
"""What is told of every network, and in which words."""
SMOKE: dict[str, Any] = {
    "batch_size": 8, "steps": 4, "every": 2, "warmup_steps": 1, "evaluated": 20, "buckets": 1,
}  # fmt: skip
SMALL_ENCODER: dict[str, Any] = {
    "model.width": 8, "model.hidden": 8, "model.heads": 2, "model.layers": 2,
}  # fmt: skip
SMALL_LSTM: dict[str, Any] = {"model.units": 8}
"""Settings of preset smoke."""


def both_ways(model: str, metric: str = "longer") -> Iterator[Mean]:
    """A metric's mean over seeds, in each direction."""
    return (mean(metric, model=model, direction=direction) for direction in DIRECTIONS)


def generalizes(model: str) -> Statement:
    """Accuracy on longer inputs is almost all in both directions."""
    return all_of(one >= ALMOST_ALL for one in both_ways(model))


def stays_low(*models: str) -> Statement:
    """Accuracy on longer inputs is at most a half in both directions."""
    return all_of(one <= HALF for model in models for one in both_ways(model))


def needs_forward(model: str) -> Statement:
    """Longer inputs are right forward, and less than half of them backward."""
    forward, backward = both_ways(model)
    return all_of(forward >= ALMOST_ALL, backward < HALF)


def learned(*models: str) -> dict[str, Quantity]:
    """What helps to read a claim on longer inputs: whether a network has learned its training."""
    return {
        f"{what} of {title(model)}": quantity
        for model in models
        for what, quantity in {
            "IID": per_seed("iid", model=model),
            "share of runs that left chance": per_seed("left_chance", model=model),
        }.items()
    }


def sizes_on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes and rates of a condition's network at preset laptop; a user's has its own."""
    return ON_LAPTOP.get(network_of(condition) or "", {})


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset laptop: sizes and rates of its network, updates."""
    steps = STEPS.get(network_of(condition) or "", FEW_STEPS)
    reads = condition.get("model.reads", getattr(condition["model"], "reads", "last"))
    near = (condition["direction"] == "forward") == (reads == "last")
    return sizes_on_laptop(condition) | {"steps": steps[0 if near else 1]}


def longest_first(conditions: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Conditions by the updates that they take at preset laptop: at the end no core waits."""
    return tuple(sorted(conditions, key=lambda condition: -on_laptop(condition)["steps"]))


def as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: the settings of its network."""
    return TABLE_D3.get(network_of(condition) or "", {})


def published(artifact: str, model: str, setting: str, metric: str) -> Reference:
    """A number of the paper; `metric` is `iid` or `longer`."""
    names = {"iid": "IID accuracy", "longer": "longer (9-10) test accuracy"}
    return paper.published(artifact, model, setting, names[metric])


def present(results: Results, field: str, order: tuple) -> list:
    """The values of a field that the results have, in a given order."""
    found = results.values(field)
    return [value for value in order if value in found]


def chance_of(results: Results) -> float:
    """The accuracy of guessing."""
    return 1 / results.values("symbols")[0]


def draw_by_length(results: Results, field: str):
    """Accuracy by the number of functions: one panel per direction, one line per value of
    `field`."""
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="functions", y="accuracy", shared_y=True)
    for panel, direction in enumerate(directions):
        for color, name, runs in _lines(results, field, direction):
            lengths, accuracy = runs.curve("by_length")
            figures.add_points(figure, lengths, list(accuracy.T), name, color=color, panel=panel)
        _mark(figure, results, panel)
    return figure


def draw_learning(results: Results, field: str):
    """Accuracy during training: IID above, longer inputs below."""
    directions = present(results, "direction", DIRECTIONS)
    titles = [f"{name}, {d}" for name in MEASURES.values() for d in directions]
    figure = figures.panels(
        *titles, x="steps", y="accuracy", columns=len(directions), shared_y=True
    )
    places = [(metric, direction) for metric in MEASURES for direction in directions]
    for panel, (metric, direction) in enumerate(places):
        for color, name, runs in _lines(results, field, direction):
            # Networks may be trained for different numbers of steps.
            figures.add_seeds(figure, *runs.curve(metric), name, color=color, panel=panel)
    return figure


def _lines(results: Results, field: str, direction: str) -> Iterator[tuple[int, str, Results]]:
    """Color, name and runs of every value of a field that there is in a direction."""
    runs = results.where(direction=direction)
    values = networks(results) if field == "model" else results.values(field)[::-1]
    for color, value in enumerate(values):
        if value in runs.values(field):
            yield color, title(str(value)), runs.where(**{field: value})


def _mark(figure, results: Results, panel: int) -> None:
    figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    longest = results.values("longest")[0]
    figures.add_level(figure, longest + 0.5, "longer than trained", panel=panel, axis="x")
