"""Networks that classify sequences, on new lengths, depths, orders and positions."""

from functools import partial
from typing import Any

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Source,
    Study,
    grid,
    mean,
    paired,
    per_seed,
    reference,
)

from ..data_router.paper import network_of
from ..data_router.paper import published as published_of_router
from . import DOCUMENT
from .sequence_trial import Config, trial
from .suite import draw_learning, draw_suite

MODELS = ("lstm", "relative", "ndr")
TASKS = {
    "length": "length: more functions",
    "order-a": "order A: groups repeat",
    "order-r": "order R: groups alternate",
    "order-s": "order S: stages combined anew",
    "position": "position: further back",
    "depth": "depth: deeper lists",
}
ENCODER: dict[str, Any] = {
    "model.width": 64, "model.hidden": 128, "model.heads": 4, "model.layers": 8,
    "model.dropout": 0.1,
}  # fmt: skip
UNGATED = ENCODER | {"learning_rate": 1e-3, "muon_rate": 2e-3}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "lstm": {"model.units": 128, "model.embedding": 32, "model.dropout": 0.1},
    "relative": UNGATED,
    "ndr": ENCODER | {
        "model.attention.bias": -2.0, "model.attention.dropout": 0.1,
        "model.block.gate_dropout": 0.1, "learning_rate": 3e-3, "muon_rate": 7e-3,
    },
}  # fmt: skip
"""Sizes and rates of the networks that come with the package; a user's own has its own sizes, and
the rates of the config."""
SMOKE: dict[str, Any] = {
    "steps": 10, "batch_size": 8, "task.train": 60, "task.tested": 20, "model.units": 8,
    "model.embedding": 4,
}  # fmt: skip


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes and rates of a condition's network."""
    return ON_LAPTOP.get(network_of(condition) or "", {})


def beside_length(model: str, metric: str) -> Beside:
    names = {"familiar": "iid", "new": "longer"}
    metrics = {"iid": "IID accuracy", "longer": "longer (9-10) test accuracy"}
    paper = published_of_router("table-5.1", model, "forward", metrics[names[metric]])
    return Beside(
        f"length, {metric}, {model}", paper, lambda r: r.metric(metric, model=model, task="length")
    )


def beside_order(variant: str, metric: str) -> Beside:
    setting = {
        "familiar": "IID test (1000 examples, training sampling graph)",
        "new": "OOD test (1000 examples, held-out compositional pattern)",
    }[metric]
    paper = reference(
        "ctlpp", artifact="table-6.1", task=f"CTL++ {variant}", model="NDR", setting=setting
    )
    task = f"order-{variant.lower()}"
    return Beside(
        f"order {variant}, {metric}, ndr", paper, lambda r: r.metric(metric, model="ndr", task=task)
    )


study = Study(
    name="compare/sequences",
    title="Sequence classifiers on what is new: length, depth, order, position",
    source=Source(DOCUMENT, "Tables 5.1, 5.4 and 6.1, in small; suite of this package"),
    question="On which kinds of new combinations does a network that classifies sequences do as "
    "well as on familiar ones?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(task=("length", "position"), model=("lstm",)),
            settings=SMOKE,
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            depends=on_laptop,
            cost="about 20 min on two cores, estimated from a part of the trials",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            settings={"steps": 30_000, "batch_size": 512, "task.train": 300_000},
            cost="hours on an accelerator",
        ),
    },
    claims=(
        Claim(
            "the-router-applies-more-functions",
            "On longer inputs NDR is ahead of the transformer with relative positions by at least "
            "{0:points}.",
            "Table 5.1",
            paired("new", "ndr", "relative", task="length") >= 0.4,
            context={"familiar, NDR": per_seed("familiar", model="ndr", task="length")},
        ),
        Claim(
            "orders-of-groups-are-not-learned",
            "On variant A, accuracy of NDR on new orders of groups is at least {0:points} below "
            "that on familiar ones.",
            "Table 6.1",
            mean(
                per_seed("familiar", model="ndr", task="order-a")
                - per_seed("new", model="ndr", task="order-a")
            )
            >= 0.3,
        ),
    ),
    figures=(
        Figure(
            "suite",
            "Familiar and new items",
            "All seeds, means and 95 % intervals over seeds, by network and task.",
            partial(draw_suite, tasks=TASKS, models=MODELS),
        ),
        Figure(
            "learning",
            "New items during training",
            "Means over seeds, with bands of one standard deviation on either side.",
            partial(draw_learning, tasks=TASKS, models=MODELS),
        ),
    ),
    beside=(
        *(beside_length(model, metric) for model in MODELS for metric in ("familiar", "new")),
        *(beside_order(variant, metric) for variant in "AR" for metric in ("familiar", "new")),
    ),
    notes="A suite to hold a network of one's own against others (`recombine compare`), not a "
    "study of the paper: all networks have the same items, batches and number of updates, and "
    "small sizes. The paper's numbers, of larger tasks and many more updates, stand beside ours "
    "for orientation. Inputs are written forward, so that the column that is read stands beside "
    "the last function. Networks of the package have the learning rates of "
    "data-router/table-lookup.",
)
