"""Figure 3E, Tables A2 to A8: the number of modules, and how many of them a task mixes."""

from functools import partial

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Quantity,
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
    reference,
    statistic,
)

from ..meta_models import ANIL, HYPERNETWORKS, LINEAR, MODELS, NONLINEAR, TITLES, present, title_of
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SETS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

PAIRS = ((4, 2), (6, 3), (8, 2), (8, 4))
TWO_LAYERS = {"M": 4, "K": 1, "teacher_layers": 3, "model.layers": 3}
TABLES = {(4, 1): "A2", (4, 2): "A3", (4, 4): "A4", (8, 1): "A5", (8, 2): "A6", (8, 4): "A7"}


def pairs(results: Results, model: str = LINEAR) -> list[tuple[int, int]]:
    """The (M, K) of a model."""
    runs = results.where(model=model)
    return sorted({(r.config["M"], r.config["K"]) for r in runs.records})


def lowest_accuracy(results: Results, model: str) -> float:
    """The lowest mean accuracy on held-out combinations over all M and K of 2 or more."""
    found = [(M, K) for M, K in pairs(results, model) if K > 1]
    if not found:
        raise Missing("no trial with K of 2 or more")
    runs = [results.where(model=model, M=M, K=K) for M, K in found]
    return min(float(of_pair.metric("ood_accuracy").mean()) for of_pair in runs)


def above_chance(results: Results) -> np.ndarray:
    """Accuracy on held-out combinations, as a share of what lies between chance and perfection."""
    chance = 1 / results.values("outputs")[0]
    return (results.metric("ood_accuracy") - chance) / (1 - chance)


def lost(model: str) -> Quantity:
    """Accuracy lost from 2 to 8 modules per task, trained with 2 of 8."""
    of_model = {"model": model, "M": 8, "K": 2}
    return per_seed("ood_2_accuracy", **of_model) - per_seed("ood_8_accuracy", **of_model)


def draw_pairs(results: Results):
    figure = figures.panels("", x="modules and most mixed at a time", y="accuracy")
    shown = [(m, set_) for m in present(results, [LINEAR]) for set_ in SETS.items()]
    for color, (model, (name, title)) in enumerate(shown):
        of_model = pairs(results, model)
        values = [results.metric(f"{name}_accuracy", model=model, M=M, K=K) for M, K in of_model]
        label = f"{title} combinations" if model == LINEAR else f"{title_of(model)}, {title}"
        names = [f"M={M}, K={K}" for M, K in of_model]
        figures.add_points(figure, names, values, label, color=color, line=False)
    return figure


def draw_by_k(results: Results):
    runs = results.where(M=8, K=2)
    figure = figures.panels("", x="modules mixed in a task", y="accuracy on unseen combinations")
    for color, model in enumerate(present(runs)):
        values = [runs.metric(f"ood_{k}_accuracy", model=model) for k in (2, 4, 8)]
        figures.add_points(figure, (2, 4, 8), values, title_of(model), color=color)
    return figure


def beside(model: str, M: int, K: int) -> Beside:
    return Beside(
        f"accuracy on held-out combinations, {TITLES[model]}, M = {M}, K = {K}",
        reference(
            "hyperteacher",
            artifact=f"table-{TABLES[M, K]}",
            model=TITLES[model],
            metric="ood_accuracy_percent",
        ).as_share(),
        lambda results: results.metric("ood_accuracy", model=model, M=M, K=K),
    )


study = Study(
    name="hyperteacher/modules",
    title="Held-out combinations are solved if tasks mix two modules or more",
    source=Source(DOCUMENT, "Figure 3E, Tables A2-A8"),
    question="How does generalization depend on the number of modules and on how many of them a "
    "task mixes, and does it reach beyond that number?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=({"M": 4, "K": 2}, TWO_LAYERS),
            settings=SMOKE_SETTINGS,
            cost="40 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=(
                *({"model": LINEAR, "M": M, "K": K} for M, K in PAIRS),
                *grid(model=(NONLINEAR, ANIL), M=(8,), K=(2,)),
                *({**TWO_LAYERS, "model": m} for m in (LINEAR, ANIL)),
            ),
            settings={"steps": 2000},
            cost="12 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=tuple(
                {"model": m, "M": M, "K": K}
                for M in (4, 6, 8)
                for K in (1, 2, 4, 6, 8)
                if K <= M
                for m in MODELS
            ),
            settings=PAPER_SETTINGS | {"steps": 100_000},
            cost="weeks on an accelerator",
        ),
    },
    claims=(
        Claim(
            "generalizes",
            "With K of 2 or more hypernetworks are at least {0:%} accurate on held-out "
            "combinations.",
            "Figure 3E, Tables A3-A8",
            for_all(
                "model",
                lambda model: (
                    statistic(partial(lowest_accuracy, model=model), f"lowest accuracy, {model}")
                    >= 0.75
                ),
                among=HYPERNETWORKS,
            ),
        ),
        Claim(
            "one-module-is-not-enough",
            "With K = 1 the linear hypernetwork is at least {0:%} accurate on trained combinations "
            "of two layers, and on held-out ones near chance (30 % of 8 classes, {1:%} of the way "
            "from chance to perfection) and below ANIL.",
            "Figure 3E, Tables A2 and A5",
            all_of(
                mean("test_accuracy", model=LINEAR, K=1) >= 0.8,
                mean(above_chance, model=LINEAR, K=1) <= 0.2,
                paired("ood_accuracy", LINEAR, ANIL, K=1) < 0,
            ),
        ),
        Claim(
            "over-fitting-to-K",
            "Trained with 2 of 8 modules at a time, the nonlinear hypernetwork loses most when "
            "tasks mix 8, the linear one less, and ANIL least.",
            "Table A6",
            all_of(mean(lost(NONLINEAR) - lost(LINEAR)) > 0, mean(lost(LINEAR) - lost(ANIL)) > 0),
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy by number of modules",
            "Figure 3E, linear hypernetwork.",
            draw_pairs,
        ),
        Figure(
            "beyond-K",
            "Beyond the number of modules mixed in training",
            "Table A6: tasks that mix more modules than any task in training (M = 8, K = 2).",
            draw_by_k,
        ),
    ),
    beside=(
        beside(LINEAR, 4, 2),
        beside(LINEAR, 8, 2),
        beside(NONLINEAR, 8, 2),
        beside(ANIL, 8, 2),
        beside(LINEAR, 8, 4),
        beside(LINEAR, 4, 1),
        beside(ANIL, 4, 1),
    ),
    notes="With one generated layer, holding out a one-hot combination would remove its module, so "
    "K = 1 is shown with two generated layers and M = 4, as in the paper. More steps of adaptation "
    "than in training (`--set test_steps=50`) repair part of the over-fitting to K.",
)
