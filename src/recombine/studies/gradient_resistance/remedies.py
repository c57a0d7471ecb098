"""What keeps a network from using an input that the target does not need?"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from recombine.lab import (
    Claim,
    Count,
    Figure,
    NotNegative,
    Preset,
    Recorder,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    grid,
    mean,
    paired,
    per_seed,
    ratio,
)

from . import DOCUMENT
from .pairs_remedies import PairRemedy, remedied_pairs
from .pairs_trial import Images
from .toy_remedies import STRENGTHS, remedied
from .toy_trial import POINTS, STEPS

IN_TOY = tuple(STRENGTHS)
IN_IMAGES: tuple[str, ...] = get_args(PairRemedy)
TITLES = {
    "none": "none",
    "penalty": "penalty on ∂Ŷ/∂X_2",
    "drop": "drop X_2",
    "noise": "noise on X_2",
    "shuffle": "shuffle X_2",
    "either": "drop either",
    "entropy": "entropy",
    "order": "X_2 random first",
    "reversed": "X_2 random last",
    "modular": "modular",
}
KNOWING = {
    "none": ("none",),
    "X_2 is redundant": ("penalty", "drop", "noise", "shuffle"),
    "data with a random X_2": ("order", "reversed"),
    "where inputs divide": ("either", "modular"),
    "nothing": ("entropy",),
}
"""What must be known for each remedy."""
TASKS = {"images": "pairs of images", "toy": "two coordinates"}
NAMING = ("penalty", "drop", "shuffle")
"""Remedies that must know that X_2 is redundant, and are claimed to work."""
BLIND = ("entropy", "modular")
"""Remedies that need not know which of the two inputs is the redundant one, and do not work."""


@dataclass(frozen=True)
class Config:
    """Settings of the study of remedies."""

    task: Literal["images", "toy"] = "images"
    """Pairs of images, or the toy of two coordinates; both in setting A."""
    remedy: PairRemedy = "none"
    """The remedy against the use of the second input."""
    strength: NotNegative | None = None
    """Strength of the remedy; none: the value chosen on other seeds."""
    data: Images = "digits"
    """Data set; all but the digits are downloaded with `recombine data get`."""
    steps: Count = 200
    """Updates on images."""
    batch: Count = 64
    """Pairs per update."""
    pairs: Count = 1000
    """Pairs of each stream on which accuracy is measured."""
    partners: Count = 100
    """Number of first images, and of second images with each, on which leakage is measured."""
    toy_steps: Count = STEPS
    """Passes over the training points of the toy."""
    points: Count = POINTS
    """Training points of the toy."""

    def __post_init__(self) -> None:
        if self.task == "toy" and self.remedy not in IN_TOY:
            raise ValueError(f"the toy has no remedy {self.remedy!r}; it has {', '.join(IN_TOY)}")


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network with a remedy; report its accuracies, and leakage in bits."""
    if config.task == "toy":
        toy = remedied(
            config.remedy,
            key,
            recorder,
            strength=config.strength,
            steps=config.toy_steps,
            points=config.points,
        )
        found = {
            "train": toy.train_accuracy,
            "ood": toy.held_out_accuracy,
            "leakage": toy.leakage,
        }
    else:
        scores = remedied_pairs(
            config.remedy, key, recorder, strength=config.strength, images=config.data,
            steps=config.steps, batch=config.batch, pairs=config.pairs, partners=config.partners,
        )  # fmt: skip
        found = {
            "train": scores.train_accuracy,
            "iid": scores.iid_accuracy,
            "ood": scores.ood_accuracy,
            "leakage": scores.leakage,
        }
    for name, value in found.items():
        recorder.metric(name, value)


def gap(results: Results) -> np.ndarray:
    """Training accuracy minus that on new combinations."""
    return results.metric("train") - results.metric("ood")


NONE = {"remedy": "none"}
IMAGES = {"task": "images"}


def works(remedy: str) -> Statement:
    """New pairs are better, leakage is lower and training is hardly worse than without."""
    leakage, plain = (per_seed("leakage", remedy=r, **IMAGES) for r in (remedy, "none"))
    return all_of(
        paired("ood", {"remedy": remedy}, NONE, **IMAGES) >= 0.05,
        ratio(leakage, plain) <= 0.5,
        paired("train", NONE, {"remedy": remedy}, **IMAGES) <= 0.03,
    )


def shown(results: Results, task: str) -> list[str]:
    """The remedies of a task's results, in order."""
    there = results.where(task=task).values("remedy")
    return [remedy for remedy in TITLES if remedy in there]


def tasks_of(results: Results) -> list[str]:
    return [task for task in TASKS if task in results.values("task")]


def draw_accuracy(results: Results):
    there = tasks_of(results)
    figure = figures.panels(*(TASKS[t] for t in there), x="", y="accuracy", columns=1)
    for panel, task in enumerate(there):
        remedies = shown(results, task)
        parts = {"training": "train", "new combinations": "ood"}
        for color, (name, metric) in enumerate(parts.items()):
            values = [results.metric(metric, task=task, remedy=r) for r in remedies]
            figures.add_points(
                figure, [TITLES[r] for r in remedies], values, name, color=color, panel=panel,
                line=False,
            )  # fmt: skip
    return figure


def draw_trade(results: Results):
    there = tasks_of(results)
    figure = figures.panels(
        *(TASKS[t] for t in there), x="leakage (bits)", y="accuracy on new combinations"
    )
    for panel, task in enumerate(there):
        for color, (known, remedies) in enumerate(KNOWING.items()):
            found = [
                results.where(task=task, remedy=r) for r in shown(results, task) if r in remedies
            ]
            places = [one.metric("leakage").mean() for one in found]
            values = [one.metric("ood") for one in found]
            name = known if known == "none" else f"to know: {known}"
            figures.add_points(
                figure, places, values, name, color=color, panel=panel,
                line=False,
            )  # fmt: skip
    return figure


study = Study(
    name="gradient-resistance/remedies",
    title="What keeps a network from using what it does not need",
    source=Source(DOCUMENT, "Sections 5.1 and 6; the paper has no remedies"),
    question="Which changes to inputs, loss, order of training or network make answers independent "
    "of a redundant input, and at what price?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(
                {"task": "images", "remedy": "order"},
                {"task": "images", "remedy": "penalty"},
                {"task": "toy", "remedy": "none"},
            ),
            settings={
                "steps": 4,
                "batch": 8,
                "pairs": 20,
                "partners": 4,
                "toy_steps": 4,
                "points": 20,
            },
            cost="20 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=grid(task=("images",), remedy=IN_IMAGES)
            + grid(task=("toy",), remedy=IN_TOY),
            cost="2 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(task=("images",), remedy=IN_IMAGES)
            + grid(task=("toy",), remedy=IN_TOY),
            settings={"data": "mnist"},
            cost="about 20 min on two cores, and `recombine data get mnist`",
        ),
    },
    claims=(
        Claim(
            "named-remedies-work",
            "With images, a penalty on ∂Ŷ/∂X_2, dropping X_2 and shuffling it each raise accuracy "
            "on new pairs by {0:points} or more and bring leakage to {1:%} or less, for {2:points} "
            "of training accuracy or less.",
            "no figure; found here",
            all_of(map(works, NAMING)),
            seeds=5,
        ),
        Claim(
            "dropping-either-works-too",
            "With images, dropping one image of a pair, the first as often as the second, does the "
            "same: {0:points} more on new pairs, {1:%} of the leakage, {2:points} of training "
            "accuracy.",
            "no figure; found here",
            works("either"),
            seeds=5,
        ),
        Claim(
            "other-blind-remedies-leave-a-gap",
            "With images, noise and a norm on the representation, and a network for each image, "
            "leave {0:points} or more between training pairs and new pairs.",
            "no figure; found here",
            all_of(mean(gap, remedy=remedy, **IMAGES) >= 0.1 for remedy in BLIND),
            seeds=5,
        ),
        Claim(
            "the-last-stage-decides",
            "With images, X_2 random in the second half of training gives a higher accuracy on new "
            "pairs than in the first half.",
            "no figure; found here",
            paired("ood", {"remedy": "reversed"}, {"remedy": "order"}, **IMAGES) > 0,
            seeds=5,
        ),
        Claim(
            "entropy-harms-with-images",
            "With images, noise and a norm on the last hidden layer lower accuracy on new pairs.",
            "no figure; found here",
            paired("ood", {"remedy": "entropy"}, NONE, **IMAGES) < 0,
            seeds=5,
        ),
        Claim(
            "modules-cure-the-toy-only",
            "A network for each input, added up, is right on {0:%} or more of the held-out "
            "quadrant of the toy; with images its leakage is at least {1:%} of that of one "
            "network.",
            "no figure; found here",
            all_of(
                mean("ood", task="toy", remedy="modular") >= 0.99,
                ratio(
                    per_seed("leakage", remedy="modular", **IMAGES),
                    per_seed("leakage", **NONE, **IMAGES),
                )
                >= 0.5,
            ),
            seeds=5,
        ),
        Claim(
            "noise-cures-the-toy",
            "With noise on X_2 {0:%} or more of the toy's held-out quadrant, and of its training "
            "points, are right.",
            "no figure; found here",
            all_of(
                mean(accuracy, task="toy", remedy="noise") >= 0.99 for accuracy in ("ood", "train")
            ),
            seeds=5,
            context={"held-out quadrant without noise": per_seed("ood", task="toy", **NONE)},
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy by remedy",
            "On training pairs or points, and on combinations that training does not have.",
            draw_accuracy,
        ),
        Figure(
            "trade",
            "Accuracy on new combinations against leakage",
            "Leakage is I(Ŷ; X_2 | X_1): 0 if answers ignore the second input. Points stand at the "
            "mean leakage of a remedy; colours show what must be known for it.",
            draw_trade,
        ),
    ),
    notes="The paper proposes no remedy; these are common ones. Penalty, dropping, noise and "
    "shuffling must know that the second input is redundant; both orders need data in which "
    "it is random; a network for each input and dropping either must know where inputs divide; "
    "noise and a norm on the representation need no knowledge. Strengths were chosen on seeds "
    "from 500 on.",
)
