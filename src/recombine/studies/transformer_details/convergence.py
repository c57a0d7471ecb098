"""Figure C.3: do relative positions learn new combinations faster?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    for_all,
    grid,
    statistic,
)

from . import DOCUMENT
from .log_results import MINI_PCFG, MINI_PLACES, MINI_SCAN, PAIRS, SMOKE, VARIANTS, published, speed
from .problems import MathematicsSpec, PCFGSpec, ScanSpec
from .training import Config, trial
from .variants import SUMS, SYSTEMATICITY, on_laptop

NAMES = {"universal": "shared layers", "transformer": "separate layers"}


def ratio(absolute: str, relative: str, problem=None):
    """Median steps with absolute positions over median steps with relative ones."""
    where = {} if problem is None else {"problem": problem}

    def read(results: Results) -> float:
        runs = results.where(**where) if where else results
        return float(np.median(speed(absolute)(runs)) / np.median(speed(relative)(runs)))

    return statistic(read, f"steps of {VARIANTS[absolute]} / steps of {VARIANTS[relative]}")


def draw_ratios(results: Results):
    """How many times as many steps absolute positions need, by data set."""
    problems = results.values("problem")
    figure = figures.panels("", x="", y="steps with absolute / with relative positions")
    for color, (absolute, relative) in enumerate(PAIRS):
        places, values = [], []
        for problem in problems:
            try:
                found = ratio(absolute, relative, problem).of(results)
            except Missing:  # a network that is never right, or that has not been run
                continue
            places.append(problem)
            values.append([found])
        figures.add_points(figure, places, values, NAMES[absolute], color=color, line=False)
    figures.add_level(figure, 1.0, "equally fast")
    return figure


study = Study(
    name="transformer-details/convergence",
    title="Relative positions learn new combinations faster",
    source=Source(DOCUMENT, "Figure C.3"),
    question="How many times as many steps do absolute positions need for 80 % of their best "
    "accuracy on new combinations?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=PAIRS[0]), settings=SMOKE, cost="15 s on two cores"
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(problem=(MINI_PCFG, MINI_SCAN, MINI_PLACES), model=tuple(VARIANTS)),
            depends=on_laptop,
            cost="none beyond that of variants, whose trials it shares",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(
                problem=(ScanSpec(), "cogs", PCFGSpec(), SYSTEMATICITY, SUMS, MathematicsSpec()),
                model=tuple(VARIANTS),
            ),
            depends=published,
            cost="hours to weeks per network on two cores",
        ),
    },
    claims=(
        Claim(
            "relative-faster",
            "With shared layers and with separate ones, relative positions need fewer steps on "
            "every data set.",
            "Figure C.3",
            for_all(
                "problem",
                lambda problem: all_of(
                    ratio(absolute, relative, problem) > 1 for absolute, relative in PAIRS
                ),
            ),
        ),
    ),
    figures=(
        Figure(
            "ratios",
            "Steps with absolute positions over steps with relative ones",
            "Figure C.3: medians over seeds of the step at which accuracy first reaches 80 % of "
            "its maximum.",
            draw_ratios,
        ),
    ),
    notes="Between two looks, accuracy is taken to rise linearly. The published figure takes the "
    "best scheme of embedding scale for absolute positions; here all are scaled down (PED).",
)  # fmt: skip
