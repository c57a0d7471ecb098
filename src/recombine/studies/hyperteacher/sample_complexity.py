"""Figures A3 and A11: how many tasks must be met, and how many combinations are there?"""

import numpy as np

from recombine import probes, splits
from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    along,
    every_seed,
    figures,
    for_all,
    grid,
    mean,
)

from ..meta_models import ANIL, HYPERNETWORKS, LINEAR, MODELS, MONOLITHIC, present, title_of
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial

LEVEL = 0.9


def tasks_needed(results: Results, **condition) -> np.ndarray:
    """Tasks met until the held-out accuracy reaches 90 %, one number per seed; NaN if never."""
    steps, accuracy = results.curve("ood_accuracy", **condition)
    per_step = next(iter(results.where(**condition).values("tasks")))
    found = [
        probes.sample_complexity(steps, a, tasks_per_step=per_step, level=LEVEL) for a in accuracy
    ]
    return np.array([f.tasks if f.reached else np.nan for f in found], float)


def least_growth(results: Results) -> np.ndarray:
    """The least growth of the tasks that the linear hypernetwork needs from one M to the next."""
    growth = []
    for K in results.values("K"):
        _, needed = along(results.where(model=LINEAR, K=K), tasks_needed, "M")
        growth += list(np.diff(needed, axis=0))
    return np.min(growth, axis=0)  # NaN, and so not positive, where 90 % are not reached


def highest_accuracy(results: Results) -> np.ndarray:
    """The highest accuracy on held-out combinations in the course of training."""
    return results.curve("ood_accuracy")[1].max(axis=1)


def draw_needed(results: Results):
    figure = figures.panels("", x="modules M", y="tasks met until 90 % on held-out combinations")
    for color, model in enumerate(present(results, HYPERNETWORKS)):
        for K in results.where(model=model).values("K"):
            modules = results.where(model=model, K=K).values("M")
            needed = [tasks_needed(results, model=model, M=M, K=K) for M in modules]
            reached = [v[~np.isnan(v)] for v in needed]
            figures.add_points(figure, modules, reached, f"{title_of(model)}, K = {K}", color=color)
    return figure


def draw_curves(results: Results):
    largest = max(results.values("M"))
    runs = results.where(M=largest)
    figure = figures.panels("", x="tasks met", y="accuracy on held-out combinations")
    for color, model in enumerate(present(runs)):
        steps, accuracy = runs.curve("ood_accuracy", model=model)
        figures.add_seeds(
            figure, steps * runs.values("tasks")[0], accuracy, title_of(model), color=color
        )
    figures.add_level(figure, LEVEL, "90 %")
    return figure


def draw_counts(results: Results):
    modules = (2, 4, 6, 8, 10, 12, 14, 16)
    figure = figures.panels("", x="modules M", y="combinations (logarithm to base 10)")
    for color, K in enumerate((1, 2, 3, 4)):
        counts = [np.log10(splits.count_codes(M, K, 2)) for M in modules if M >= K]
        figures.add_points(
            figure, [M for M in modules if M >= K], [[c] for c in counts], f"K = {K}", color=color
        )
    return figure


study = Study(
    name="hyperteacher/sample-complexity",
    title="More modules need more tasks, though far fewer than there are combinations",
    source=Source(DOCUMENT, "Figures A3 and A11"),
    question="How many tasks must be met before held-out combinations are solved?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=({"model": LINEAR},),
            settings=SMOKE_SETTINGS,
            cost="20 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=(*grid(model=(LINEAR,), M=(4, 6, 8)), {"model": ANIL, "M": 8}),
            settings={"K": 2},
            cost="10 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(model=MODELS, M=(4, 6, 8, 10, 12, 14, 16), K=(2, 3, 4)),
            settings=PAPER_SETTINGS,
            cost="months on an accelerator",
        ),
    },
    claims=(
        Claim(
            "grows-with-M",
            "The number of tasks met until the linear hypernetwork is 90 % accurate on held-out "
            "combinations grows with the number of modules.",
            "Figure A3",
            mean(least_growth) > 0,
        ),
        Claim(
            "monolithic-never",
            "Monolithic models never reach an accuracy of {0:%} on held-out combinations.",
            "Figure A3",
            for_all(
                "model",
                lambda model: every_seed(highest_accuracy, model=model) < LEVEL,
                among=MONOLITHIC,
            ),
        ),
    ),
    figures=(
        Figure("tasks", "Tasks met until 90 %", "Figure A3; runs that reach it.", draw_needed),
        Figure("curves", "Accuracy by tasks met", "At the largest M.", draw_curves),
        Figure(
            "combinations",
            "Number of combinations",
            "Figure A11, for two generated layers: (Σ C(M, k) for k up to K)².",
            draw_counts,
        ),
    ),
)
