"""Figure 3.7: do the classes of a convolutional network have features of their own?"""

from functools import partial
from typing import Any

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    mean,
    paired,
)

from . import DOCUMENT
from .classes_trial import Config, needed, trial

CLASSES = 10
DROPOUT: dict[str, Any] = {"model.early_dropout": 0.25, "model.late_dropout": 0.5}
NO_DROPOUT: dict[str, Any] = {"model.early_dropout": 0.0, "model.late_dropout": 0.0}
KINDS = {"with dropout": DROPOUT, "without dropout": NO_DROPOUT}
NAMES = {
    "cifar-10": ("airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
}
"""What classes are called, of data sets in which they are not numbers."""

CONDITIONS = tuple({"model": "cnn"} | kind for kind in KINDS.values())


def kinds_in(results: Results) -> dict[str, Results]:
    """The networks that have been run and can be concluded from."""
    found = {}
    for title, where in KINDS.items():
        try:
            runs = results.where(**where)
        except Missing:
            continue
        if runs.metric("valid").all():
            found[title] = runs
    if not found:
        raise Missing("no control mask leaves enough of the accuracy")
    return found


def classes_of(results: Results) -> list[str]:
    """What the classes are called."""
    (name, *_) = results.values("data")
    return list(NAMES.get(name, map(str, range(CLASSES))))


def draw_drops(results: Results):
    """Figure 3.7."""
    panels = ("relative drop of the class", "largest loss of another, relative to that")
    figure = figures.panels(*panels, x="class without which the mask is learned", y="share",
                            columns=1)  # fmt: skip
    names = classes_of(results)
    for color, (title, runs) in enumerate(kinds_in(results).items()):
        for panel, metric in enumerate(("drop", "collateral")):
            values = [runs.metric(f"{metric}_{c}") for c in range(CLASSES)]
            figures.add_points(figure, names, values, title, color=color, panel=panel, line=False)
    return figure


def draw_control(results: Results):
    """Figure B.10."""
    names, kinds = classes_of(results), kinds_in(results)
    arrays = [runs.array("confusion")[:, 1].mean(axis=0) for runs in kinds.values()]
    return figures.heatmaps(arrays, list(kinds), x="predicted", y="true", across=names, along=names)


def draw_differences(results: Results, kind: str):
    """Figures B.11 and B.12."""
    kinds = kinds_in(results)
    if kind not in kinds:
        raise Missing(f"no network {kind}")
    confusion = kinds[kind].array("confusion").mean(axis=0)
    names = classes_of(results)
    return figures.heatmaps(
        list(confusion[2:] - confusion[1]), [f"without {name}" for name in names], columns=5,
        x="predicted", y="true", diverging=True,
    )  # fmt: skip


SMOKE: dict[str, Any] = {
    "data": "digits", "model.channels": (2, 3), "batch_size": 8, "steps": 2, "every": 1,
    "mask_steps": 4, "mask_rate": 1.0,
}  # fmt: skip

study = Study(
    name="weight-modules/classes",
    title="Classes need features of their own, and lose them alone",
    source=Source(DOCUMENT, "Figures 3.7 and B.10 to B.12, Section 3.3.3"),
    question="Do masks that are learned without a class of images lose that class and no other?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1, conditions=CONDITIONS[:1], settings=SMOKE, cost="5 s on two cores"
        ),
        "laptop": Preset(
            seeds=3,
            conditions=CONDITIONS,
            settings={
                "data": "digits",
                "model.channels": (8, 16, 32),
                "batch_size": 64,
                "steps": 1500,
                "every": 100,
                "beta": 1e-2,
                "mask_rate": 0.02,
                "mask_steps": 800,
            },
            cost="not measured as a whole",
        ),
        "paper": Preset(seeds=10, conditions=CONDITIONS, cost="weeks on two cores"),
    },
    claims=(
        Claim(
            "the-class-suffers",
            "Under the mask that is learned without a class, networks with dropout lose at least "
            "{0:%} of their accuracy on it, in the mean over classes.",
            "Figure 3.7a",
            mean("drop", **DROPOUT) >= 0.4,
        ),
        Claim(
            "others-do-not",
            "With dropout no other class loses more than {0:%} of that share, whichever class is "
            "left out.",
            "Figure 3.7b",
            all_of(mean(f"collateral_{c}", **DROPOUT) < 0.1 for c in range(CLASSES)),
        ),
        Claim(
            "dropout-separates",
            "Without dropout the drop is lower by at least {0:points}.",
            "Section B.3.8",
            paired("drop", DROPOUT, NO_DROPOUT) >= 0.3,
        ),
    ),
    figures=(
        Figure(
            "drops",
            "What masks without a class lose",
            "Figure 3.7: all seeds, their mean and its 95 % interval.",
            draw_drops,
        ),
        Figure(
            "control",
            "Confusion under the control mask",
            "Figure B.10: means over seeds.",
            draw_control,
        ),
        *(
            Figure(
                f"differences-{kind.split()[0]}",
                f"Change of the confusion, {kind}",
                f"{figure}: under the mask without a class minus under the control mask; means "
                "over seeds.",
                partial(draw_differences, kind=kind),
            )
            for kind, figure in zip(KINDS, ("Figure B.11", "Figure B.12"), strict=True)
        ),
    ),
    notes="Preset laptop has the digits of scikit-learn, 8 x 8 pixels, and a narrower network. "
    "Conclusions are recorded only of networks whose control mask leaves 95 % of the accuracy.",
)
