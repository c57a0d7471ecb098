"""Figures 4 to 6: how the decisions of a small network spread into a quadrant it never sees."""

from typing import Any

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Study,
    all_of,
    curve,
    every_seed,
    mean,
    paired,
    share,
    statistic,
)

from . import DOCUMENT
from .toy_figures import (
    draw_accuracy,
    draw_data,
    draw_seeds,
    draw_slider,
    draw_slopes,
    draw_snapshots,
)
from .toy_training import PAPER, SHOWN, UPDATES, A, B, Config, trial


def held_out(step: int, /, **condition: Any) -> Quantity:
    """Accuracy on the held-out quadrant after a step."""
    return curve("held_out_accuracy", step, **condition)


def trained(step: int, /, **condition: Any) -> Quantity:
    """Accuracy on training points after a step."""
    return curve("train_accuracy", step, **condition)


def disagreement(results: Results) -> float:
    """The share of the held-out quadrant on which two seeds disagree, mean over pairs of seeds."""
    decisions = results.array("decisions")
    n, positive = len(decisions), decisions.sum(axis=0)
    if n < 2:
        raise Missing("one seed has nothing to differ from")
    return float(np.mean(2 * positive * (n - positive)) / (n * (n - 1)))


SEEDS = 20
"""Number of seeds that claims about shares of seeds need."""

study = Study(
    name="gradient-resistance/toy",
    title="A quadrant that is never trained: decisions of a small network, step by step",
    source=Source(DOCUMENT, "Figures 4, 5 and 6"),
    question="Where one of two coordinates decides the target, does gradient descent use the other "
    "one too, and when does that spoil decisions on combinations that were never trained?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(A, B, PAPER),
            settings={"steps": 8},
            cost="10 s on two cores",
        ),
        "laptop": Preset(seeds=120, conditions=(A, B, PAPER, UPDATES), cost="2 min on two cores"),
        "paper": Preset(seeds=120, conditions=(A, B, PAPER, UPDATES), cost="2 min on two cores"),
    },
    claims=(
        Claim(
            "quadrant-is-held-out",
            "No training point of setting A has two positive coordinates; all test points have.",
            "Figure 4",
            all_of(
                every_seed("trained_in_quadrant", setting="A").equals(0),
                every_seed("tests_outside_quadrant").equals(0),
            ),
            seeds=SEEDS,
        ),
        Claim(
            "first-step-enters-the-quadrant",
            "After step 1 part of the held-out quadrant is negative, for more than {0:%} of seeds.",
            "Figure 5",
            share(held_out(1, **A) < 1) > 0.5,
            seeds=SEEDS,
        ),
        Claim(
            "first-step-harms",
            "Step 1 lowers held-out accuracy while it raises training accuracy, on average.",
            "Figure 5",
            all_of(
                mean(held_out(1, **A)) < mean(held_out(0, **A)),
                mean(trained(1, **A)) > mean(trained(0, **A)),
            ),
            seeds=SEEDS,
        ),
        Claim(
            "informative-input-harms",
            "After step 1 held-out accuracy is lower with X_2 informative (A) than with X_2 random "
            "(B), from the same weights.",
            "Figure 5, control",
            paired(held_out(1), A, B) < 0,
            seeds=SEEDS,
        ),
        Claim(
            "training-points-are-learned",
            "After 1024 steps mean training accuracy is at least {0:%}.",
            "Figure 5",
            mean(trained(1024, **A)) >= 0.99,
            seeds=SEEDS,
        ),
        Claim(
            "boundary-stays-wrong",
            "After 1024 steps mean held-out accuracy is at most {0:%}, and at least {1:%} of seeds "
            "are below 99 %.",
            "Figures 5 and 6",
            all_of(
                mean(held_out(1024, **A)) <= 0.9,
                share(held_out(1024, **A) < 0.99) >= 0.8,
            ),
            seeds=SEEDS,
        ),
        Claim(
            "later-steps-repair-in-part",
            "Mean held-out accuracy is lower after step 1 than after step 1024, by at least {0}.",
            "Figure 5",
            mean(held_out(1024, **A) - held_out(1, **A)) >= 0.2,
            seeds=SEEDS,
        ),
        Claim(
            "random-input-does-no-harm",
            "With X_2 random (B) mean held-out accuracy is at least {0:%} from step 8 on.",
            "Figure 5, control",
            all_of(mean(held_out(step, **B)) >= 0.99 for step in SHOWN if step >= 8),
            seeds=SEEDS,
        ),
        Claim(
            "seeds-differ",
            "Different seeds end with different boundaries: two of them disagree on at least {0:%} "
            "of the held-out quadrant, on average.",
            "Figure 6",
            statistic(disagreement, **A) >= 0.05,
            seeds=SEEDS,
        ),
        Claim(
            "margin-matters",
            "Without a margin between the classes (the paper's coordinates) held-out accuracy ends "
            "higher.",
            "Section 6",
            paired(held_out(1024), PAPER, A) > 0,
            seeds=SEEDS,
        ),
        Claim(
            "a-step-is-a-pass",
            "The loss is low from step 1 on, as the paper says, if a step is a pass: mean training "
            "accuracy is then at least {0:%}, and at most {1:%} if it is an update.",
            "Section 6",
            all_of(mean(trained(1, **A)) >= 0.9, mean(trained(1, **UPDATES)) <= 0.75),
            seeds=SEEDS,
        ),
    ),
    figures=(
        Figure(
            "slider",
            "Decisions during training",
            "Move the slider, or play. Blue is positive, orange negative: the output in "
            "hundredths, for one seed. Circles are positive training points, triangles negative "
            "ones. With X_2 random the boundary is upright at once.",
            draw_slider,
        ),
        Figure(
            "snapshots",
            "Decisions at the steps that the paper shows",
            "Figure 5. A step is a pass over the training points. The upper right quadrant has "
            "none; in all of it the answer should be positive (blue).",
            draw_snapshots,
        ),
        Figure(
            "seeds",
            "Decisions of four other seeds at the end",
            "Figure 6. Every seed draws its own points and weights.",
            draw_seeds,
        ),
        Figure(
            "accuracy",
            "Accuracy during training",
            "All seeds and their means. The first step lowers held-out accuracy where X_2 is "
            "informative.",
            draw_accuracy,
        ),
        Figure(
            "slopes",
            "How strongly the output depends on each coordinate",
            "Mean size of the slope of the output along X_1 and X_2, over the held-out quadrant.",
            draw_slopes,
        ),
        Figure(
            "data",
            "Training and test points",
            "Figure 4, for one seed: three quadrants are trained, the fourth is tested.",
            draw_data,
        ),
    ),
    notes="The paper shows maps and no numbers; margins of the claims are ours. Its text has X_k = "
    "Y_k − U[0, 1], its figures points up to ±5.3 with a margin of 0.3 around the axes: both are "
    "here. It speaks of two outputs, but the playground has one; `--set outputs=2` gives two. The "
    "playground trains on half of the points left of 500, about 187; here it is always 187. "
    "Of these, the 7 that do not fill a batch are carried over to the first update of the next "
    "pass, as in the playground.",
)
