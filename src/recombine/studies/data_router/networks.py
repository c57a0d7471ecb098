"""How the networks of the family learn."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recombine import learning, models, probes
from recombine.lab import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    Recorder,
    Whole,
    check_intervals,
)
from recombine.models import specs

LEARNING_AS_PUBLISHED: dict[str, Any] = {
    "muon_rate": None, "b2": 0.999, "warmup_steps": 0, "decays": False,
}  # fmt: skip
"""AdamW changes all weights, at a constant rate."""


@dataclass(frozen=True)
class NetworkConfig:
    """The network and how it learns: settings of all studies of the family."""

    model: specs.AbstractSequenceSpec = specs.NDRSpec()
    """The network."""
    learning_rate: Positive = 1e-3
    """Learning rate of AdamW."""
    muon_rate: Positive | None = 7e-3
    """Learning rate of Muon, which changes matrices; none: AdamW changes all weights."""
    b2: Fraction = 0.95
    """Decay of AdamW's mean of squared gradients, β₂."""
    warmup_steps: Whole = 300
    """Updates over which the learning rates rise."""
    decays: bool = True
    """Whether the learning rates then fall to 0 until the last update, or stay."""
    weight_decay: NotNegative = 0.01
    """Weight decay of AdamW and of Muon."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut."""
    buckets: Count = 5
    """Sets of like lengths; all items of a batch are of one of them."""
    batch_size: Count = 64
    """Items per update."""
    steps: Count = 5000
    """Number of updates."""
    every: Count = 500
    """Updates between two measurements."""
    evaluated: Count = 1000
    """Items on which accuracy is measured."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)
        if self.decays and self.steps <= self.warmup_steps:
            raise ValueError(
                f"steps={self.steps} end before warmup_steps={self.warmup_steps} are over"
            )


class Data(NamedTuple):
    """What a network learns from and is measured on."""

    batches: Any
    """The batches of all updates."""
    seen: Any
    """Training items to measure."""
    tests: dict[str, Any]
    """Items by name: `iid`, whose accuracy at the end is reported, `depth_valid`, which chooses the
    network, and the test of the study."""


class Fitted(NamedTuple):
    """What training gives."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""


def sizes_of(items: Any) -> specs.SequenceSizes:
    """The sizes that items ask of a network."""
    return specs.SequenceSizes(len(items.vocabulary) - 1, items.classes)


def untrained(spec: specs.AbstractSequenceSpec, sizes: specs.SequenceSizes, *, key) -> Any:
    """The network of a spec. All seeds share one compiled program."""
    import equinox as eqx

    return eqx.filter_jit(_built)(spec, sizes, key)


def _built(spec, sizes, key):
    return spec.build(sizes, key)


def optimizer_of(
    learning_rate: float, muon_rate: float | None, *, b2: float, clip: float,
    weight_decay: float, warmup_steps: int, decay_steps: int,
) -> "learning.Optimizer":  # fmt: skip
    """AdamW after clipping, with rates that rise and fall; for matrices Muon, if it has a rate."""

    def scheduled(rate: float) -> "learning.WarmupLinear":
        return learning.WarmupLinear(rate, warmup_steps, decay_steps)

    others = scheduled(learning_rate)
    if muon_rate is None:
        after = learning.adamw(others, b2=b2, weight_decay=weight_decay)
    else:
        after = learning.muon(scheduled(muon_rate), others, b2=b2, weight_decay=weight_decay)
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

    - `made`: the untrained network.
    - `key`: for batches and dropout.
    - `test`: the test whose accuracy is reported, of the chosen network and at the end.
    - `objective`: by default cross-entropy.
    """
    import equinox as eqx

    rule = learning.Descent(
        learning.label_loss if objective is None else objective,
        data.batches,
        optimizer_of(
            config.learning_rate, config.muon_rate, b2=config.b2, clip=config.clip,
            weight_decay=config.weight_decay, warmup_steps=config.warmup_steps,
            decay_steps=config.steps if config.decays else 0,
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
