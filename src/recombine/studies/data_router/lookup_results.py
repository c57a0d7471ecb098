"""What studies of table lookup read from their results, and the paper's settings and numbers."""

from collections.abc import Iterable
from typing import Any

from recombine.lab import Judgement, Reference, Results, figures, reference

from .lookup_trial import DIRECTIONS
from .networks import LEARNING_AS_PUBLISHED

ALMOST_ALL = 0.95
"""Accuracy from which on a network generalizes, or has learned what it was trained on."""
HALF = 0.5
"""Accuracy that networks without the right biases stay below."""

AS_PUBLISHED: dict[str, Any] = LEARNING_AS_PUBLISHED | {
    "published": True, "symbols": 8, "functions": 9, "valid_lengths": (6, 8),
    "longer_lengths": (9, 10), "every": 1000, "clip": 5.0,
}  # fmt: skip
"""The task and its sets: Sections 5.2.1 and D.3.2."""
RECURRENT_SETTINGS: dict[str, Any] = {
    "units": 200, "dropout": 0.5, "learning_rate": 1e-3, "weight_decay": 0.0, "batch": 256,
    "steps": 20_000, "buckets": 1,
}  # fmt: skip
UNGATED_SETTINGS: dict[str, Any] = {
    "size": 128, "hidden": 256, "heads": 4, "layers": 11, "dropout": 0.1, "attention_dropout": 0.0,
    "learning_rate": 1.5e-4, "weight_decay": 0.0025, "batch": 512, "steps": 30_000, "buckets": 1,
}  # fmt: skip
GATED_SETTINGS: dict[str, Any] = {
    "size": 256, "hidden": 1024, "heads": 1, "layers": 14, "dropout": 0.5, "gate_dropout": 0.0,
    "learning_rate": 2e-4, "batch": 512, "steps": 30_000, "buckets": 1,
}  # fmt: skip
ROUTER_SETTINGS = GATED_SETTINGS | {
    "hidden": 512, "gate_dropout": 0.1, "learning_rate": 1.5e-4, "buckets": 5,
}  # fmt: skip
TABLE_D3: dict[str, dict[str, Any]] = {
    "LSTM": RECURRENT_SETTINGS,
    "Bidirectional LSTM": RECURRENT_SETTINGS,
    "DNC": RECURRENT_SETTINGS | {"cells": 21, "word": 200, "read_heads": 4},
    "Transformer": UNGATED_SETTINGS,
    "+ rel": UNGATED_SETTINGS,
    "+ rel + gate": GATED_SETTINGS,
    "+ abs/rel + gate": GATED_SETTINGS,
    "+ geom.": UNGATED_SETTINGS,
    "NDR": ROUTER_SETTINGS,
}
"""The paper's settings of every network; a batch of NDR has sequences of one length."""
ADAMW_ALONE: dict[str, Any] = {"matrix_rate": None}
UNGATED_ON_LAPTOP: dict[str, Any] = {"learning_rate": 1e-3, "matrix_rate": 2e-3, "heads": 4}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "LSTM": ADAMW_ALONE,
    "Bidirectional LSTM": ADAMW_ALONE,
    "DNC": ADAMW_ALONE,
    "Transformer": UNGATED_ON_LAPTOP,
    "+ rel": UNGATED_ON_LAPTOP,
    "+ geom.": UNGATED_ON_LAPTOP,
}
"""Settings of preset laptop, where they are not those of NDR. With its rates, transformers without
gates never leave chance."""
STEPS: dict[str, tuple[int, int]] = {
    "NDR": (1500, 5000),
    "+ abs/rel + gate": (5000, 5000),
}
FEW_STEPS = 1500, 2500
"""Updates of preset laptop, of these networks and of all others: where the result is next to the
column that is read, which most learn faster, and where it is not."""
MEASURES = {"iid": "IID", "longer": "longer inputs"}
"""What is told of every network, and in which words."""
SMOKE: dict[str, Any] = {
    "size": 8, "hidden": 8, "heads": 2, "layers": 2, "units": 8, "batch": 8, "steps": 4, "every": 2,
    "warm_up": 1, "evaluated": 20, "buckets": 1,
}  # fmt: skip


def mean(results: Results, metric: str, **fields: Any) -> float:
    """A metric's mean over seeds."""
    return float(results.metric(metric, **fields).mean())


def stuck(results: Results) -> int:
    """How many of the runs never did better than guessing, on inputs like those of training."""
    return int((results.metric("left_chance") == 0).sum())


def both_ways(results: Results, model: str, metric: str = "longer") -> dict[str, float]:
    """A metric's mean over seeds of each direction."""
    return {d: mean(results, metric, model=model, direction=d) for d in DIRECTIONS}


def at_least(results: Results, model: str, bound: float) -> Judgement:
    """Accuracy on longer inputs reaches a bound in both directions."""
    longer = both_ways(results, model)
    evidence = {
        f"longer inputs (bound: at least {bound:g})": longer,
        "the worst seed": {
            d: results.metric("longer", model=model, direction=d).min() for d in DIRECTIONS
        },
        "IID": both_ways(results, model, "iid"),
    }
    return Judgement(min(longer.values()) >= bound, evidence)


def at_most(results: Results, models: tuple[str, ...], bound: float) -> Judgement:
    """Accuracy on longer inputs stays at or below a bound, in both directions."""
    longer = {model: both_ways(results, model) for model in models}
    evidence = {
        f"longer inputs (bound: at most {bound:g})": longer,
        "IID": {model: both_ways(results, model, "iid") for model in models},
        "runs that never left chance": {m: stuck(results.where(model=m)) for m in models},
    }
    highest = max(value for by_direction in longer.values() for value in by_direction.values())
    return Judgement(highest <= bound, evidence)


def forward_only(results: Results, model: str) -> Judgement:
    """Longer inputs are right forward, and less than half of them backward."""
    longer = both_ways(results, model)
    evidence = {
        f"longer inputs (bounds: at least {ALMOST_ALL:g} forward, below {HALF:g} backward)": longer,
        "IID": both_ways(results, model, "iid"),
    }
    return Judgement(longer["forward"] >= ALMOST_ALL and longer["backward"] < HALF, evidence)


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset laptop: rates of its network, and updates."""
    model = condition.get("model", "NDR")
    near = (condition["direction"] == "forward") == (condition.get("readout", "last") == "last")
    return ON_LAPTOP.get(model, {}) | {"steps": STEPS.get(model, FEW_STEPS)[0 if near else 1]}


def longest_first(conditions: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Conditions by the updates that they take at preset laptop: at the end no core waits."""
    return tuple(sorted(conditions, key=lambda condition: -on_laptop(condition)["steps"]))


def as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: the settings of its network."""
    return TABLE_D3[condition["model"]]


def published(artifact: str, model: str, setting: str, metric: str) -> Reference:
    """A number of the paper; `metric` is `iid` or `longer`."""
    names = {"iid": "IID accuracy", "longer": "longer (9-10) test accuracy"}
    return reference(
        "data-router", artifact=artifact, model=model, setting=setting, metric=names[metric]
    )


def present(results: Results, field: str, order: tuple) -> list:
    """The values of a field that the results have, in a given order."""
    found = results.values(field)
    return [value for value in order if value in found]


def chance_of(results: Results) -> float:
    """The accuracy of guessing."""
    return 1 / results.values("symbols")[0]


def draw_by_length(results: Results, field: str, order: tuple):
    """Accuracy by the number of functions: a panel a direction, a line a value of `field`."""
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="functions", y="accuracy", shared_y=True)
    for panel, direction in enumerate(directions):
        runs = results.where(direction=direction)
        for value in present(runs, field, order):
            lengths, accuracy = runs.curve("by_length", **{field: value})
            figures.add_points(
                figure, lengths, list(accuracy.T), str(value), color=order.index(value), panel=panel
            )
        _mark(figure, results, panel)
    return figure


def draw_learning(results: Results, field: str, order: tuple):
    """Accuracy during training: IID above, longer inputs below."""
    directions = present(results, "direction", DIRECTIONS)
    titles = [f"{name}, {d}" for name in MEASURES.values() for d in directions]
    figure = figures.panels(
        *titles, x="steps", y="accuracy", columns=len(directions), shared_y=True
    )
    for row, name in enumerate(MEASURES):
        for column, direction in enumerate(directions):
            runs = results.where(direction=direction)
            for value in present(runs, field, order):
                # Networks may be trained for different numbers of steps.
                steps, accuracy = runs.curve(name, **{field: value})
                figures.add_seeds(
                    figure, steps, accuracy, str(value), color=order.index(value),
                    panel=row * len(directions) + column,
                )  # fmt: skip
    return figure


def _mark(figure, results: Results, panel: int) -> None:
    figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    longest = results.values("longest")[0]
    figures.add_level(figure, longest + 0.5, "longer than trained", panel=panel, axis="x")
