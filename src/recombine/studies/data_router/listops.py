"""Table 5.4 and Figures 5.4, D.8 to D.10: nested lists, and the order in which columns work."""

from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Reference,
    Results,
    Source,
    Study,
    all_of,
    figures,
    for_all,
    grid,
    mean,
    paired,
    per_seed,
)

from . import DOCUMENT
from .expression_results import (
    BI_LSTM_AS_PUBLISHED,
    LAPTOP_MODELS,
    SMOKE,
    all_learn,
    beside,
    on_laptop,
    published,
    router_ahead,
    router_computes,
    table_figures,
)
from .expression_trial import MODELS
from .listops_trial import Config, trial
from .networks import LEARNING_AS_PUBLISHED
from .paper import network_of, networks, title

GATED = ("position-gate", "ndr")
"""The networks of the paper that have copy gates."""
EXAMPLE = "[SM [MED [MIN 1 7 4 [MAX 2 4 0 8 9 ] ] 7 ] 5 [MED 8 5 8 ] 0 7 ]"
"""The list of Figures 5.4 and D.8 to D.10."""


def opening_by_height(results: Results, model: str) -> dict[int, np.ndarray]:
    """The mean step at which operators of a height open, of every seed that has such operators."""
    heights, steps = results.curve("opening_by_height", model=model)
    return {int(h): of[np.isfinite(of)] for h, of in zip(heights, steps.T, strict=True)}


def draw_opening(results: Results):
    figure = figures.panels("", x="height of an operator's list", y="step at which it opens")
    for color, model in enumerate(networks(results)):
        # Networks without gates report no order.
        if "opening_order" in results.where(model=model).records[0].metrics:
            steps = opening_by_height(results, model)
            figures.add_points(figure, list(steps), list(steps.values()), title(model), color=color)
    return figure


def draw_trace(results: Results):
    runs = results.where(model="ndr")
    words = [str(word) for word in runs.array("words")[0]]
    attention, gates = runs.array("attention")[0], runs.array("gates")[0]
    return figures.routing_trace(words, attention, gates, heads=True)


FIRST_COLUMN: dict[str, Any] = {"model.reads": "first"}
RECURRENT_SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3, "weight_decay": 0.08, "steps": 200_000, "model.units": 512,
    "model.embedding": 512, "model.layers": 4, "model.dropout": 0.1,
}  # fmt: skip
UNGATED_SETTINGS: dict[str, Any] = FIRST_COLUMN | {
    "learning_rate": 4e-4, "weight_decay": 0.05, "steps": 200_000, "model.width": 256,
    "model.hidden": 1024, "model.heads": 16, "model.layers": 6, "model.dropout": 0.015,
    "model.attention.dropout": 0.05,
}  # fmt: skip
GATED_SETTINGS: dict[str, Any] = FIRST_COLUMN | {
    "learning_rate": 2e-4, "weight_decay": 0.09, "steps": 100_000, "model.width": 512,
    "model.hidden": 2048, "model.heads": 16, "model.layers": 20, "model.dropout": 0.1,
    "model.attention.dropout": 0.1, "model.block.gate_dropout": 0.05,
}  # fmt: skip
TABLE_D5: dict[str, dict[str, Any]] = {
    "lstm": RECURRENT_SETTINGS,
    "bi-lstm": RECURRENT_SETTINGS | BI_LSTM_AS_PUBLISHED,
    "transformer": UNGATED_SETTINGS | {"model.attention.dropout": 0.0},
    "relative": UNGATED_SETTINGS,
    "position-gate": GATED_SETTINGS,
    "ndr": GATED_SETTINGS | {"model.hidden": 1024, "model.test_layers": 24},
}
"""The paper's settings of every network."""
AS_PUBLISHED: dict[str, Any] = LEARNING_AS_PUBLISHED | {
    "operators": ("MIN", "MAX", "MED", "SM"), "digits": 10, "most_arguments": 5, "longest": 50,
    "depths": (1, 5), "valid_depths": (6, 6), "deeper_depths": (7, 8), "train": 1_000_000,
    "buckets": 10, "batch_size": 512, "every": 1000, "shown": EXAMPLE,
}  # fmt: skip
"""The task and its sets, Sections 5.2.3 and D.3.2, and what all networks have in common."""
ITERATIONS: dict[str, str] = {model: "100k" if model in GATED else "200k" for model in MODELS}
ENCODER_ON_LISTS: dict[str, Any] = FIRST_COLUMN | {"model.layers": 12}
ON_LISTS: dict[str, dict[str, Any]] = {
    "ndr": ENCODER_ON_LISTS | {"model.test_layers": 14},
    "position-gate": ENCODER_ON_LISTS,
    "relative": ENCODER_ON_LISTS,
    "transformer": ENCODER_ON_LISTS,
}
"""What networks of preset laptop have on lists alone. In the paper, too, NDR is deeper in tests by
a fifth of its layers."""


def lists_on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset laptop: sizes and rates of its network."""
    return on_laptop(condition) | ON_LISTS.get(network_of(condition) or "", {})


def as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: the settings of its network."""
    return TABLE_D5.get(network_of(condition) or "", {})


def in_table(model: str) -> Reference:
    """The published accuracy on deeper lists."""
    return published("table-5.4", model, ITERATIONS[model], "deeper")


study = Study(
    name="data-router/listops",
    title="The neural data router works through deeper lists, from the innermost outwards",
    source=Source(DOCUMENT, "Table 5.4, Figures 5.4 and D.8 to D.10"),
    question="Which networks evaluate lists that depend on one another more deeply than in "
    "training, and do their columns open from the innermost list outwards?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=("ndr",)),
            settings=SMOKE | FIRST_COLUMN,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(model=LAPTOP_MODELS),
            depends=lists_on_laptop,
            cost="111 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(model=MODELS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="days on an accelerator",
        ),
    },
    claims=(
        router_ahead("deeper lists", "Table 5.4"),
        router_computes("deeper lists", "Table 5.4"),
        Claim(
            "router-generalizes",
            "NDR is right on at least {0:%} of deeper lists.",
            "Table 5.4",
            mean("deeper", model="ndr") >= 0.97,
        ),
        Claim(
            "gates-in-rank",
            "On deeper lists NDR is best, and gates with absolute and relative positions are "
            "better than networks without gates.",
            "Table 5.4",
            all_of(
                paired("deeper", "ndr", "position-gate") > 0,
                for_all(
                    "model",
                    lambda m: paired("deeper", "position-gate", m) > 0,
                    among=MODELS,
                    but=GATED,
                ),
            ),
        ),
        all_learn("lists", "Table 5.4", 0.97),
        Claim(
            "innermost-first",
            "In NDR, operators open from the innermost list outwards: Spearman's correlation of "
            "the step at which they open and the height of their list is at least {0}.",
            "Figures 5.4 and D.8 to D.10",
            mean("opening_order", model="ndr") >= 0.8,
            context={
                "share of lists without an order": per_seed("undefined_order", model="ndr"),
                "steps per operation": per_seed("steps_per_operation", model="ndr"),
            },
        ),
    ),
    figures=(
        *table_figures("Table 5.4", in_table),
        Figure(
            "opening",
            "When operators open",
            "All seeds, their mean and its 95 % interval, on deeper lists.",
            draw_opening,
        ),
        Figure(
            "trace",
            "NDR at work",
            "Figures 5.4 and D.8 to D.10: attention and gates of the first seed's network on one "
            "list, step by step.",
            draw_trace,
        ),
    ),
    beside=tuple(
        beside("table-5.4", model, ITERATIONS[model], metric)
        for model in MODELS
        for metric in ("iid", "deeper")
    ),
    notes="The task of preset laptop is smaller than the paper's: minimum, maximum and sum of 2 or "
    "3 arguments, digits 0 to 4, depths 1 to 3 in training, 4 to choose on, 4 and 5 to test. It "
    "cannot show the paper's 99 %. The rows LSTM and Transformer are in preset paper only. Deep "
    "lists are built level by level: the published sampler would draw ten thousand for one.",
)
