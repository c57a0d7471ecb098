"""Table 5.3: which networks evaluate expressions that are nested more deeply than in training?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import tasks
from recombine.lab import (
    Claim,
    Preset,
    Recorder,
    Reference,
    Share,
    Source,
    Study,
    Whole,
    all_of,
    for_all,
    grid,
    mean,
    paired,
)

from . import DOCUMENT
from .expression_results import (
    BI_LSTM_AS_PUBLISHED,
    LAPTOP_MODELS,
    SMOKE,
    all_learn,
    beside,
    on_laptop,
    published,
    router_ahead,
    router_computes,
    table_figures,
)
from .expression_trial import MODELS, learn
from .expression_trial import Config as ExpressionConfig
from .networks import LEARNING_AS_PUBLISHED
from .paper import network_of


@dataclass(frozen=True)
class Config(ExpressionConfig):
    """Settings of the study of simple arithmetic."""

    nested: Share = 0.2
    """Probability that an argument is an operation, in training."""
    deeper_nested: Share = 0.3
    """Probability that an argument is an operation, in deeper expressions."""
    early: Whole = 5000
    """Updates after which a network is also chosen: the column 50k of Table 5.3."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.every <= self.early <= self.steps:
            raise ValueError(
                f"early={self.early} is not between every={self.every} and steps={self.steps}"
            )


def task_of(config: Config) -> Any:
    """The task of some settings."""
    return tasks.SimpleArithmetic(
        config.digits, config.longest, config.depths, config.valid_depths, config.deeper_depths,
        config.nested, config.deeper_nested,
    )  # fmt: skip


def early_accuracy(curves: dict[str, np.ndarray], early: int) -> float:
    """Accuracy on deeper expressions of the network that is chosen of the first ones."""
    first = (curves["step"] > 0) & (curves["step"] <= early)
    valid, deeper = (curves[f"{name}_accuracy"][first] for name in ("depth_valid", "deeper"))
    # The last of equally good ones, as `learning.Best` has it.
    return float(deeper[len(valid) - 1 - valid[::-1].argmax()])


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn, and be tested on expressions of every depth."""
    learned = learn(config, task_of(config), key, recorder)
    recorder.metric("deeper_early", early_accuracy(learned.curves, config.early))


RECURRENT_SETTINGS: dict[str, Any] = {
    "weight_decay": 0.0, "learning_rate": 1e-3, "batch_size": 256, "buckets": 1, "clip": 5.0,
    "steps": 200_000, "model.units": 200, "model.embedding": 200, "model.layers": 2,
    "model.dropout": 0.5,
}  # fmt: skip
UNGATED_SETTINGS: dict[str, Any] = {
    "learning_rate": 1.5e-4, "weight_decay": 0.0025, "batch_size": 512, "steps": 200_000,
    "buckets": 10, "model.width": 128, "model.hidden": 256, "model.heads": 4, "model.layers": 11,
    "model.dropout": 0.5, "model.reads": "first",
}  # fmt: skip
GATED_SETTINGS: dict[str, Any] = {
    "learning_rate": 1.5e-4, "batch_size": 512, "steps": 100_000, "buckets": 10,
    "model.width": 256, "model.hidden": 1024, "model.heads": 4, "model.layers": 15,
    "model.dropout": 0.5, "model.attention.dropout": 0.1, "model.block.gate_dropout": 0.1,
}  # fmt: skip
TABLE_D4: dict[str, dict[str, Any]] = {
    "lstm": RECURRENT_SETTINGS,
    "bi-lstm": RECURRENT_SETTINGS | BI_LSTM_AS_PUBLISHED,
    "transformer": UNGATED_SETTINGS | {"model.attention.dropout": 0.0},
    "relative": UNGATED_SETTINGS | {"model.attention.dropout": 0.1},
    "position-gate": GATED_SETTINGS,
    "ndr": GATED_SETTINGS,
}
"""The paper's settings of every network; all transformers have batches of like lengths."""
AS_PUBLISHED: dict[str, Any] = LEARNING_AS_PUBLISHED | {
    "digits": 10, "longest": 50, "depths": (2, 5), "valid_depths": (6, 6), "deeper_depths": (7, 8),
    "train": 100_000, "every": 1000, "early": 50_000,
}  # fmt: skip
"""The task and its sets: Sections 5.2.2 and D.3.2."""


def as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition at preset paper: the settings of its network."""
    return TABLE_D4.get(network_of(condition) or "", {})


def in_table(model: str) -> Reference:
    """The published accuracy on deeper expressions."""
    return published("table-5.3", model, "200k", "deeper")


study = Study(
    name="data-router/arithmetic",
    title="The neural data router evaluates expressions that are nested more deeply",
    source=Source(DOCUMENT, "Table 5.3, Section 5.2.2"),
    question="Which networks evaluate sums and products that are nested more deeply than in "
    "training?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(model=("ndr",)),
            settings=SMOKE | {"early": 1},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(model=LAPTOP_MODELS),
            depends=on_laptop,
            cost="90 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(model=MODELS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="a day on an accelerator; weeks per transformer on two cores",
        ),
    },
    claims=(
        router_ahead("deeper expressions", "Table 5.3"),
        router_computes("deeper expressions", "Table 5.3"),
        Claim(
            "router-generalizes",
            "NDR is right on at least {0:%} of deeper expressions, also early in training.",
            "Table 5.3",
            all_of(mean(m, model="ndr") >= 0.95 for m in ("deeper", "deeper_early")),
        ),
        Claim(
            "router-best",
            "On deeper expressions NDR is better than all other networks.",
            "Table 5.3",
            for_all("model", lambda m: paired("deeper", "ndr", m) > 0, among=MODELS, but=("ndr",)),
        ),
        Claim(
            "others-fall-short",
            "All other networks are right on at most {0:%} of deeper expressions.",
            "Table 5.3",
            for_all("model", lambda m: mean("deeper", model=m) <= 0.85, among=MODELS, but=("ndr",)),
        ),
        all_learn("expressions", "Table 5.3", 0.98),
    ),
    figures=table_figures("Table 5.3", in_table),
    beside=tuple(
        row
        for model in MODELS
        for row in (
            beside("table-5.3", model, "200k", "iid"),
            beside("table-5.3", model, "200k", "deeper"),
            beside("table-5.3", model, "50k", "deeper", "deeper_early"),
        )
    ),
    notes="The task of preset laptop is smaller than the paper's: digits 0 to 4, values modulo 5, "
    "depths 1 to 3 in training, 4 to choose on, 4 and 5 to test. The rows LSTM and Transformer are "
    "in preset paper only. In the paper the gated networks stop after 100,000 steps, and 50k is "
    "half of that; here early is half of all steps.",
)
