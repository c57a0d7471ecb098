"""What trials on nested expressions share: learn shallow ones, meet deeper ones."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import probes, tasks
from recombine.lab import Run

from .lookup_trial import RECURRENT, Readout, fit, plain_network

Model = Literal[
    "LSTM", "Bidirectional LSTM", "Transformer", "+ rel", "+ abs/rel + gate", "NDR"
]  # fmt: skip
MODELS: tuple[Model, ...] = (
    "LSTM", "Bidirectional LSTM", "Transformer", "+ rel", "+ abs/rel + gate", "NDR"
)  # fmt: skip
"""The rows of Tables 5.3 and 5.4, in their order."""


@dataclass(frozen=True)
class Config:
    """Settings of the studies of nested expressions."""

    model: Model = "NDR"
    """The network, by its name in Tables 5.3 and 5.4."""
    readout: Readout = "last"
    """The column of a transformer from which the value is read."""
    digits: int = 5
    """How many digits there are, from 0 on; sums and products are modulo this number."""
    longest: int = 25
    """Tokens of an expression; a list counts one more for every operation."""
    depths: tuple[int, int] = (2, 3)
    """The least and the greatest depth in training."""
    valid_depths: tuple[int, int] = (4, 4)
    """The same of the expressions on which a network is chosen."""
    deeper_depths: tuple[int, int] = (5, 5)
    """The same of the expressions on which it is tested."""
    train: int = 20_000
    """Expressions to learn."""
    buckets: int = 3
    """Sets of like lengths; a batch is of one of them."""
    size: int = 64
    """Of a column, d_model."""
    hidden: int = 128
    """Units of a feed-forward network, d_FF."""
    heads: int = 8
    """Of attention."""
    match_bias: float = 0.0
    """Where the bias of matches starts in geometric attention."""
    layers: int = 11
    """How many times the layer of a transformer is applied."""
    extra_layers: int = 0
    """How many times more after training."""
    units: int = 64
    """Units of an LSTM in each direction."""
    embedding: int = 64
    """Numbers that stand for a token in front of an LSTM."""
    recurrent_layers: int = 2
    """Of an LSTM."""
    dropout: float = 0.2
    """Of columns, hidden units, and what an LSTM reads."""
    attention_dropout: float = 0.1
    """Of keys; without relative positions, of the weights of attention."""
    gate_dropout: float = 0.1
    """How often a column is copied in training whatever its gates say."""
    learning_rate: float = 1e-3
    """Of AdamW."""
    matrix_rate: float | None = 7e-3
    """Of Muon, which changes matrices of weights in place of AdamW; none: AdamW changes all."""
    b2: float = 0.95
    """Of AdamW: how slowly the mean of squared gradients changes."""
    warm_up: int = 300
    """Updates over which the learning rate rises."""
    falls: bool = True
    """Whether it then falls to 0 until the last update, or stays."""
    weight_decay: float = 0.01
    """Of AdamW."""
    clip: float = 1.0
    """Norm to which longer gradients are cut."""
    batch: int = 64
    """Expressions a step."""
    steps: int = 10_000
    """Updates."""
    every: int = 500
    """Updates between two measurements."""
    evaluated: int = 1000
    """Expressions on which accuracy is measured."""

    def __post_init__(self) -> None:
        if self.steps % self.every:
            raise ValueError(f"steps={self.steps} is not a multiple of every={self.every}")
        if self.falls and self.steps <= self.warm_up:
            raise ValueError(f"steps={self.steps} end before warm_up={self.warm_up} is over")
        if self.model in RECURRENT and (self.readout != "last" or self.extra_layers):
            raise ValueError(f"{self.model} is no transformer: it has no readout or extra layers")


class Learned(NamedTuple):
    """What is left of training."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""
    tests: dict[str, Any]
    """Expressions by name, framed if the network reads them so."""


def data_of(config: Config, task, key) -> tuple[tuple, Any, dict[str, Any], Any]:
    """Sources of batches, training items to measure, tests by name, and shares of the sources."""
    import jax

    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    sets = task.sets(train=config.train, iid=config.evaluated, tests=config.evaluated, seed=seed)
    # The network is chosen on deeper expressions.
    del sets["iid_valid"]
    if config.model not in RECURRENT:
        sets = {name: part.framed() for name, part in sets.items()}
    train = sets.pop("train")
    return train.buckets(config.buckets), train[: config.evaluated], sets, None


def learn(config: Config, task, key, run: Run) -> Learned:
    """Train a network, report how well it does, and return the chosen one.

    Of one key, all networks have the same expressions.
    """
    import equinox as eqx
    import jax

    weight_key, data_key, batch_key = jax.random.split(key, 3)
    data = data_of(config, task, data_key)
    _, seen, tests, _ = data
    made = eqx.filter_jit(plain_network)(
        config, len(seen.vocabulary) - 1, seen.classes, key=weight_key,
        recurrent_layers=config.recurrent_layers, test_layers=config.layers + config.extra_layers,
        match_bias=config.match_bias,
    )  # fmt: skip
    fitted = fit(config, made, data, batch_key, run, test="deeper")
    run.metric("majority", probes.majority_share(tests["deeper"]))
    report_depths(fitted.model, task, tests, run)
    return Learned(fitted.model, fitted.curves, tests)


def report_depths(model, task, tests: dict[str, Any], run: Run) -> None:
    """Accuracy of the chosen network on expressions of every depth."""
    items = tasks.joined(tuple(tests.values()))
    right = probes.class_scores(model, items).argmax(axis=1) == items.labels
    found = probes.accuracy_by(np.asarray(right), task.depths_of(items))
    run.curve("by_depth", found.values, found.accuracy)
