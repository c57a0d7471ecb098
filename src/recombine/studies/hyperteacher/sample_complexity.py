"""Figures A3 and A11: how many tasks must be met, and how many combinations are there?"""

from itertools import pairwise

import numpy as np

from recombine import probes, splits
from recombine.lab import Claim, Figure, Judgement, Missing, Results, Source, Study, figures, grid

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


def shown(needed: np.ndarray) -> list[float | str]:
    return ["not reached" if np.isnan(n) else float(n) for n in needed]


def grows_with_M(results: Results) -> Judgement:
    evidence: dict[str, list[float | str]] = {}
    grows = True
    for K in results.values("K"):
        needed = {M: tasks_needed(results, model=LINEAR, M=M, K=K) for M in results.values("M")}
        evidence |= {
            f"tasks met by the linear hypernetwork, M={M}, K={K}": shown(v)
            for M, v in needed.items()
        }
        means = [v.mean() for v in needed.values()]  # NaN, and so never larger, where not reached
        grows &= all(bool(a < b) for a, b in pairwise(means))
    return Judgement(grows, evidence)


def monolithic_never(results: Results) -> Judgement:
    accuracy = {
        m: float(results.curve("ood_accuracy", model=m)[1].max())
        for m in MONOLITHIC
        if m in results.values("model")
    }
    if not accuracy:
        raise Missing("no trial of a monolithic model")
    return Judgement(
        max(accuracy.values()) < LEVEL,
        {"highest accuracy on held-out combinations in any run (bound: below 0.9)": accuracy},
    )


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
            grows_with_M,
        ),
        Claim(
            "monolithic-never",
            "Monolithic models never reach 90 % accuracy on held-out combinations.",
            "Figure A3",
            monolithic_never,
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
