"""Figure 3b: commands with a new verb, and the effect of its repetition on learning curves."""

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
    figures,
    grid,
    paired_difference,
)

from . import DOCUMENT
from .language_trial import Config, trial

SETTINGS = {
    "A": "A: jump alone, a tenth of the lines",
    "A-dedup": "A-dedup: jump alone, once",
    "B-uniform": "B-uniform: all commands once",
    "B-masked": "B-masked: no jump",
}
EARLY = (10, 25)
"""The steps in which training accuracy of A leads, according to the paper."""
LAST = 50
"""The last step of the figure."""
NONE = 1.0
"""Largest accuracy in % that counts as no generalization."""
GAP = 15.0
"""Smallest gap between training and test in A, in points."""
NO_GAP = 5.0
"""Largest gap between training and test in B, in points."""
NO_LEAD = 3.0
"""Largest difference between A-dedup and B-uniform in early steps, in points."""


def early(results: Results, setting: str, curve: str = "train") -> np.ndarray:
    """The mean of a curve over the early steps, one value per seed."""
    steps, values = results.curve(curve, setting=setting)
    within = (steps >= EARLY[0]) & (steps <= EARLY[1])
    if not within.any():
        raise Missing(f"nothing was measured in steps {EARLY[0]} to {EARLY[1]}")
    return values[:, within].mean(axis=1)


def at_end(results: Results, curve: str, setting: str) -> np.ndarray:
    """The value of a curve at the last step of the figure, one per seed."""
    steps, values = results.curve(curve, setting=setting)
    if LAST not in steps:
        raise Missing(f"nothing was measured at step {LAST}")
    return values[:, list(steps).index(LAST)]


def shown(results: Results, curve: str, setting: str) -> tuple[np.ndarray, np.ndarray]:
    """A curve up to the last step of the figure."""
    steps, values = results.curve(curve, setting=setting)
    return steps[steps <= LAST], values[:, steps <= LAST]


def has_iid(results: Results) -> bool:
    """Whether commands were held out for an IID test."""
    return min(results.values("held_out")) > 0


def leads(results: Results) -> Judgement:
    lead = paired_difference(early(results, "A"), early(results, "B-uniform"))
    evidence = {
        "train accuracy of A in steps 10 to 25": early(results, "A").mean(),
        "part of it from one-word commands": early(results, "A", "one_word").mean(),
        "train accuracy of B-uniform": early(results, "B-uniform").mean(),
        "A minus B-uniform, in points (bound: above 0)": lead,
    }
    return Judgement(early(results, "A").mean() > early(results, "B-uniform").mean(), evidence)


def no_new_combinations(results: Results) -> Judgement:
    _, test = shown(results, "test", "A")
    highest = test.mean(axis=0).max()
    evidence = {
        f"highest mean over seeds, up to step {LAST}, in % (bound: {NONE:g})": highest,
        "highest of any seed": test.max(),
    }
    if has_iid(results):
        evidence["held-out commands without jump, at step 50"] = at_end(results, "iid", "A").mean()
    return Judgement(bool(highest <= NONE), evidence)


def gap_in_a(results: Results) -> Judgement:
    gap = at_end(results, "gap", "A")
    evidence = {f"mean gap at step 50, in points (bound: {GAP:g})": gap.mean(), "by seed": gap}
    return Judgement(bool(gap.mean() >= GAP), evidence)


def no_gap_in_b(results: Results) -> Judgement:
    largest = {
        setting: np.abs(shown(results, "gap", setting)[1].mean(axis=0)).max()
        for setting in ("B-uniform", "B-masked")
    }
    evidence = {
        f"largest |mean gap| of B-uniform, up to step {LAST}, in points (bound: {NO_GAP:g})":
            largest["B-uniform"],
        "largest |mean gap| of B-masked (no one-word tests)": largest["B-masked"],
    }  # fmt: skip
    return Judgement(bool(largest["B-uniform"] <= NO_GAP), evidence)


def lead_is_repetition(results: Results) -> Judgement:
    lead = paired_difference(early(results, "A-dedup"), early(results, "B-uniform"))
    other = paired_difference(early(results, "A"), early(results, "B-masked"))
    evidence = {
        f"A-dedup minus B-uniform, in points (bound: within ±{NO_LEAD:g})": lead,
        "A minus B-masked, both with a tenth of one-word lines": other,
    }
    return Judgement(bool(abs(lead["paired difference"]) <= NO_LEAD), evidence)


def draw_published(results: Results):
    """The four curves of the paper, and those of the controls."""
    pairs = (("A", "B-uniform"), ("A-dedup", "B-uniform"), ("A", "B-masked"))
    titles = ("as published", "without repetition", "repetition in both")
    figure = figures.panels(*titles, x="steps", y="sentence accuracy (%)")
    for panel, pair in enumerate(pairs):
        for letter, setting, colors in zip("AB", pair, ((0, 5), (1, 6)), strict=True):
            for curve, color in zip(("train", "test"), colors, strict=True):
                steps, values = shown(results, curve, setting)
                name = f"{curve.capitalize()} {letter}"
                figures.add_band(figure, steps, values, name, color=color, panel=panel)
    return figure


def draw_parts(results: Results):
    figure = figures.panels(*SETTINGS.values(), x="steps", y="sentence accuracy (%)", columns=2)
    names = {
        "train": "training lines", "one_word": "of these, commands of one word",
        "iid": "held-out commands (IID)", "test": "tested commands",
    }  # fmt: skip
    for panel, setting in enumerate(SETTINGS):
        for color, (curve, name) in enumerate(names.items()):
            if curve != "iid" or has_iid(results):
                steps, values = shown(results, curve, setting)
                figures.add_seeds(figure, steps, values, name, color=color, panel=panel)
    return figure


AS_PUBLISHED = {"steps": 2000, "every": 1, "evaluated": 100, "held_out": 0}
"""Appendix B, with the evaluations of the published code."""
SMOKE = {
    "steps": 4, "every": 2, "batch": 16, "evaluated": 20, "held_out": 20, "embedding": 4,
    "units": 8, "output_embedding": 4,
}  # fmt: skip
ALL = grid(setting=tuple(SETTINGS))

study = Study(
    name="gradient-resistance/language",
    title="A new verb: its repetition is learned, its combinations are not",
    source=Source(DOCUMENT, "Figure 3b, Section 5.2, Appendix B"),
    question="Does a verb that training shows only alone speed training up, and is it understood "
    "in new combinations?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(seeds=1, conditions=ALL, settings=SMOKE, cost="10 s on two cores"),
        "laptop": Preset(seeds=5, conditions=ALL, cost="1 min on two cores"),
        "paper": Preset(
            seeds=5, conditions=ALL, settings=AS_PUBLISHED, cost="about 25 min on two cores"
        ),
    },
    claims=(
        Claim(
            "training-leads",
            "Averaged over steps 10 to 25, training accuracy is higher in A than in B-uniform.",
            "Figure 3b, Section 5.2",
            leads,
            seeds=5,
        ),
        Claim(
            "no-new-combinations",
            "In A, accuracy on new combinations is at most 1 % at every step.",
            "Figure 3b",
            no_new_combinations,
            seeds=5,
        ),
        Claim(
            "gap-in-a",
            "At step 50, training accuracy of A is at least 15 points above that on new "
            "combinations.",
            "Figure 3b",
            gap_in_a,
            seeds=5,
        ),
        Claim(
            "no-gap-in-b",
            "In B-uniform, training and test accuracy differ by at most 5 points at every step.",
            "Figure 3b",
            no_gap_in_b,
            seeds=5,
        ),
        Claim(
            "lead-is-repetition",
            "Without the repeated one-word command the lead in training disappears: A-dedup and "
            "B-uniform differ by at most 3 points on average over steps 10 to 25.",
            "control of Figure 3b",
            lead_is_repetition,
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy during training",
            "Figure 3b: mean and one standard deviation over seeds. Left, B as the published code "
            "runs it; the other panels are controls. In B the tested commands are trained.",
            draw_published,
        ),
        Figure(
            "parts",
            "What training accuracy consists of",
            "All seeds. One-word commands are a tenth of the lines in A and in B-masked.",
            draw_parts,
        ),
    ),
    notes="B has two descriptions: Appendix B masks the verb in all data (B-masked), the main text "
    "and the published code train on all commands (B-uniform). In both, tests are part of the "
    "training data: B is a control within the support, not a case of generalization. Appendix B "
    "has encoders of 16 units, the published code 32 in each direction; the code is followed. "
    "Appendix B has 2,000 steps, figure and code 50. Commands for an IID test are held out "
    "at preset laptop, none at preset paper. Published evaluations are teacher-forced; "
    "whole sentences are then right exactly if they are right in greedy decoding, and every trial "
    "counts sentences on which the two differ.",
)
