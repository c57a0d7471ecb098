"""Table 3: are images classified in combinations of classes that training never shows?"""

from collections.abc import Callable

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Judgement,
    Preset,
    Results,
    Source,
    Study,
    difference,
    figures,
    grid,
    paired_difference,
    reference,
)

from . import DOCUMENT
from .images import AS_PUBLISHED, SMOKE
from .images_trial import CHANCE, FAMILY, IN_TABLES, METHODS, Config, trial

MARGIN = 2.0
"""Largest cost of new combinations, in points."""


def by_method(results: Results, metric: str = "accuracy") -> dict[str, np.ndarray]:
    """Accuracy in % on held-out or on trained tuples, for every method, one value per seed."""
    return {m: results.metric(metric, method=m) for m in METHODS}


def new_combinations_cost_little(results: Results) -> Judgement:
    held_out, trained = by_method(results), by_method(results, "trained_accuracy")
    drops = {m: paired_difference(trained[m], held_out[m]) for m in METHODS}
    largest = max(d["paired difference"] for d in drops.values())
    evidence = {
        "accuracy on held-out combinations": {m: held_out[m].mean() for m in METHODS},
        "accuracy on trained combinations": {m: trained[m].mean() for m in METHODS},
        f"trained minus held out, in points (bound: up to {MARGIN:g})": drops,
    }
    return Judgement(bool(largest <= MARGIN), evidence)


def ahead(method: str, other: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        accuracy = by_method(results)
        found = paired_difference(accuracy[method], accuracy[other])
        evidence = {"accuracy": {m: accuracy[m].mean() for m in (method, other)}, **found}
        return Judgement(found["95 % interval"][0] > 0, evidence)

    return judge


def draw_accuracy(results: Results):
    figure = figures.panels("", x="method", y="component accuracy (%)")
    for color, (metric, name) in enumerate(
        (("trained_accuracy", "trained combinations"), ("accuracy", "held-out combinations"))
    ):
        accuracy = by_method(results, metric)
        figures.add_points(
            figure, list(METHODS.values()), list(accuracy.values()), name, color=color, line=False
        )
    figures.add_level(figure, CHANCE, "chance")
    return figure


def draw_learning(results: Results):
    figure = figures.panels("", x="training inputs", y="accuracy on held-out combinations (%)")
    for color, (method, name) in enumerate(METHODS.items()):
        seen, accuracy = results.curve("accuracy", method=method)
        figures.add_seeds(figure, seen, accuracy, name, color=color)
    return figure


def published(method: str):
    """The paper's accuracy in Table 3."""
    return reference(FAMILY, artifact="table-3", model=IN_TABLES[method])


def measured(method: str, other: str) -> Callable[[Results], np.ndarray]:
    return lambda results: by_method(results)[method] - by_method(results)[other]


CONDITIONS = grid(method=tuple(METHODS))

study = Study(
    name="modularity-scaling/combinations",
    title="The cost of new combinations of known classes, for one network and for modules",
    source=Source(DOCUMENT, "Table 3"),
    question="Are images classified as well in combinations of classes that no training input had?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=CONDITIONS,
            settings=SMOKE | {"held_out": 0.1},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=CONDITIONS,
            settings={"k": 3, "held_out": 0.1},
            cost="40 s on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=CONDITIONS,
            settings=AS_PUBLISHED | {"k": 6, "held_out": 0.1},
            cost="a day on an accelerator: 300 million weights per network; needs cifar-10",
        ),
    },
    claims=(
        Claim(
            "new-combinations-cost-little",
            "With every method accuracy on held-out combinations is within 2 points of that on "
            "trained combinations, on average over runs.",
            "Table 3",
            new_combinations_cost_little,
            seeds=5,
        ),
        Claim(
            "modular-above-monolithic",
            "On held-out combinations modules with random projections are ahead of one network "
            "(95 % interval of the paired difference above 0).",
            "Table 3",
            ahead("modular", "monolithic"),
            seeds=5,
        ),
        Claim(
            "ours-above-modular",
            "On held-out combinations modules with the projections of the kernel rule are ahead of "
            "those with random ones (95 % interval of the paired difference above 0).",
            "Table 3",
            ahead("kernel", "modular"),
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on trained and on held-out combinations",
            "Table 3, on 8x8 digits with k = 3. Both parts consist of test images.",
            draw_accuracy,
        ),
        Figure(
            "learning",
            "Accuracy on held-out combinations during training",
            "Every input is seen once.",
            draw_learning,
        ),
    ),
    beside=(
        Beside(
            "ours minus modular, in points (CIFAR-10, full size)",
            difference(published("kernel"), published("modular")),
            measured("kernel", "modular"),
        ),
        Beside(
            "modular minus monolithic, in points (CIFAR-10, full size)",
            difference(published("modular"), published("monolithic")),
            measured("modular", "monolithic"),
        ),
    ),
    notes="The paper has k = 6 images of CIFAR-10 and does not say how many combinations are held "
    "out; here k = 3 digits, and about a tenth of the 1,000 ordered triples, different ones in "
    "every run. Test inputs of trained combinations consist of test images too: they differ from "
    "the held-out ones only in the combination. Accuracies are not comparable with the paper's.",
)
