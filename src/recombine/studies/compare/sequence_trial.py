"""One network on one task of the suite `sequences`."""

from dataclasses import dataclass

from recombine import learning, models, probes
from recombine.lab import Count, Fraction, NotNegative, Positive, Recorder
from recombine.models import specs

from ..data_router.networks import optimizer_of, sizes_of, untrained
from .own_network import check_outputs, own_part, with_key
from .sequence_tasks import AbstractSequenceTaskSpec, LengthSpec

LOOKS = 10
"""How often the tests are looked at."""
WARMUP = 10
"""The part of training over which the learning rate rises: a tenth."""


@dataclass(frozen=True)
class Config:
    """Settings of the study."""

    model: specs.AbstractSequenceSpec = specs.NDRSpec()
    """The network."""
    task: AbstractSequenceTaskSpec = LengthSpec()
    """What it learns, and what is new in tests."""
    steps: Count = 1000
    """Number of updates, a multiple of 10."""
    batch_size: Count = 64
    """Items per update."""
    buckets: Count = 1
    """Sets of like lengths; all items of a batch are of one of them."""
    learning_rate: Positive = 3e-3
    """Learning rate of AdamW, which rises over a tenth of training and then falls to 0."""
    muon_rate: Positive | None = None
    """Learning rate of Muon, which changes matrices; none: AdamW changes all weights."""
    b2: Fraction = 0.95
    """Decay of AdamW's mean of squared gradients, β₂."""
    weight_decay: NotNegative = 0.01
    """Weight decay of AdamW and of Muon."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut."""

    def __post_init__(self) -> None:
        if self.steps % LOOKS:
            raise ValueError(f"steps={self.steps} is not a multiple of {LOOKS}")


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network; measure it on familiar items and on new ones.

    Of one key, all networks see the same items.
    """
    import equinox as eqx
    import jax

    of_weights, of_data, of_batches = jax.random.split(key, 3)
    frame = specs.frame_of(config.model)
    train, familiar, new = (part.framed(*frame) for part in config.task.build(None, of_data))
    sizes = sizes_of(train)
    network = with_key(untrained(config.model, sizes, key=of_weights))
    few = train[:2]
    check_outputs(network, (few.tokens, few.lengths), (2, train.classes))
    rule = learning.Descent(
        learning.label_loss,
        learning.Mixture.of_sets(train.buckets(config.buckets), config.batch_size),
        optimizer_of(
            config.learning_rate, config.muon_rate, b2=config.b2, clip=config.clip,
            weight_decay=config.weight_decay, warmup_steps=config.steps // WARMUP,
            decay_steps=config.steps,
        ),
        key=of_batches,
        measure=learning.SequenceAccuracy(
            {"": train[: len(new)], "familiar": familiar, "new": new}
        ),
        every=config.steps // LOOKS,
    )  # fmt: skip
    state, seen = recorder.train(rule, eqx.filter_jit(rule.init)(network), config.steps)
    recorder.keep(own_part(state.model), config.model, sizes)
    recorder.curve("loss", seen["step"], seen["loss"])
    for name, curve in (("train", ""), ("familiar", "familiar_"), ("new", "new_")):
        recorder.curve(name, seen["step"], seen[f"{curve}accuracy"])
        recorder.metric(name, seen[f"{curve}accuracy"][-1])
    recorder.metric("guessing", probes.majority_share(new))
    recorder.metric("parameters", models.count_parameters(network))
