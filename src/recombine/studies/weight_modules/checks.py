"""Checks of the method: are masks stable and sharp, and does masking leave a computation alone?"""

from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    mean,
    per_seed,
    reference,
)

from . import DOCUMENT
from .checks_trial import BINS, Config, trial
from .number_training import needed

CONDITIONS = (
    {"task": "double-addition", "model": "fnn"},
    {"task": "add-multiply", "model": "fnn"},
    {"task": "double-addition", "model": "number-lstm"},
)
NETWORKS = ("FNN, two sums", "FNN, + and ×", "LSTM, two sums")
STABLE, SMALL_DROP, UNDECIDED, LEFT = 0.9, 0.1, 0.1, 0.95


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """One digit, and the networks and prices of the other studies."""
    if condition["model"].name == "number-lstm":
        return {"model.units": 64, "model.layers": 1, "beta": 1e-3, "early": 1}
    plain = condition["task"].name == "double-addition"
    return {"model.hidden": (128, 128, 128), "beta": 4e-3 if plain else 1e-3}


def published(condition: dict[str, Any]) -> dict[str, Any]:
    """The prices of the thesis, and the layers that it calls early."""
    if condition["model"].name == "number-lstm":
        return {"beta": 1e-4, "early": 2}
    plain = condition["task"].name == "double-addition"
    return {"beta": 4e-4, "early": 2} if plain else {"beta": 1e-4, "early": 3}


def networks_in(results: Results) -> dict[str, Results]:
    """The networks that have been run, by title."""
    ran = {(r.config["task"]["spec"], r.config["model"]["spec"]) for r in results.records}
    return {
        title: results.where(**condition)
        for title, condition in zip(NETWORKS, CONDITIONS, strict=True)
        if (condition["task"], condition["model"]) in ran
    }


def draw_stability(results: Results):
    networks = networks_in(results)
    figure = figures.panels("", x="", y="intersection over union")
    titles = {"stability": "the same target twice", "different": "different targets"}
    for color, (metric, title) in enumerate(titles.items()):
        values = [runs.metric(metric) for runs in networks.values()]
        figures.add_points(figure, list(networks), values, title, color=color, line=False)
    return figure


def draw_halves(results: Results):
    """Figure B.1."""
    networks = networks_in(results)
    figure = figures.panels("", x="", y="drop of accuracy")
    for color, half in enumerate(("early", "late")):
        values = [runs.metric(f"{half}_drop") for runs in networks.values()]
        title = f"{half} layers masked"
        figures.add_points(figure, list(networks), values, title, color=color, line=False)
    return figure


def draw_histogram(results: Results):
    """Figure B.3."""
    networks = networks_in(results)
    figure = figures.panels(
        *networks, x="probability of being kept", y="share of weights", shared_y=True, log_y=True
    )
    places = (np.arange(BINS) + 0.5) / BINS
    for panel, runs in enumerate(networks.values()):
        counts = runs.array("histogram")
        shares = np.maximum(counts / counts.sum(axis=1, keepdims=True), 1e-6)
        figures.add_seeds(figure, places, shares, "masks", panel=panel)
    return figure


def draw_prices(results: Results):
    networks = networks_in(results)
    figure = figures.panels(
        *networks, x="price relative to the chosen one", y="share", log_x=True, shared_y=True
    )
    titles = {"left_by_price": "accuracy left", "kept_by_price": "weights kept"}
    for panel, runs in enumerate(networks.values()):
        for color, (curve, title) in enumerate(titles.items()):
            factors, shares = runs.curve(curve)
            figures.add_points(
                figure, factors, list(shares.T), title, color=color, panel=panel
            )  # fmt: skip
    return figure


study = Study(
    name="weight-modules/checks",
    title="Masks are stable and sharp, and half of a mask does little harm",
    source=Source(DOCUMENT, "Sections 3.1 and B.1, Figures B.1 and B.3"),
    question="Does learning a mask again give the same mask, does masking leave the computation of "
    "a network as it is, and how much does the price of a weight matter?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=CONDITIONS[:1],
            settings={
                "task.digits": 1,
                "model.hidden": (4, 4),
                "batch_size": 8,
                "steps": 2,
                "every": 1,
                "evaluated": 20,
                "mask_steps": 4,
                "mask_rate": 1.0,
            },
            cost="4 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=CONDITIONS,
            settings={
                "task.digits": 1,
                "steps": 1500,
                "mask_steps": 1500,
                "mask_rate": 0.03,
                "evaluated": 4000,
            },
            depends=on_laptop,
            cost="not measured",
        ),
        "paper": Preset(
            seeds=10, conditions=CONDITIONS, depends=published, cost="days on two cores"
        ),
    },
    claims=(
        Claim(
            "masks-are-stable",
            "Two masks of one target have an intersection over union of at least {0:%}.",
            "Section B.1.2",
            all_of(mean("stability", **condition) >= STABLE for condition in CONDITIONS),
        ),
        Claim(
            "targets-differ-more",
            "It is at least {0:points} higher than that of masks of different targets.",
            "Section B.1.2",
            all_of(
                mean(per_seed("stability", **c) - per_seed("different", **c)) >= 0.2
                for c in CONDITIONS
            ),
        ),
        Claim(
            "half-masks-do-little-harm",
            "With a mask on the late layers alone, accuracy is lower than with the whole mask by "
            "at most {0:points}.",
            "Figure B.1",
            all_of(mean("late_drop", **condition) <= SMALL_DROP for condition in CONDITIONS),
        ),
        Claim(
            "early-layers-matter-more",
            "With a mask on the early layers alone it drops more than with one on the late layers.",
            "Figure B.1",
            all_of(
                mean(per_seed("early_drop", **c) - per_seed("late_drop", **c)) > 0
                for c in CONDITIONS
            ),
        ),
        Claim(
            "masks-are-sharp",
            "At most {0:%} of weights are kept with a probability between 0.1 and 0.9.",
            "Figure B.3",
            all_of(mean("undecided", **condition) <= UNDECIDED for condition in CONDITIONS),
        ),
        Claim(
            "prices-have-a-plateau",
            "At a third of the price and at three times the price, the mask of the whole task "
            "leaves at least {0:%} of the accuracy.",
            "Figure B.4",
            all_of(
                statement
                for condition in CONDITIONS
                for statement in (
                    mean("left_below", **condition) >= LEFT,
                    mean("left_above", **condition) >= LEFT,
                )
            ),
        ),
        Claim(
            "high-prices-remove-what-is-needed",
            "At a hundred times the price it leaves less than {0:%}.",
            "Figure B.4",
            all_of(mean("left_at_most", **condition) < LEFT for condition in CONDITIONS),
        ),
    ),
    figures=(
        Figure(
            "stability",
            "Masks that are learned twice",
            "Intersection over union of masks of one target with other batches and samples, and of "
            "masks of different targets.",
            draw_stability,
        ),
        Figure(
            "halves",
            "Half of a mask",
            "How much lower accuracy is than with the whole mask, if only early or only late "
            "layers are masked (Figure B.1).",
            draw_halves,
        ),
        Figure(
            "histogram",
            "Probabilities of weights",
            "With which probability weights are kept under the mask of the whole task, in 500 bins "
            "(Figure B.3).",
            draw_histogram,
        ),
        Figure(
            "prices",
            "The price of a weight",
            "What the mask of the whole task leaves of the accuracy and of the weights.",
            draw_prices,
        ),
    ),
    beside=(
        Beside(
            "stability: CNN on pairs of classes, our FNN on two sums",
            reference(
                "weight-modules",
                artifact="text",
                task="CIFAR10 pairs of classes",
                metric="mask IoU [%]",
            ).as_share(),
            lambda results: results.where(**CONDITIONS[0]).metric("stability"),
        ),
    ),
    notes="The thesis measures stability on a convolutional network; here it is measured on the "
    "networks of the other studies, which are shared with them.",
)
