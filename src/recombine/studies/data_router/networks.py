"""The networks of the family, and how they learn."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import learning, models, probes
from recombine.lab import Recorder, check_counts, check_intervals
from recombine.models import specs

Readout = Literal["first", "last"]
SPECS: dict[str, Any] = {
    "LSTM": specs.LSTMSpec,
    "Bidirectional LSTM": specs.BiLSTMSpec,
    "DNC": specs.DNCSpec,
    "Transformer": specs.TransformerSpec,
    "+ rel": specs.RelativeTransformerSpec,
    "+ rel + gate": specs.GatedRelativeTransformerSpec,
    "+ abs/rel + gate": specs.GatedPositionTransformerSpec,
    "+ geom.": specs.GeometricTransformerSpec,
    "NDR": specs.NDRSpec,
}
"""The networks, by their names in the paper."""
RECURRENT = ("LSTM", "Bidirectional LSTM", "DNC")
LEARNING_AS_PUBLISHED: dict[str, Any] = {
    "matrix_rate": None, "b2": 0.999, "warm_up": 0, "falls": False, "match_bias": 0.0,
}  # fmt: skip
"""AdamW changes all weights, at a constant rate, and geometric attention starts without a bias."""


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is like and how it learns: settings of all studies of the family."""

    model: str = "NDR"
    """The network, by its name in the paper."""
    readout: Readout = "last"
    """The column of a transformer from which the answer is read."""
    size: int = 128
    """Of a column, d_model."""
    hidden: int = 256
    """Units of a feed-forward network, d_FF."""
    heads: int = 8
    """Of attention."""
    match_bias: float = 0.0
    """Where the bias of matches starts in geometric attention."""
    layers: int = 10
    """How many times the layer of a transformer is applied."""
    units: int = 64
    """Units of an LSTM in each direction, and of the one that controls a DNC."""
    embedding: int = 64
    """Numbers that stand for a token in front of an LSTM or a DNC."""
    dropout: float = 0.1
    """Of columns, hidden units, and what an LSTM reads."""
    attention_dropout: float = 0.1
    """Of keys; of the plain transformer, of the weights of attention."""
    gate_dropout: float = 0.1
    """How often a column is copied in training whatever its gates say."""
    learning_rate: float = 1e-3
    """Of AdamW."""
    matrix_rate: float | None = 7e-3
    """Of Muon, which changes matrices in place of AdamW; none: AdamW changes all."""
    b2: float = 0.95
    """Of AdamW: how slowly the mean of squared gradients changes."""
    warm_up: int = 300
    """Updates over which the learning rate rises."""
    falls: bool = True
    """Whether it then falls to 0 until the last update, or stays."""
    weight_decay: float = 0.01
    """Of AdamW, and of Muon."""
    clip: float = 1.0
    """Norm to which longer gradients are cut."""
    buckets: int = 5
    """Sets of like lengths; a batch is of one of them."""
    batch: int = 64
    """Items a step."""
    steps: int = 5000
    """Updates."""
    every: int = 500
    """Updates between two measurements."""
    evaluated: int = 1000
    """Items on which accuracy is measured."""

    def __post_init__(self) -> None:
        check_counts(
            self, "size", "hidden", "heads", "layers", "units", "embedding", "buckets", "batch",
            "evaluated",
        )  # fmt: skip
        check_intervals(self.steps, every=self.every)
        if self.falls and self.steps <= self.warm_up:
            raise ValueError(f"steps={self.steps} end before warm_up={self.warm_up} is over")
        if self.model in RECURRENT and self.readout != "last":
            raise ValueError(f"{self.model} is no transformer: it has no readout")


class Data(NamedTuple):
    """What a network learns from and is measured on."""

    batches: Any
    """What a step learns from."""
    seen: Any
    """Training items to measure."""
    tests: dict[str, Any]
    """By name: `iid`, whose accuracy at the end is reported, `depth_valid`, which chooses the
    network, and the test of the study."""


class Fitted(NamedTuple):
    """What training gives."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""


def spec_of(config: Any, *, recurrent_layers: int = 1, test_layers: int | None = None) -> Any:
    """The spec of the network that settings name, without halting.

    **Arguments:**

    - `config`: a `NetworkConfig`; of a DNC, one with `cells`, `word` and `read_heads`.
    - `recurrent_layers`: number of layers of an LSTM.
    - `test_layers`: number of layers of a transformer after training, if it differs.
    """
    spec = SPECS[config.model]()
    if config.model in RECURRENT:
        settings = {"embedding": config.embedding, "units": config.units, "dropout": config.dropout}
        if config.model == "DNC":
            settings |= {"cells": config.cells, "word": config.word, "heads": config.read_heads}
            settings |= {"output_layer": config.published}
        else:
            settings |= {"layers": recurrent_layers}
        return replace(spec, **settings)
    attention: dict[str, Any] = {"dropout": config.attention_dropout}
    if isinstance(spec.attention, specs.GeometricAttentionSpec):
        attention |= {"bias": config.match_bias}
    block = spec.block
    if isinstance(block, specs.CopyGateSpec):
        block = replace(block, gate_dropout=config.gate_dropout)
    return replace(
        spec, width=config.size, hidden=config.hidden, heads=config.heads, layers=config.layers,
        test_layers=test_layers, dropout=config.dropout, reads=config.readout, block=block,
        attention=replace(spec.attention, **attention),
    )  # fmt: skip


def plain_network(config: Any, words: int, classes: int, *, key, **options) -> Any:
    """The network that settings name, without halting; the options are those of `spec_of`."""
    return spec_of(config, **options).build(specs.SequenceSizes(words, classes), key)


def optimizer_of(
    learning_rate: float, matrix_rate: float | None, *, b2: float, clip: float,
    weight_decay: float, warmup_steps: int, decay_steps: int,
) -> "learning.Optimizer":  # fmt: skip
    """AdamW after clipping, with rates that rise and fall; for matrices Muon, if it has a rate."""

    def scheduled(rate: float) -> "learning.WarmupLinear":
        return learning.WarmupLinear(rate, warmup_steps, decay_steps)

    others = scheduled(learning_rate)
    if matrix_rate is None:
        after = learning.adamw(others, b2=b2, weight_decay=weight_decay)
    else:
        after = learning.muon(scheduled(matrix_rate), others, b2=b2, weight_decay=weight_decay)
    return learning.chain(learning.clip(clip), after)


def fit(
    config: NetworkConfig,
    made,
    data: Data,
    key,
    recorder: Recorder,
    *,
    test: str = "longer",
    objective=None,
) -> Fitted:
    """Train a network, and report how well it does during training.

    **Arguments:**

    - `made`: the network.
    - `key`: of batches and dropout.
    - `test`: the test whose accuracy is reported, at the chosen network and at the end.
    - `objective`: by default cross-entropy.
    """
    import equinox as eqx

    rule = learning.Descent(
        learning.label_loss if objective is None else objective,
        data.batches,
        optimizer_of(
            config.learning_rate, config.matrix_rate, b2=config.b2, clip=config.clip,
            weight_decay=config.weight_decay, warmup_steps=config.warm_up,
            decay_steps=config.steps if config.falls else 0,
        ),
        key=key,
        measure=learning.SequenceAccuracy({"": data.seen} | data.tests),
        keep=learning.Best("depth_valid_accuracy"),
        every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, eqx.filter_jit(rule.init)(made), config.steps)

    chosen, step = rule.kept(state)
    place = list(curves["step"]).index(step)
    accuracies = {name: curves[f"{name}_accuracy"] for name in ("iid", "depth_valid", test)}
    for name, values in ({"train": curves["accuracy"]} | accuracies).items():
        recorder.curve(name, curves["step"], values)
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.metric("iid", accuracies["iid"][-1])
    recorder.metric(test, accuracies[test][place])
    recorder.metric(f"{test}_at_end", accuracies[test][-1])
    recorder.metric("chosen_at", curves["step"][place])
    iid = data.tests["iid"]
    chance = probes.majority_share(iid)
    recorder.metric("left_chance", probes.left_chance(accuracies["iid"], chance, len(iid)))
    recorder.metric("parameters", models.count_parameters(made))
    return Fitted(chosen, curves)
