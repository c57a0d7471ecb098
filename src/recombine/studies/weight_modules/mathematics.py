"""Figure 3.6: do weights that easy questions need do for hard ones of the same kind?"""

from typing import Any

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    figures,
    for_all,
    grid,
    mean,
)

from . import DOCUMENT
from .mathematics_trial import Config, needed, trial

MODULES = {
    "add_or_sub": "Add or sub", "linear_1d": "Linear 1D", "differentiate": "Differentiate",
    "sort": "Sort", "collect": "Poly. collect",
}  # fmt: skip
"""The modules of the data set, and what the thesis calls them."""
TABLE_B3: dict[str, dict[str, Any]] = {
    "add_or_sub": {
        "batch_size": 256, "mask_batch_size": 256, "beta": 2e-5, "steps": 30_000,
        "mask_steps": 30_000, "mask_rate": 0.03,
    },
    "linear_1d": {
        "batch_size": 512, "mask_batch_size": 400, "beta": 1e-6, "steps": 200_000,
        "mask_steps": 50_000, "mask_rate": 0.02, "warmup_steps": 5000,
    },
    "differentiate": {
        "batch_size": 128, "mask_batch_size": 128, "beta": 1e-5, "steps": 40_000,
        "mask_steps": 40_000, "mask_rate": 0.03,
    },
    "sort": {
        "batch_size": 256, "mask_batch_size": 256, "beta": 3e-6, "steps": 30_000,
        "mask_steps": 30_000, "mask_rate": 0.03,
    },
    "collect": {
        "batch_size": 128, "mask_batch_size": 256, "beta": 1e-6, "steps": 200_000,
        "mask_steps": 50_000, "mask_rate": 0.02, "warmup_steps": 5000,
    },
}  # fmt: skip
"""Table B.3."""


def published(condition: dict[str, Any]) -> dict[str, Any]:
    """The settings of a module."""
    return TABLE_B3[condition["module"]]


def draw_modules(results: Results):
    """Figure 3.6."""
    found = [name for name in MODULES if name in results.values("module")]
    able = [name for name in found if results.metric("valid", module=name).all()]
    if not able:
        raise Missing("no control mask leaves enough of the accuracy")
    figure = figures.panels("", x="module", y="exact answers to hard questions")
    kinds = {"unmasked": "no mask", "control": "control mask", "easy": "mask of easy questions"}
    for color, (kind, title) in enumerate(kinds.items()):
        values = [results.metric(f"{kind}_hard", module=name) for name in able]
        figures.add_points(
            figure, [MODULES[name] for name in able], values, title, color=color, line=False
        )
    return figure


def draw_training(results: Results):
    """Accuracy while the network learns."""
    found = [name for name in MODULES if name in results.values("module")]
    titles = [MODULES[name] for name in found]
    figure = figures.panels(*titles, x="step", y="exact answers", shared_y=True)
    for panel, name in enumerate(found):
        for color, part in enumerate(("easy", "medium", "hard")):
            steps, values = results.curve(part, module=name)
            figures.add_band(figure, steps, values, part, color=color, panel=panel)
    return figure


SMALL: dict[str, Any] = {
    "entropy": (2.0, 5.0), "train": 60_000, "test": 900, "batch_size": 64, "mask_batch_size": 64,
    "learning_rate": 1e-3, "steps": 6000, "every": 500, "mask_steps": 1500, "samples": 4,
    "beta": 1e-4,
    "model.width": 64, "model.hidden": 128, "model.layers": 2, "model.dropout": 0.0,
    "model.embedding_dropout": 0.0,
}  # fmt: skip
"""Whole and decimal numbers of few digits."""

study = Study(
    name="weight-modules/mathematics",
    title="What easy questions need does not do for hard ones",
    source=Source(DOCUMENT, "Figure 3.6, Section 3.3.2, Table B.3"),
    question="Do the weights that a network needs for easy questions do for hard ones of the same "
    "kind?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(module=("sort",)),
            settings={
                "model": "lstm-encoder-decoder",
                "model.units": 3,
                "model.layers": 1,
                "model.embedding": 2,
                "entropy": (1.0, 3.0),
                "train": 30,
                "test": 6,
                "batch_size": 4,
                "mask_batch_size": 4,
                "samples": 2,
                "steps": 2,
                "every": 1,
                "mask_steps": 4,
                "mask_rate": 1.0,
            },
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(module=("add_or_sub",)),
            settings=SMALL,
            cost="not measured",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(module=tuple(MODULES)),
            depends=published,
            cost="weeks on an accelerator",
        ),
    },
    claims=(
        Claim(
            "control-masks-keep-it",
            "Under the control mask, which was learned on all difficulties, networks keep at least "
            "{0:%} of their accuracy on hard questions, in every module.",
            "Figure 3.6",
            for_all("module", lambda module: mean("control_kept", module=module) >= 0.95),
        ),
        Claim(
            "hard-questions-are-lost",
            "Under the mask of easy questions, they are right on at least {0:points} fewer of the "
            "hard ones, in every module.",
            "Figure 3.6",
            for_all("module", lambda module: mean("drop", module=module) >= 0.1),
        ),
    ),
    figures=(
        Figure(
            "modules",
            "Hard questions under masks",
            "Figure 3.6: all seeds, their mean and its 95 % interval.",
            draw_modules,
        ),
        Figure(
            "training",
            "Accuracy during training",
            "Of questions of every difficulty: mean and standard deviation over seeds.",
            draw_training,
        ),
    ),
    notes="Questions are drawn by the generator of this package. Preset laptop has sums and "
    "differences of few digits and a smaller network. Some hard questions would be easy ones, too, "
    "so that accuracy does not fall to zero. Conclusions are recorded only of networks that are "
    "right on 80 % of hard questions, and of those whose control mask leaves 95 % of that.",
)
