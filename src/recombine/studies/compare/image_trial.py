"""One network on one task of the suite `images`."""

from dataclasses import dataclass

from recombine import learning, models
from recombine.lab import Count, NotNegative, Positive, Recorder
from recombine.models import specs

from .image_tasks import AbstractImageTaskSpec, HintSpec
from .own_network import check_outputs, own_part, with_key
from .sequence_trial import LOOKS, WARMUP


@dataclass(frozen=True)
class Config:
    """Settings of the study."""

    model: specs.AbstractImageSpec = specs.ImageCNNSpec()
    """The network."""
    task: AbstractImageTaskSpec = HintSpec()
    """What it learns, and what is new in tests."""
    steps: Count = 1000
    """Number of updates, a multiple of 10."""
    batch_size: Count = 64
    """Inputs per update."""
    learning_rate: Positive = 2e-3
    """Learning rate of AdamW, which rises over a tenth of training and then falls to 0."""
    weight_decay: NotNegative = 0.01
    """Weight decay of AdamW."""

    def __post_init__(self) -> None:
        if self.steps % LOOKS:
            raise ValueError(f"steps={self.steps} is not a multiple of {LOOKS}")


def image_loss(model, batch, key):
    """The cross-entropy of a batch, with dropout."""
    return learning.ScoreLoss().of(model(batch.x, key=key), batch)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network; measure it on familiar pairs of images and on new ones.

    Of one key, all networks see the same inputs.
    """
    import equinox as eqx
    import jax

    of_weights, of_data, of_batches = jax.random.split(key, 3)
    sets = config.task.build(None, of_data)
    sizes = specs.ImageSizes(sets.shape, sets.classes)
    made = eqx.filter_jit(lambda spec, key: spec.build(sizes, key))(config.model, of_weights)
    network = with_key(made)
    check_outputs(network, (sets.train.x[:2],), (2, sets.classes))
    rate = learning.WarmupLinear(config.learning_rate, config.steps // WARMUP, config.steps)
    tests = {"familiar": sets.familiar, "new": sets.new}
    few = jax.tree.map(lambda rows: rows[: len(sets.new.labels)], sets.train)
    rule = learning.Descent(
        image_loss,
        learning.Drawn(sets.train, config.batch_size),
        learning.adamw(rate, weight_decay=config.weight_decay),
        key=of_batches,
        measure=learning.Accuracy({"": few} | tests),
        every=config.steps // LOOKS,
    )
    state, seen = recorder.train(rule, eqx.filter_jit(rule.init)(network), config.steps)
    recorder.keep(own_part(state.model), config.model, sizes)
    recorder.curve("loss", seen["step"], seen["loss"])
    for name, prefix in (("train", ""), ("familiar", "familiar_"), ("new", "new_")):
        recorder.curve(name, seen["step"], seen[f"{prefix}accuracy"])
        recorder.metric(name, seen[f"{prefix}accuracy"][-1])
    recorder.metric("guessing", 1 / sets.classes)
    recorder.metric("parameters", models.count_parameters(network))
