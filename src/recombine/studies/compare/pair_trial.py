"""One network on one task of the suite `seq2seq`."""

from dataclasses import dataclass

from recombine import learning, models, tasks
from recombine.lab import Count, Positive, Recorder
from recombine.models import specs

from .own_network import check_outputs, own_part, with_key
from .pair_tasks import AbstractPairTaskSpec, ScanLengthSpec, built
from .sequence_trial import LOOKS, WARMUP


@dataclass(frozen=True)
class Config:
    """Settings of the study."""

    model: specs.AbstractTranslatorSpec = specs.RelativeUniversalSpec()
    """The network."""
    task: AbstractPairTaskSpec = ScanLengthSpec()
    """What it learns, and what is new in tests."""
    steps: Count = 1500
    """Number of updates, a multiple of 10."""
    batch_size: Count = 64
    """Pairs per update, drawn with replacement."""
    buckets: Count = 1
    """Sets of outputs of like lengths; all pairs of a batch are of one of them."""
    learning_rate: Positive = 2e-3
    """Learning rate of Adam, which rises over a tenth of training and then falls to 0."""
    clip: Positive = 5.0
    """Norm to which longer gradients are cut."""

    def __post_init__(self) -> None:
        if self.steps % LOOKS:
            raise ValueError(f"steps={self.steps} is not a multiple of {LOOKS}")


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network; measure how often whole outputs are right, on familiar and new pairs."""
    import equinox as eqx
    import jax

    of_weights, of_batches = jax.random.split(key)
    pairs = built(config.task)
    sizes = specs.TranslationSizes(len(pairs.words.words), len(pairs.symbols.words))
    made = eqx.filter_jit(lambda spec, key: spec.build(sizes, key))(config.model, of_weights)
    network = with_key(made)
    train = pairs.part("train")
    few = tasks.first_pairs(train, 2)
    check_outputs(network, tuple(few), (*few.outputs.shape, sizes.symbols + 1))
    sets = {
        name: tasks.first_pairs(pairs.part(part), config.task.tested)
        for name, part in (("familiar", "iid"), ("new", "ood"))
    }
    rule = learning.teacher_forcing(
        tasks.length_buckets(train, config.buckets),
        learning.WarmupCosine(config.learning_rate, max(1, config.steps // WARMUP), config.steps),
        batch_size=config.batch_size, key=of_batches, clip_norm=config.clip,
        measure=learning.TranslationLog(sets), every=config.steps // LOOKS,
    )  # fmt: skip
    state, seen = recorder.train(rule, eqx.filter_jit(rule.init)(network), config.steps)
    recorder.keep(own_part(state.model), config.model, sizes)
    recorder.curve("loss", seen["step"], seen["loss"])
    for name in sets:
        recorder.curve(name, seen["step"], seen[f"{name}_accuracy"])
        recorder.metric(name, seen[f"{name}_accuracy"][-1])
    recorder.metric("parameters", models.count_parameters(network))
