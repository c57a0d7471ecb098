"""Figure 3b: commands with a new verb, and the effect of its repetition on learning curves."""

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
    curve,
    figures,
    grid,
    mean,
    per_seed,
    statistic,
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


def early(setting: str, name: str = "train") -> Quantity:
    """The mean of an accuracy over the early steps."""

    def read(results: Results) -> np.ndarray:
        steps, values = results.curve(name)
        within = (steps >= EARLY[0]) & (steps <= EARLY[1])
        if not within.any():
            raise Missing(f"nothing was measured in steps {EARLY[0]} to {EARLY[1]}")
        return values[:, within].mean(axis=1)

    label = f"{name} in {setting}, mean over steps {EARLY[0]} to {EARLY[1]}"
    return per_seed(per_seed(read, setting=setting), label)


def shown(results: Results, name: str, setting: str) -> tuple[np.ndarray, np.ndarray]:
    """An accuracy up to the last step of the figure."""
    steps, values = results.curve(name, setting=setting)
    return steps[steps <= LAST], values[:, steps <= LAST]


def highest_test_accuracy(results: Results) -> float:
    """The highest mean over seeds of the accuracy on new combinations in A, at any step."""
    return shown(results, "test", "A")[1].mean(axis=0).max()


def largest_gap(results: Results) -> float:
    """The largest size of the mean gap in B-uniform, at any step."""
    return np.abs(shown(results, "gap", "B-uniform")[1].mean(axis=0)).max()


def has_iid(results: Results) -> bool:
    """Whether commands were held out for an IID test."""
    return min(results.values("held_out")) > 0


def draw_published(results: Results):
    """The four curves of the paper, and those of the controls."""
    pairs = (("A", "B-uniform"), ("A-dedup", "B-uniform"), ("A", "B-masked"))
    titles = ("as published", "without repetition", "repetition in both")
    figure = figures.panels(*titles, x="steps", y="sentence accuracy")
    for panel, pair in enumerate(pairs):
        for letter, setting, colors in zip("AB", pair, ((0, 5), (1, 6)), strict=True):
            for part, color in zip(("train", "test"), colors, strict=True):
                steps, values = shown(results, part, setting)
                name = f"{part.capitalize()} {letter}"
                figures.add_band(figure, steps, values, name, color=color, panel=panel)
    return figure


def draw_parts(results: Results):
    figure = figures.panels(*SETTINGS.values(), x="steps", y="sentence accuracy", columns=2)
    names = {
        "train": "training lines", "one_word": "of these, commands of one word",
        "iid": "held-out commands (IID)", "test": "tested commands",
    }  # fmt: skip
    for panel, setting in enumerate(SETTINGS):
        for color, (part, name) in enumerate(names.items()):
            if part != "iid" or has_iid(results):
                steps, values = shown(results, part, setting)
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
            mean(early("A")) > mean(early("B-uniform")),
            seeds=5,
            context={"training accuracy in A from commands of one word": early("A", "one_word")},
        ),
        Claim(
            "no-new-combinations",
            "In A, mean accuracy on new combinations is at most {0:%} at every step.",
            "Figure 3b",
            statistic(highest_test_accuracy) <= 0.01,
            seeds=5,
        ),
        Claim(
            "gap-in-a",
            "At step 50, training accuracy of A is at least {0:points} above that on new "
            "combinations.",
            "Figure 3b",
            mean(curve("gap", LAST, setting="A")) >= 0.15,
            seeds=5,
        ),
        Claim(
            "no-gap-in-b",
            "In B-uniform, mean training and test accuracy differ by at most {0:points} at every "
            "step.",
            "Figure 3b",
            statistic(largest_gap) <= 0.05,
            seeds=5,
        ),
        Claim(
            "lead-is-repetition",
            "Without the repeated one-word command the lead in training disappears: A-dedup and "
            "B-uniform differ by at most {0:points} on average over steps 10 to 25.",
            "control of Figure 3b",
            mean(early("A-dedup") - early("B-uniform")).near(0, 0.03),
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
