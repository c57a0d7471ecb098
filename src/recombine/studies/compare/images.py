"""Image classifiers, on new pairs of images and in new places."""

from functools import partial
from typing import Any

from recombine.lab import Claim, Figure, Preset, Source, Study, grid, mean, per_seed

from .image_trial import Config, trial
from .suite import draw_learning, draw_suite

MODELS = ("mlp", "cnn")
TASKS = {
    "hint": "hint: pairs without it",
    "sum": "sum: pairs held out",
    "position": "position: the other side",
}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "mlp": {"model.hidden": (128, 128)},
    "cnn": {"model.channels": (16, 32, 64), "model.early_dropout": 0.0, "model.late_dropout": 0.0},
}
"""Sizes of the networks that come with the package."""
SMOKE: dict[str, Any] = {
    "steps": 10, "batch_size": 8, "task.train": 40, "task.tested": 20, "model.hidden": (8,),
}  # fmt: skip


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes of a condition's network; a user's own has its own."""
    model = condition["model"]
    return ON_LAPTOP.get(model if isinstance(model, str) else getattr(model, "name", ""), {})


def gap(model: str):
    """Accuracy on familiar pairs minus that on new ones, where one image hints at the other."""
    where = {"model": model, "task": "hint"}
    return mean(per_seed("familiar", **where) - per_seed("new", **where))


study = Study(
    name="compare/images",
    title="Image classifiers on what is new: pairs of images, sums, places",
    source=Source(
        "Gradient descent resists compositionality (anonymous ICLR 2021 submission)",
        "Section 5.1, in small; suite of this package",
    ),
    question="On which kinds of new combinations does an image classifier do as well as on "
    "familiar ones?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(task=("hint", "position"), model=("mlp",)),
            settings=SMOKE,
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            depends=on_laptop,
            cost="about 4 min on two cores, not yet measured",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            settings={"steps": 10_000, "task.train": 60_000},
            cost="an hour on two cores",
        ),
    },
    claims=(
        Claim(
            "a-gap-with-the-hint",
            "Where the right image hints at the left one in training, accuracy of the "
            "convolutional network is lower on pairs without the hint, by {0:points} or more.",
            "Figure 3a",
            gap("cnn") >= 0.15,
        ),
    ),
    figures=(
        Figure(
            "suite",
            "Familiar and new pairs",
            "All seeds, means and 95 % intervals over seeds, by network and task.",
            partial(draw_suite, tasks=TASKS, models=MODELS),
        ),
        Figure(
            "learning",
            "New pairs during training",
            "Means over seeds, with bands of one standard deviation on either side.",
            partial(draw_learning, tasks=TASKS, models=MODELS),
        ),
    ),
    notes="A suite to hold a network of one's own against others (`recombine compare`), not a "
    "study of the paper. All inputs are two 8 x 8 digits of scikit-learn side by side, or one "
    "beside an empty half; images of tests are never trained.",
)
