"""Networks from sequences to sequences, on new lengths, depths, combinations and places."""

from functools import partial
from typing import Any

from recombine.lab import Claim, Figure, Preset, Source, Study, grid, paired, per_seed

from . import DOCUMENT
from .pair_trial import Config, trial
from .suite import draw_learning, draw_suite

MODELS = ("lstm-encoder-decoder", "universal", "relative-universal")
TASKS = {
    "length": "length: more actions",
    "depth": "depth: more functions",
    "systematicity": "systematicity: jump",
    "position": "position: larger numbers",
}
SMALL: dict[str, Any] = {
    "model.width": 64, "model.hidden": 128, "model.heads": 4, "model.layers": 3,
}  # fmt: skip
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "lstm-encoder-decoder": {"model.units": 128, "model.embedding": 32, "model.dropout": 0.1},
    "universal": SMALL,
    "relative-universal": SMALL,
}
"""Sizes of the networks that come with the package."""
SMOKE: dict[str, Any] = {
    "steps": 10, "batch_size": 4, "task.tested": 8, "model.units": 8, "model.embedding": 4,
    "model.layers": 1,
}  # fmt: skip


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes of a condition's network; a user's own has its own."""
    model = condition["model"]
    return ON_LAPTOP.get(model if isinstance(model, str) else getattr(model, "name", ""), {})


study = Study(
    name="compare/seq2seq",
    title="Networks from sequences to sequences on what is new: length, depth, jump, places",
    source=Source(DOCUMENT, "Tables 4.1, 4.3 and 4.4, in small; suite of this package"),
    question="On which kinds of new combinations does a network from sequences to sequences do as "
    "well as on familiar ones?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(task=("systematicity",), model=("lstm-encoder-decoder",)),
            settings=SMOKE,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            depends=on_laptop,
            cost="about 30 min on two cores, not yet measured",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(task=tuple(TASKS), model=MODELS),
            settings={"steps": 50_000, "batch_size": 256},
            cost="hours per network on two cores",
        ),
    },
    claims=(
        Claim(
            "relative-positions-write-longer-outputs",
            "On longer outputs the universal transformer with relative positions is ahead of that "
            "with absolute ones by at least {0:points}.",
            "Table 4.1",
            paired("new", "relative-universal", "universal", task="length") >= 0.3,
            context={
                "familiar, relative": per_seed(
                    "familiar", model="relative-universal", task="length"
                )
            },
        ),
    ),
    figures=(
        Figure(
            "suite",
            "Familiar and new pairs",
            "The share of outputs that are right as a whole: all seeds, means and 95 % intervals.",
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
    "study of the paper. Pairs are those of the small problems of transformer-details; "
    "`systematicity` is the split of SCAN in which `jump` is trained alone, without `around`, "
    "`opposite`, `and` and `after`.",
)
