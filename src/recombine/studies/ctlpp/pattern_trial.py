"""What trials of this family do: learn functions in some patterns, and be tested on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from recombine import learning, tasks
from recombine.lab import Recorder, check_counts, check_intervals
from recombine.models import specs

from ..data_router.networks import optimizer_of
from .symbols import report_symbols

Model = Literal["bi-lstm", "transformer", "ndr"]
MODELS: dict[str, str] = {"bi-lstm": "Bi-LSTM", "transformer": "Transformer", "ndr": "NDR"}
"""The networks, and their names in the paper's tables."""
CONVERGED = 0.5
"""IID accuracy that a run must exceed to count, as in Section E.1."""
SUCCESS = 0.95
"""OOD accuracy above which a run generalizes."""


@dataclass(frozen=True)
class Recipe:
    """Sizes of a network, and how it learns."""

    size: int
    """Of a column; of the LSTM, of an embedding and of both directions together."""
    hidden: int
    heads: int
    layers: int
    """How many times the one layer is applied."""
    test_layers: int
    dropout: float
    batch: int
    learning_rate: float
    weight_decay: float
    clip: float
    steps: int
    b2: float = 0.999
    """Of AdamW: how slowly the mean of squared gradients changes."""
    falls: bool = False
    """Whether the learning rate falls to 0 until the last step, or stays."""
    matrix_rate: float | None = None
    """Of Muon, which changes matrices in place of AdamW; none: AdamW changes all."""


MUON: dict[str, Any] = {"b2": 0.95, "falls": True, "matrix_rate": 3e-3}
"""How encoders learn in minutes; the paper's AdamW takes hours."""
RECIPES: dict[str, dict[str, Recipe]] = {
    "mini": {
        "bi-lstm": Recipe(256, 0, 1, 1, 1, 0.5, 128, 3e-3, 0.0, 5.0, 16_000),
        "transformer": Recipe(128, 256, 4, 5, 5, 0.0, 128, 1e-3, 0.0025, 1.0, 10_000, **MUON),
        "ndr": Recipe(64, 128, 4, 5, 5, 0.1, 128, 1e-3, 0.0, 1.0, 8000, **MUON),
    },
    # Section E.1 with the sizes and the dropout of the published code, which alone give the
    # parameters that can be trained of Table E.1; the table counts constants too.
    "published": {
        "bi-lstm": Recipe(256, 0, 1, 1, 1, 0.5, 512, 1.5e-4, 0.0, 5.0, 80_000),
        "transformer": Recipe(128, 256, 4, 8, 8, 0.1, 512, 1.5e-4, 0.0025, 5.0, 300_000),
        "ndr": Recipe(256, 512, 4, 8, 10, 0.5, 512, 1.5e-4, 0.0, 1.0, 80_000),
    },
}


@dataclass(frozen=True)
class Config:
    """Settings of the studies of CTL++."""

    variant: Literal["A", "R", "S"] = "A"
    """A: two groups of functions alternate in training and repeat in tests; R: the reverse; S: two
    stages of functions, which tests combine anew."""
    model: Model = "ndr"
    """The network that learns."""
    recipe: Literal["mini", "published"] = "mini"
    """Sizes and rates of the networks: those of the paper, or smaller ones."""
    symbols: int = 4
    """How many symbols there are."""
    functions: int = 20
    """How many functions there are."""
    longest: int = 4
    """Functions of the longest items."""
    overlap: int = 4
    """Of S: functions that follow both groups of the first stage."""
    shared: int = 4
    """Of S: symbols on which each of these follows both."""
    include_singles: bool = True
    """Of A and R: train every function alone on every symbol."""
    include_all_pairs: bool = False
    """Train all items of two functions that training allows."""
    estimate_counts: bool = False
    """Of S: draw half of the published estimate of the items of a length, not half of the items."""
    train: int | None = None
    """Items to draw for training, beside those that it must have; none: half of all that there
    are, minus the IID tests."""
    evenness: float = 1.0
    """How evenly lengths are drawn: with 0 every item equally often, and most items are long; with
    1 every length equally often."""
    tested: int = 1000
    """Items of each test that does not ask for all there are."""
    steps: int | None = None
    """Updates; none: those of the recipe, and so for the four below."""
    size: int | None = None
    """Numbers of a column."""
    layers: int | None = None
    """How many times a layer is applied, in training and tests."""
    batch: int | None = None
    """Items an update."""
    learning_rate: float | None = None
    """Learning rate of AdamW."""
    warm_up: int = 300
    """Updates over which the learning rate rises."""
    every: int = 500
    """Updates between two looks at the tests."""
    buckets: int = 1
    """Of how many widths batches are."""
    data_seed: int | None = None
    """Seed of functions and items, so that repetitions differ in weights only; none: in all."""

    def __post_init__(self) -> None:
        if not 0 <= self.evenness <= 1:
            raise ValueError(f"evenness={self.evenness} is not between 0 and 1")
        check_counts(self, "train", "tested", "size", "layers", "batch", "buckets")
        recipe = recipe_of(self)
        if recipe.falls and recipe.steps <= self.warm_up:
            raise ValueError(f"steps={recipe.steps} end before warm_up={self.warm_up} is over")
        check_intervals(recipe.steps, every=self.every)


def recipe_of(config: Config) -> Recipe:
    """The recipe of a network, with what the config changes."""
    names = ("steps", "size", "layers", "batch", "learning_rate")
    changed = {name: getattr(config, name) for name in names if getattr(config, name) is not None}
    if "layers" in changed:
        changed["test_layers"] = changed["layers"]
    return replace(RECIPES[config.recipe][config.model], **changed)


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


def frame_of(config: Config) -> Callable[[tasks.LabelledSequences], tasks.LabelledSequences]:
    """What is done to items before a network reads them: all end in E, and encoders begin at B."""
    return lambda items: items.framed(begin=config.model != "bi-lstm")


def network_of(config: Config, words: int, classes: int, key):
    """The untrained network."""
    recipe = recipe_of(config)
    spec: specs.AbstractSequenceSpec
    if config.model == "bi-lstm":
        spec = specs.BiLSTMSpec(
            embedding=recipe.size, units=recipe.size // 2, dropout=recipe.dropout, end_token=True
        )
    else:
        kind = {"transformer": specs.CTLPPTransformerSpec, "ndr": specs.CTLPPNDRSpec}[config.model]
        spec = kind(
            width=recipe.size, hidden=recipe.hidden, heads=recipe.heads, layers=recipe.layers,
            test_layers=recipe.test_layers, dropout=recipe.dropout,
        )  # fmt: skip
    return spec.build(specs.SequenceSizes(words, classes), key)


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
    task, frame, recipe = task_of(config, seed), frame_of(config), recipe_of(config)
    sets = task.sets(
        train=config.train, iid=config.tested, ood=config.tested, diagnostics=True, seed=seed
    )
    # A test may ask for what no item has, such as symbols that are not shared where all are.
    tests = {name: frame(items) for name, items in sets.items() if len(items)}
    train = tests.pop("train")
    network = eqx.filter_jit(network_of)(
        config, len(train.vocabulary) - 1, train.classes, weight_key
    )
    rule = learning.Descent(
        learning.label_loss,
        learning.Mixture.of_sets(
            evened(train, config.evenness).buckets(config.buckets), recipe.batch
        ),
        optimizer_of(
            recipe.learning_rate, recipe.matrix_rate, b2=recipe.b2, clip=recipe.clip,
            weight_decay=recipe.weight_decay, warmup_steps=config.warm_up,
            decay_steps=recipe.steps if recipe.falls else 0,
        ),
        key=batch_key,
        measure=learning.SequenceAccuracy({"": train[: config.tested]} | tests),
        every=config.every,
    )  # fmt: skip
    state, seen = recorder.train(
        rule, eqx.filter_jit(rule.init)(network), recipe.steps, chunk=config.every
    )

    recorder.curve("loss", seen["step"], seen["loss"])
    for name in ("train", *tests):
        accuracy = seen["accuracy" if name == "train" else f"{name}_accuracy"]
        recorder.curve(name, seen["step"], accuracy)
        recorder.metric(name, accuracy[-1])
    recorder.metric("converged", seen["iid_accuracy"][-1] > CONVERGED)
    recorder.metric("success", seen["ood_accuracy"][-1] > SUCCESS)
    if config.variant != "S":
        report_symbols(state.model, task, frame, recorder)
