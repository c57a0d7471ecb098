"""Figures 4 to 6: how the decisions of a small network spread into a quadrant it never sees."""

from itertools import combinations

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    paired_difference,
)

from . import DOCUMENT
from .toy_figures import (
    draw_accuracy,
    draw_data,
    draw_seeds,
    draw_slider,
    draw_slopes,
    draw_snapshots,
    over_steps,
)
from .toy_training import PAPER, UPDATES, A, B, Config, trial


def at(results: Results, name: str, condition: dict, step: int) -> np.ndarray:
    """A curve at one step, one value per seed."""
    steps, values = over_steps(results, name, condition)
    if step not in steps:
        raise Missing(f"step {step} has not been reached")
    return values[:, steps.index(step)]


def quadrant_is_held_out(results: Results) -> Judgement:
    informative = results.where(setting="A")
    trained = informative.metric("trained_in_quadrant")
    outside = results.metric("tests_outside_quadrant")
    evidence = {
        "training points with both coordinates positive in setting A (bound: 0)": trained.sum(),
        "test points elsewhere (bound: 0)": outside.sum(),
    }
    return Judgement(bool(trained.sum() == outside.sum() == 0), evidence)


def first_step_enters(results: Results) -> Judgement:
    held_out = at(results, "held_out_accuracy", A, 1)
    share = float((held_out < 1).mean())
    evidence = {
        "share of seeds with a part of the quadrant negative (bound: above 0.5)": share,
        "mean share of the quadrant that is positive": held_out.mean(),
    }
    return Judgement(share > 0.5, evidence)


def first_step_harms(results: Results) -> Judgement:
    change = {
        name: paired_difference(at(results, name, A, 1), at(results, name, A, 0))
        for name in ("held_out_accuracy", "train_accuracy")
    }
    held_out, trained = (change[name]["95 % interval"] for name in change)
    evidence = {
        "held-out accuracy, step 1 minus step 0 (bound: interval below 0)": change[
            "held_out_accuracy"
        ],
        "training accuracy, step 1 minus step 0 (bound: interval above 0)": change[
            "train_accuracy"
        ],
    }
    return Judgement(bool(held_out[1] < 0 < trained[0]), evidence)


def informative_input_harms(results: Results) -> Judgement:
    change = paired_difference(*(at(results, "held_out_accuracy", c, 1) for c in (A, B)))
    evidence = {"held-out accuracy after step 1, A minus B (bound: interval below 0)": change}
    return Judgement(change["95 % interval"][1] < 0, evidence)


def training_points_are_learned(results: Results) -> Judgement:
    found = at(results, "train_accuracy", A, 1024)
    return Judgement(
        bool(found.mean() >= 0.99),
        {"mean training accuracy (bound: at least 0.99)": found.mean(), "lowest": found.min()},
    )


def boundary_stays_wrong(results: Results) -> Judgement:
    found = at(results, "held_out_accuracy", A, 1024)
    below = float((found < 0.99).mean())
    evidence = {
        "mean held-out accuracy (bound: at most 0.90)": found.mean(),
        "share of seeds below 0.99 (bound: at least 0.8)": below,
        "median, lowest and highest": (np.median(found), found.min(), found.max()),
    }
    return Judgement(bool(found.mean() <= 0.9 and below >= 0.8), evidence)


def later_steps_repair_in_part(results: Results) -> Judgement:
    first, last = (at(results, "held_out_accuracy", A, step).mean() for step in (1, 1024))
    evidence = {
        "mean held-out accuracy after step 1 and step 1024": (first, last),
        "difference (bound: at least 0.2)": last - first,
    }
    return Judgement(bool(last - first >= 0.2), evidence)


def random_input_does_no_harm(results: Results) -> Judgement:
    steps, values = over_steps(results, "held_out_accuracy", B)
    means = {s: v for s, v in zip(steps, values.mean(axis=0), strict=True) if s >= 8}
    if not means:
        raise Missing("step 8 has not been reached")
    evidence = {"mean held-out accuracy by step (bound: at least 0.99)": means}
    return Judgement(min(means.values()) >= 0.99, evidence)


def seeds_differ(results: Results) -> Judgement:
    decisions = results.array("decisions", **A)
    apart = [np.mean(one != two) for one, two in combinations(decisions, 2)]
    if not apart:
        raise Missing("one seed has nothing to differ from")
    evidence = {
        "share of the quadrant on which two seeds disagree, mean (bound: at least 0.05)": np.mean(
            apart
        ),
        "lowest and highest": (min(apart), max(apart)),
    }
    return Judgement(bool(np.mean(apart) >= 0.05), evidence)


def margin_matters(results: Results) -> Judgement:
    wide, none = (at(results, "held_out_accuracy", c, 1024) for c in (A, PAPER))
    change = paired_difference(none, wide)
    evidence = {
        "mean held-out accuracy, with and without a margin": (wide.mean(), none.mean()),
        "without minus with (bound: interval above 0)": change,
    }
    return Judgement(change["95 % interval"][0] > 0, evidence)


def step_is_a_pass(results: Results) -> Judgement:
    a_pass, update = (at(results, "train_accuracy", c, 1).mean() for c in (A, UPDATES))
    evidence = {
        "mean training accuracy after one pass (bound: at least 0.9)": a_pass,
        "mean training accuracy after one update (bound: at most 0.75)": update,
    }
    return Judgement(bool(a_pass >= 0.9 and update <= 0.75), evidence)


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
        "laptop": Preset(seeds=40, conditions=(A, B, PAPER, UPDATES), cost="1 min on two cores"),
        "paper": Preset(seeds=40, conditions=(A, B, PAPER, UPDATES), cost="1 min on two cores"),
    },
    claims=(
        Claim(
            "quadrant-is-held-out",
            "No training point of setting A has two positive coordinates; all test points have.",
            "Figure 4",
            quadrant_is_held_out,
            seeds=SEEDS,
        ),
        Claim(
            "first-step-enters-the-quadrant",
            "After step 1 part of the held-out quadrant is negative, for most seeds.",
            "Figure 5",
            first_step_enters,
            seeds=SEEDS,
        ),
        Claim(
            "first-step-harms",
            "Step 1 lowers held-out accuracy while it raises training accuracy (95 % intervals of "
            "both paired changes on their side of 0).",
            "Figure 5",
            first_step_harms,
            seeds=SEEDS,
        ),
        Claim(
            "informative-input-harms",
            "After step 1 held-out accuracy is lower with X_2 informative (A) than with X_2 random "
            "(B), from the same weights: the 95 % interval of the paired difference is below 0.",
            "Figure 5, control",
            informative_input_harms,
            seeds=SEEDS,
        ),
        Claim(
            "training-points-are-learned",
            "After 1024 steps mean training accuracy is at least 99 %.",
            "Figure 5",
            training_points_are_learned,
            seeds=SEEDS,
        ),
        Claim(
            "boundary-stays-wrong",
            "After 1024 steps mean held-out accuracy is at most 90 %, and at least 80 % of seeds "
            "are below 99 %.",
            "Figures 5 and 6",
            boundary_stays_wrong,
            seeds=SEEDS,
        ),
        Claim(
            "later-steps-repair-in-part",
            "Mean held-out accuracy is lower after step 1 than after step 1024, by at least 0.2.",
            "Figure 5",
            later_steps_repair_in_part,
            seeds=SEEDS,
        ),
        Claim(
            "random-input-does-no-harm",
            "With X_2 random (B) mean held-out accuracy is at least 99 % from step 8 on.",
            "Figure 5, control",
            random_input_does_no_harm,
            seeds=SEEDS,
        ),
        Claim(
            "seeds-differ",
            "Different seeds end with different boundaries: two of them disagree on at least 5 % "
            "of the held-out quadrant, on average.",
            "Figure 6",
            seeds_differ,
            seeds=SEEDS,
        ),
        Claim(
            "margin-matters",
            "Without a margin between the classes (the paper's coordinates) held-out accuracy ends "
            "higher: the 95 % interval of the paired difference is above 0.",
            "Section 6",
            margin_matters,
            seeds=SEEDS,
        ),
        Claim(
            "a-step-is-a-pass",
            "The loss is low from step 1 on, as the paper says, if a step is a pass: mean training "
            "accuracy is then at least 90 %, and at most 75 % if it is an update.",
            "Section 6",
            step_is_a_pass,
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
