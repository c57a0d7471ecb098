"""Figure A4: how many demonstrations does a task need?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    along,
    figures,
    grid,
    statistic,
)

from ..meta_models import HYPERNETWORKS
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial


def least_gain(results: Results) -> float:
    """The least gain of mean accuracy on held-out combinations from one number to the next."""
    _, accuracy = along(results, "ood_accuracy", "shots")
    return float(np.diff(accuracy.mean(axis=1)).min())


def draw_shots(results: Results):
    figure = figures.panels("", x="demonstrations of a task", y="accuracy")
    shots = sorted(results.values("shots"))
    for color, (name, title) in enumerate((("test", "trained"), ("ood", "held-out"))):
        values = [results.metric(f"{name}_accuracy", shots=s) for s in shots]
        figures.add_points(figure, shots, values, f"{title} combinations", color=color)
    return figure


study = Study(
    name="hyperteacher/shots",
    title="More demonstrations of a task help on held-out combinations",
    source=Source(DOCUMENT, "Figure A4"),
    question="How does accuracy on held-out combinations depend on the number of demonstrations "
    "to adapt to?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=grid(shots=(4, 8)),
            settings={k: v for k, v in SMOKE_SETTINGS.items() if k != "shots"},
            cost="40 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(shots=(8, 16, 32, 64)),
            settings={"steps": 2000},
            cost="5 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(model=HYPERNETWORKS, M=(4, 8), K=(2, 4), shots=(16, 32, 64, 128, 256)),
            settings={k: v for k, v in PAPER_SETTINGS.items() if k not in ("M", "K", "shots")},
            cost="weeks on an accelerator",
        ),
    },
    claims=(
        Claim(
            "more-shots-help",
            "Accuracy on held-out combinations grows with the number of demonstrations.",
            "Figure A4",
            statistic(least_gain) > 0,
        ),
    ),
    figures=(Figure("shots", "Accuracy by demonstrations", "Figure A4.", draw_shots),),
    notes="Only the number of support samples is varied, as in the published code, not that of "
    "query samples. At preset paper means are over both hypernetworks and all M and K.",
)
