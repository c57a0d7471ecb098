"""Figures 3.4 and B.7: do new tasks use the weights of earlier ones?"""

from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    figures,
    grid,
    mean,
    paired,
    ranked,
)

from . import DOCUMENT
from .continual_trial import LOGIT, Config, trial

FREE_LOGITS = (LOGIT, 0.0, -1.0)
TITLES = {LOGIT: "no preference", 0.0: "old preferred, free at 0.5", -1.0: "free at 0.27"}


def title(free_logit: float) -> str:
    """What a start of free weights is called."""
    return TITLES.get(free_logit, f"free logit {free_logit:g}")


def starts_in(results: Results) -> list[float]:
    """The starts of free weights, from no preference to the strongest."""
    return sorted(results.values("free_logit"), reverse=True)


def draw_sharing(results: Results):
    """Figures 3.4 and B.7."""
    starts = starts_in(results)
    layers = range(2, 2 + len(results.values("hidden")[0]))
    figure = figures.panels(*map(title, starts), x="task", y="weights of earlier tasks",
                            shared_y=True)  # fmt: skip
    for panel, start in enumerate(starts):
        for color, layer in enumerate(layers):
            numbers, values = results.curve(f"share_{layer}", free_logit=start)
            figures.add_points(
                figure, numbers, list(values.T), f"layer {layer}", color=color, panel=panel
            )
    return figure


def draw_accuracy(results: Results):
    """Accuracy of every task when it has been learned."""
    figure = figures.panels("", x="task", y="accuracy under its mask")
    for color, start in enumerate(starts_in(results)):
        numbers, values = results.curve("accuracy", free_logit=start)
        figures.add_points(figure, numbers, list(values.T), title(start), color=color)
    return figure


def rise(results: Results) -> np.ndarray:
    """Sharing in the last layer, the last task minus the second."""
    last = 1 + len(results.values("hidden")[0])
    return results.metric(f"last_{last}") - results.metric(f"second_{last}")


SMOKE: dict[str, Any] = {
    "data": "digits", "tasks": 2, "hidden": (4, 3), "batch_size": 8, "samples": 2, "steps": 4,
}  # fmt: skip

study = Study(
    name="weight-modules/continual",
    title="New tasks use free weights rather than those of tasks before",
    source=Source(DOCUMENT, "Figures 3.4 and B.7, Section 3.2.4"),
    question="Does a network that learns the same images with their pixels in ever new orders use "
    "the weights of earlier tasks again?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(free_logit=(LOGIT,)),
            settings=SMOKE,
            cost="3 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(free_logit=FREE_LOGITS),
            settings={
                "data": "digits",
                "tasks": 6,
                "hidden": (64, 64, 32),
                "alpha": 1e-4,
                "samples": 4,
                "steps": 1000,
            },
            cost="not measured as a whole",
        ),
        "paper": Preset(
            seeds=10, conditions=grid(free_logit=FREE_LOGITS), cost="weeks on two cores"
        ),
    },
    claims=(
        Claim(
            "tasks-are-learned",
            "When it has been learned, every task is right in at least {0:%} of cases under its "
            "mask, without a preference.",
            "Section 3.2.4",
            mean("accuracy", free_logit=LOGIT) >= 0.9,
        ),
        Claim(
            "little-is-used-again",
            "Of the weights that the second task needs in the second layer, less than {0:%} are "
            "those of the first.",
            "Figure 3.4",
            mean("second_2", free_logit=LOGIT) < 0.35,
        ),
        Claim(
            "preference-helps",
            "Where free weights start at a probability of 0.27, that is at least {0:points} more.",
            "Figure B.7b",
            paired("second_2", {"free_logit": -1.0}, {"free_logit": LOGIT}) >= 0.3,
        ),
        Claim(
            "the-stronger-the-more",
            "More is used again the lower free weights start.",
            "Figure B.7",
            ranked("second_2", [{"free_logit": start} for start in reversed(FREE_LOGITS)]),
        ),
        Claim(
            "a-full-layer-is-shared",
            "In the last layer, which fills up, the last task shares more than the second.",
            "Figure 3.4",
            mean(rise, "rise of sharing in the last layer", free_logit=LOGIT) > 0,
        ),
    ),
    figures=(
        Figure(
            "sharing",
            "Weights that earlier tasks need, too",
            "Figures 3.4 and B.7, by layer: all seeds, their mean and its 95 % interval. The first "
            "layer starts anew for every task.",
            draw_sharing,
        ),
        Figure(
            "accuracy",
            "Accuracy of every task",
            "On test images, when the task has been learned: all seeds.",
            draw_accuracy,
        ),
    ),
    notes="Preset laptop has the digits of scikit-learn, six tasks, and a smaller network. All "
    "weights of the first task start at the same logit, whatever is preferred later. Accuracies "
    "are of the test images of the data set, where the thesis holds out a fifth of the others.",
)
