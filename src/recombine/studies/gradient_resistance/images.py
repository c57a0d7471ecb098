"""Figure 3a: pairs of images whose second image hints at the label, or does not."""

from dataclasses import dataclass
from typing import Literal

from recombine import learning
from recombine.lab import (
    Claim,
    Count,
    Figure,
    Positive,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    Whole,
    check_intervals,
    curve,
    figures,
    grid,
    mean,
)

from . import DOCUMENT
from .pairs_trial import (
    EPSILON,
    Images,
    Loss,
    loss_of,
    network_of,
    rate_of,
    report_dependence,
    report_learning,
    streams,
    task_of,
)

EARLY, LATE = 50, 200
"""Steps at which accuracies are compared."""
SETTINGS = ("A", "B")


@dataclass(frozen=True)
class Config:
    """Settings of the study of paired images."""

    setting: Literal["A", "B"] = "A"
    """A: the second image of training pairs hints at the label; B: it is random."""
    data: Images = "digits"
    """Data set; all but the digits are downloaded with `recombine data get`."""
    loss: Loss = "categorical-hinge"
    """The loss: Keras's categorical hinge, the multiclass hinge, or softmax cross-entropy."""
    steps: Count = 200
    """Updates."""
    batch: Count = 64
    """Pairs per update."""
    learning_rate: Positive | None = None
    """Learning rate of Adam; none: 0.001 as published, and half of it for the digits."""
    every: Count = 5
    """Updates between two evaluations of the streams."""
    pairs: Count = 1000
    """Pairs of each stream on which accuracy is measured."""
    partners: Count = 100
    """Number of first images, and of second images with each, on which leakage is measured."""
    data_seed: Whole | None = None
    """Seed of all pairs, so that repetitions differ in weights only; none: pairs differ too."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network in one setting; measure its accuracy on new pairs and its use of X_2."""
    import jax

    weight_key, pair_key = jax.random.split(key)
    if config.data_seed is not None:
        pair_key = jax.random.key(config.data_seed)
    batch_key, stream_key, partner_key = jax.random.split(pair_key, 3)
    task = task_of(config.data, informative=config.setting == "A")
    seen, tests = streams(task, config.pairs, stream_key)
    loss = loss_of(config.loss)
    rule = learning.Descent(
        learning.ScoreLoss(loss),
        learning.Sampled(task, config.batch),
        learning.adam(rate_of(config.data, config.learning_rate), eps=EPSILON),
        key=batch_key,
        measure=learning.Accuracy({"": seen} | tests, loss),
        every=config.every,
    )
    state, curves = recorder.train(rule, rule.init(network_of(task, weight_key)), config.steps)
    report_learning(curves, recorder)
    report_dependence(state.model, task, tests["ood"], config.partners, partner_key, recorder)


CURVES = (
    ("train", "A", "Train A", 0),
    ("ood", "A", "Test A", 5),
    ("train", "B", "Train B", 1),
    ("ood", "B", "Test B", 6),
)
"""Curve, setting, name and colour of each line: blue, cyan, red and brown."""


def draw_accuracy(results: Results):
    figure = figures.panels("", x="step", y="accuracy")
    for part, setting, name, color in CURVES:
        steps, values = results.curve(part, setting=setting)
        figures.add_band(figure, steps, values, name, color=color)
    return figure


def draw_control(results: Results):
    figure = figures.panels("setting A", "setting B", x="step", y="accuracy")
    for panel, setting in enumerate(SETTINGS):
        for color, (part, name) in enumerate(
            (("train", "training pairs"), ("ood", "new pairs"), ("iid", "test images, as trained"))
        ):
            steps, values = results.curve(part, setting=setting)
            figures.add_band(figure, steps, values, name, color=color, panel=panel)
    return figure


def draw_dependence(results: Results):
    shown = {
        "leakage": ("leakage", "bits"),
        "shortcuts": ("shortcut_rate", "share of answers to new pairs"),
        "sensitivity": ("sensitivity_ratio", "second image / first"),
    }
    figure = figures.panels(*shown, x="setting", y=[unit for _, unit in shown.values()])
    for panel, (metric, _) in enumerate(shown.values()):
        values = [results.metric(metric, setting=s) for s in SETTINGS]
        figures.add_points(figure, SETTINGS, values, "", panel=panel, line=False)
    return figure


study = Study(
    name="gradient-resistance/images",
    title="A hint speeds up learning, and fails on new combinations",
    source=Source(DOCUMENT, "Figure 3a"),
    question="If a second image hints at the label of the first, does a network learn faster, and "
    "does it fail where the hint is wrong?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(setting=SETTINGS),
            settings={"steps": 4, "every": 2, "batch": 8, "pairs": 20, "partners": 4},
            cost="10 s on two cores",
        ),
        "laptop": Preset(seeds=10, conditions=grid(setting=SETTINGS), cost="2 min on two cores"),
        "paper": Preset(
            seeds=5,
            conditions=grid(setting=SETTINGS),
            settings={"data": "mnist", "every": 1, "pairs": 100, "data_seed": 8},
            cost="8 min on two cores, and `recombine data get mnist`",
        ),
    },
    claims=(
        Claim(
            "the-hint-speeds-training-up",
            "At step 50 training accuracy is higher in A than in B, by {0:points} or more.",
            "Figure 3a",
            mean(curve("train", EARLY, setting="A") - curve("train", EARLY, setting="B")) >= 0.05,
            seeds=5,
        ),
        Claim(
            "a-gap-with-the-hint",
            "At step 200 accuracy in A is lower on new pairs than on training pairs, by {0:points} "
            "or more.",
            "Figure 3a",
            mean(curve("gap", LATE, setting="A")) >= 0.15,
            seeds=5,
        ),
        Claim(
            "no-gap-without",
            "At step 200 accuracies in B on new pairs and on training pairs differ by {0:points} "
            "or less.",
            "Figure 3a",
            mean(curve("gap", LATE, setting="B")).near(0, 0.05),
            seeds=5,
        ),
        Claim(
            "the-hint-harms-new-pairs",
            "At step 200 accuracy on new pairs is higher in B than in A, by {0:points} or more.",
            "Figure 3a",
            mean(curve("ood", LATE, setting="B") - curve("ood", LATE, setting="A")) >= 0.1,
            seeds=5,
        ),
        Claim(
            "not-memorised",
            "At step 200 of A, test images in trained combinations are classified as well as "
            "training images, to {0:points}: it is the combination that is new, not the image.",
            "Section 5.1; a control that the paper does not have",
            mean(curve("train", LATE, setting="A") - curve("iid", LATE, setting="A")).near(0, 0.05),
            seeds=5,
        ),
        Claim(
            "answers-depend-on-the-hint",
            "I(Ŷ; X_2 | X_1) on test images is larger in A than in B.",
            "Proposition 4",
            mean("leakage", setting="A") > mean("leakage", setting="B"),
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on training pairs and on new pairs",
            "Figure 3a: means over seeds, with bands of one standard deviation on either side. In "
            "A the second image of a training pair is of class Y or Y + 1, in B of any class; in "
            "tests of Y + 2 to Y + 9.",
            draw_accuracy,
        ),
        Figure(
            "control",
            "New images and new combinations",
            "Green: images that training has not seen, in combinations that it has. Where green is "
            "on blue, the gap is due to combinations alone.",
            draw_control,
        ),
        Figure(
            "dependence",
            "How networks use the second image",
            "Leakage is I(Ŷ; X_2 | X_1) on test images with second images of any class. A shortcut "
            "is an answer Y_2 or Y_2 − 1. Sensitivity is the norm of the derivative of scores.",
            draw_dependence,
        ),
    ),
    notes="The preset laptop has the paper's network, loss, optimiser, batch and number of steps, "
    "with the 8x8 digits in place of MNIST, and 1,000 pairs per stream in place of 100; each seed "
    "draws pairs of its own. Digits are learned faster: half the published learning rate takes "
    "training about as far in 200 steps as the published one does on MNIST. The preset paper has "
    "MNIST, 100 pairs, and the same pairs in all repetitions, which differ in their weights. In B "
    "the combinations of tests are trained: it is a control, not a case of generalization to new "
    "combinations. The paper prints no numbers.",
)
