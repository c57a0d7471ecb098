"""What trials of this family do: learn functions in some patterns, and be tested on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import learning, tasks
from recombine.lab import Recorder, Results, check_intervals
from recombine.models import specs

from ...lab import Count, Fraction, NotNegative, Positive, Share, Whole
from ..data_router import paper
from ..data_router.networks import optimizer_of, sizes_of, untrained
from .symbols import report_symbols

PAPER_NAMES: dict[str, str] = {
    "bi-lstm": "Bi-LSTM", "ctlpp-transformer": "Transformer", "ctlpp-ndr": "NDR",
}  # fmt: skip
"""Networks of the paper's tables by the names of specs, in the order of the tables."""
CONVERGED = 0.5
"""IID accuracy that a run must exceed to count, as in Section E.1."""
SUCCESS = 0.95
"""OOD accuracy above which a run generalizes."""
BI_LSTM: dict[str, Any] = {
    "model.embedding": 256, "model.units": 128, "model.dropout": 0.5, "model.end_token": True,
}  # fmt: skip
ADAMW_ALONE: dict[str, Any] = {"b2": 0.999, "decays": False, "muon_rate": None}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    "bi-lstm": BI_LSTM | ADAMW_ALONE | {"learning_rate": 3e-3, "clip": 5.0, "steps": 16_000},
    "ctlpp-transformer": {
        "weight_decay": 0.0025, "steps": 10_000, "model.width": 128, "model.hidden": 256,
        "model.layers": 5, "model.dropout": 0.0,
    },
    "ctlpp-ndr": {
        "model.width": 64, "model.hidden": 128, "model.layers": 5, "model.test_layers": None,
        "model.dropout": 0.1,
    },
}  # fmt: skip
"""Sizes of the networks and how they learn in minutes: encoders with Muon, where the paper's AdamW
takes hours."""
TABLE_E1: dict[str, dict[str, Any]] = {
    "bi-lstm": BI_LSTM | ADAMW_ALONE | {"clip": 5.0},
    "ctlpp-transformer": ADAMW_ALONE | {"weight_decay": 0.0025, "clip": 5.0, "steps": 300_000},
    "ctlpp-ndr": ADAMW_ALONE,
}
"""Section E.1. Sizes and dropout are those of the published code, the defaults of the specs: they
alone give the parameters that can be trained of Table E.1; the table counts constants too."""
AS_IN_PAPER: dict[str, Any] = {"batch_size": 512, "learning_rate": 1.5e-4, "steps": 80_000}
"""How all networks of the paper learn where the table above does not say otherwise."""


@dataclass(frozen=True)
class Config:
    """Settings of the studies of CTL++."""

    variant: Literal["A", "R", "S"] = "A"
    """A: two groups of functions alternate in training and repeat in tests; R: the reverse; S: two
    stages of functions, which tests combine anew."""
    model: specs.AbstractSequenceSpec = specs.CTLPPNDRSpec()
    """The network that learns."""
    symbols: Count = 4
    """Number of symbols."""
    functions: Count = 20
    """Number of functions."""
    longest: Count = 4
    """Number of functions of the longest items."""
    overlap: Whole = 4
    """Functions that follow both groups of the first stage, in variant S."""
    shared: Whole = 4
    """Symbols on which each of these follows both, in variant S."""
    include_singles: bool = True
    """Train every function alone on every symbol, in variants A and R."""
    include_all_pairs: bool = False
    """Train all items of two functions that training allows."""
    estimate_counts: bool = False
    """Draw half of the published estimate of the items of a length, not half of the items, in
    variant S."""
    train: Count | None = None
    """Items to draw for training, beside those that it must have; none: half of all items, minus
    the IID tests."""
    evenness: Share = 1.0
    """How evenly lengths are drawn: with 0 every item equally often, and most items are long; with
    1 every length equally often."""
    tested: Count = 1000
    """Items of each test that does not ask for all items."""
    steps: Count = 8000
    """Number of updates."""
    batch_size: Count = 128
    """Items per update."""
    learning_rate: Positive = 1e-3
    """Learning rate of AdamW."""
    muon_rate: Positive | None = 3e-3
    """Learning rate of Muon, which changes matrices; none: AdamW changes all weights."""
    b2: Fraction = 0.95
    """Decay of AdamW's mean of squared gradients, β₂."""
    warmup_steps: Whole = 300
    """Updates over which the learning rates rise."""
    decays: bool = True
    """Whether the learning rates then fall to 0 until the last update, or stay."""
    weight_decay: NotNegative = 0.0
    """Weight decay of AdamW and of Muon."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut."""
    every: Count = 500
    """Updates between two looks at the tests."""
    buckets: Count = 1
    """Sets of like lengths; all items of a batch are of one of them."""
    data_seed: Whole | None = None
    """Seed of functions and items, so that repetitions differ in weights only; none: in all."""

    def __post_init__(self) -> None:
        if self.decays and self.steps <= self.warmup_steps:
            raise ValueError(
                f"steps={self.steps} end before warmup_steps={self.warmup_steps} are over"
            )
        check_intervals(self.steps, every=self.every)


def settings_in(table: dict[str, dict[str, Any]], condition: dict[str, Any]) -> dict[str, Any]:
    """The row of a condition's network; one that names no network has the default, NDR."""
    return table.get(paper.network_of({"model": "ctlpp-ndr"} | condition) or "", {})


def on_laptop(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes of a condition's network and how it learns at preset laptop; a user's learns as NDR."""
    return settings_in(ON_LAPTOP, condition)


def as_published(condition: dict[str, Any]) -> dict[str, Any]:
    """Sizes of a condition's network and how it learns at preset paper."""
    return AS_IN_PAPER | settings_in(TABLE_E1, condition)


def title(model: str) -> str:
    """What a network is called; one that the paper does not know keeps its name."""
    return PAPER_NAMES.get(model, model)


def networks(results: Results) -> list[str]:
    """All networks of the results: those of the paper in its order, then the others."""
    return paper.networks(results, PAPER_NAMES)


def task_of(config: Config, seed: int) -> tasks.TableLookupPatterns:
    """The functions, and what training and tests make of them."""
    make = tasks.TableLookupPatterns
    options: dict[str, Any] = {
        "longest": config.longest, "include_all_pairs": config.include_all_pairs, "seed": seed,
        "estimate_counts": config.estimate_counts,
    }  # fmt: skip
    sizes = (config.symbols, config.functions)
    if config.variant == "S":
        return make.staged(config.overlap, config.shared, *sizes, **options)
    options["include_singles"] = config.include_singles
    return (make.alternating if config.variant == "A" else make.repeating)(*sizes, **options)


def seed_of(config: Config, key) -> int:
    """The seed of functions and items. Of one key, all networks and variants have the same."""
    import jax

    if config.data_seed is not None:
        return config.data_seed
    return int(jax.random.randint(key, (), 0, 2**31 - 1))


def evened(items: tasks.LabelledSequences, evenness: float) -> tasks.LabelledSequences:
    """The same items, those of rarer lengths repeatedly.

    A length of which there are n is drawn in proportion to n^(1 − evenness).
    """
    lengths = np.asarray(items.lengths)
    by_length = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    most = max(map(len, by_length))
    times = [round(most * (len(places) / most) ** (1 - evenness)) for places in by_length]
    return items[np.concatenate([*map(np.resize, by_length, times)])]


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network on some patterns; see what it makes of others, and of symbols."""
    import equinox as eqx
    import jax

    data_key, weight_key, batch_key = jax.random.split(key, 3)
    seed = seed_of(config, data_key)
    task = task_of(config, seed)

    def frame(items: tasks.LabelledSequences) -> tasks.LabelledSequences:
        return items.framed(*specs.frame_of(config.model))

    sets = task.sets(
        train=config.train, iid=config.tested, ood=config.tested, diagnostics=True, seed=seed
    )
    # A test may ask for what no item has, such as symbols that are not shared where all are.
    tests = {name: frame(items) for name, items in sets.items() if len(items)}
    train = tests.pop("train")
    sizes = sizes_of(train)
    network = untrained(config.model, sizes, key=weight_key)
    rule = learning.Descent(
        learning.label_loss,
        learning.Mixture.of_sets(
            evened(train, config.evenness).buckets(config.buckets), config.batch_size
        ),
        optimizer_of(
            config.learning_rate, config.muon_rate, b2=config.b2, clip=config.clip,
            weight_decay=config.weight_decay, warmup_steps=config.warmup_steps,
            decay_steps=config.steps if config.decays else 0,
        ),
        key=batch_key,
        measure=learning.SequenceAccuracy({"": train[: config.tested]} | tests),
        every=config.every,
    )  # fmt: skip
    state, seen = recorder.train(
        rule, eqx.filter_jit(rule.init)(network), config.steps, chunk=config.every
    )
    recorder.keep(state.model, config.model, sizes)

    recorder.curve("loss", seen["step"], seen["loss"])
    for name in ("train", *tests):
        accuracy = seen["accuracy" if name == "train" else f"{name}_accuracy"]
        recorder.curve(name, seen["step"], accuracy)
        recorder.metric(name, accuracy[-1])
    recorder.metric("converged", seen["iid_accuracy"][-1] > CONVERGED)
    recorder.metric("success", seen["ood_accuracy"][-1] > SUCCESS)
    if config.variant != "S":
        report_symbols(state.model, task, frame, recorder)
