"""Figure 4.3: does the loss on new combinations fall, rise and fall again?"""

import numpy as np

from recombine import probes
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    any_of,
    for_all,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT
from .log_results import MINI_PCFG, SMOKE, VARIANTS, draw_curves, published
from .problems import PCFGSpec
from .training import Config, trial
from .variants import on_laptop

NETWORKS = ("transformer", "universal", "relative-universal")
"""The networks of the figure."""
LOSS = "ood_free_loss"


def hump(results: Results) -> np.ndarray:
    """By how much the loss rises to its peak and falls from it, the lesser of both, in shares."""
    _, losses = results.curve(LOSS)
    found = []
    for of_seed in losses:
        descent = probes.second_descent(of_seed)
        found.append(min(descent.rise, descent.fall) / of_seed[descent.peak])
    return np.array(found)


def largest_fall(results: Results) -> np.ndarray:
    """The most that accuracy on new combinations falls from one of its highs."""
    _, accuracies = results.curve("ood")
    return (np.maximum.accumulate(accuracies, axis=1) - accuracies).max(axis=1)


study = Study(
    name="transformer-details/double-descent",
    title="The loss on new combinations descends twice while accuracy only rises",
    source=Source(DOCUMENT, "Figure 4.3, Section 4.3.3"),
    question="Does the loss on new combinations fall, rise and fall again over training, and does "
    "accuracy take part in it?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=("universal",)), settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(problem=(MINI_PCFG,), model=NETWORKS),
            depends=on_laptop,
            cost="none beyond that of variants, whose trials it shares",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(problem=(PCFGSpec(),), model=NETWORKS),
            depends=published,
            cost="weeks per network on two cores",
        ),
    },
    claims=(
        Claim(
            "second-descent",
            "With at least one network the loss rises to a peak and falls from it by at least "
            "{0:%} of the peak.",
            "Figure 4.3",
            any_of(*(mean(per_seed(hump, model=model)) >= 0.1 for model in NETWORKS)),
        ),
        Claim(
            "accuracy-rises",
            "Accuracy on new combinations never falls by more than {0:points} from a high that it "
            "had before, with any network.",
            "Figure 4.3",
            for_all(
                "model",
                lambda model: mean(largest_fall, model=model) <= 0.1,
                among=NETWORKS,
            ),
        ),
    ),
    figures=(
        Figure(
            "descents",
            "Accuracy and loss on new combinations during training",
            "Figure 4.3: mean and standard deviation over seeds; the network reads its own "
            "symbols.",
            lambda results: draw_curves(
                results, "model", VARIANTS, {"ood": "accuracy", LOSS: "loss"}, log=True
            ),
        ),
    ),
    notes="The paper trains for 300,000 steps; preset laptop may be too short for a second "
    "descent.",
)  # fmt: skip
