"""Figure A5: how many combinations may be held out?"""

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Results,
    Source,
    Study,
    along,
    figures,
    for_all,
    grid,
    mean,
    statistic,
)

from ..meta_models import HYPERNETWORKS
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial


def drop(results: Results) -> np.ndarray:
    """Accuracy on held-out combinations with the fewest held out, minus that with the most."""
    _, accuracy = along(results, "ood_accuracy", "held_out")
    return accuracy[0] - accuracy[-1]


def gained_by_modules(results: Results) -> np.ndarray:
    """The drop with the fewest modules, minus that with the most."""
    _, drops = along(results, drop, "M")
    return drops[0] - drops[-1]


def spread(results: Results) -> float:
    """The largest mean accuracy on trained combinations over fractions, minus the smallest."""
    means = along(results, "test_accuracy", "held_out")[1].mean(axis=1)
    return float(means.max() - means.min())


def draw_fractions(results: Results):
    figure = figures.panels("", x="fraction of combinations held out", y="accuracy")
    for color, M in enumerate(sorted(results.values("M"))):
        runs = results.where(M=M)
        fractions = sorted(runs.values("held_out"))
        for name, title in (("ood", "held-out"), ("test", "trained")):
            values = [runs.metric(f"{name}_accuracy", held_out=f) for f in fractions]
            hue = color if name == "ood" else color + 3
            figures.add_points(figure, fractions, values, f"M = {M}, {title}", color=hue)
    return figure


study = Study(
    name="hyperteacher/held-out",
    title="Generalization survives until most combinations are held out",
    source=Source(DOCUMENT, "Figure A5"),
    question="How does accuracy on held-out combinations depend on the fraction held out?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=grid(held_out=(0.1, 0.5)),
            settings=SMOKE_SETTINGS,
            cost="40 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(M=(5, 8), held_out=(0.1, 0.5, 0.7)),
            settings={"steps": 2000},
            cost="8 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(model=HYPERNETWORKS, M=(4, 8, 16), held_out=(0.1, 0.3, 0.5, 0.7, 0.9)),
            settings={k: v for k, v in PAPER_SETTINGS.items() if k != "M"} | {"K": 3},
            cost="weeks on an accelerator",
        ),
    },
    claims=(
        Claim(
            "falls",
            "Accuracy on held-out combinations falls as more of them are held out.",
            "Figure A5",
            for_all("M", lambda M: mean(drop, f"drop, M={M}", M=M) > 0),
        ),
        Claim(
            "falls-less-with-more-modules",
            "The fall of accuracy on held-out combinations is smaller with more modules.",
            "Figure A5",
            mean(gained_by_modules) > 0,
        ),
        Claim(
            "trained-stay",
            "Accuracy on trained combinations stays roughly the same (within {0:points}).",
            "Figure A5",
            for_all("M", lambda M: statistic(spread, f"spread, M={M}", M=M) <= 0.1),
        ),
    ),
    figures=(Figure("fractions", "Accuracy by fraction held out", "Figure A5.", draw_fractions),),
    notes="K = 3, as the text says; the published code has K = 2 (`--set K=2`). At "
    "preset paper means are over both hypernetworks.",
)
