"""Networks that translate commands of SCAN, trained on all of it or on one split."""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from recombine import learning, tasks
from recombine._ranges import Count, Positive, Share, Whole
from recombine.lab import Recorder, Trained, check_intervals
from recombine.models import specs

SplitName = Literal["simple", "jump", "turn_left", "length"]
SPLITS: tuple[SplitName, ...] = ("simple", "turn_left", "jump", "length")
SIMPLE_SEED = 0
"""The seed of the split `simple`, which is the same for all trials."""


@dataclass(frozen=True)
class NetworkConfig:
    """Settings of the network whose modules are looked for."""

    model: specs.AbstractTranslatorSpec = specs.RecurrentEncoderDecoderSpec()
    """The network."""
    trained_on: SplitName = "simple"
    """The split whose training commands the weights are learned on."""
    without: tuple[str, ...] = ()
    """Words whose commands are left out."""
    longest: Count = 22
    """The most actions of a trained command in the split by length."""
    forced: Share = 0.5
    """How many of the batches are learned from true symbols; from the network's own otherwise."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam."""
    clip: Positive = 5.0
    """Norm to which longer gradients are cut, of weights and of masks."""
    batch_size: Count = 256
    """Commands per update, of weights and of masks."""
    steps: Whole = 25_000
    """Updates of the weights."""
    every: Count = 1000
    """Updates of the weights between two measurements."""
    evaluated: Count | None = None
    """Commands of every test set on which accuracies are measured; none: all."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


@dataclass(frozen=True)
class MaskConfig(NetworkConfig):
    """Settings of the masks, too."""

    beta: Positive = 3e-5
    """Price of a weight times the batch size, β."""
    mask_rate: Positive = 1e-2
    """Learning rate of the logits."""
    mask_forced: Share = 0.5
    """`forced`, of masks."""
    samples: Count = 4
    """Samples of a mask per update."""
    mask_steps: Whole = 25_000
    """Updates of the masks."""


def needed(config: MaskConfig) -> Trained:
    """The trial that trains the network of a config."""
    own = {field.name: getattr(config, field.name) for field in fields(NetworkConfig)}
    return Trained(network_trial, NetworkConfig(**own))


@lru_cache(maxsize=2)
def scan_splits(without: tuple[str, ...], longest: int) -> dict[str, "tasks.ScanSplit"]:
    """All splits of SCAN, without the commands that have certain words.

    The primitive that is trained alone is a tenth of all lines.
    """
    import jax

    found = {
        "simple": tasks.simple_split(key=jax.random.key(SIMPLE_SEED)),
        "turn_left": tasks.add_primitive_split("turn left"),
        "jump": tasks.add_primitive_split("jump"),
        "length": tasks.length_split(longest),
    }
    used = np.array([not set(without) & set(c.split()) for c in tasks.scan_commands()])

    def smaller(split: "tasks.ScanSplit") -> "tasks.ScanSplit":
        repeated = (split.train > 1) & used
        once = (split.train == 1) & used
        train = once + repeated * round(once.sum() / 9)
        return tasks.ScanSplit(train, split.test * used, split.iid * used)

    return {name: smaller(split) for name, split in found.items()}


@lru_cache(maxsize=2)
def scan_tasks(without: tuple[str, ...], longest: int) -> dict[str, "tasks.Scan"]:
    """All splits as tasks, with rows no longer than the longest commands and their actions."""
    import equinox as eqx
    import jax.numpy as jnp

    splits = scan_splits(without, longest)
    used = np.flatnonzero(splits["simple"].train + splits["simple"].test)
    found = {}
    for name, split in splits.items():
        task = tasks.Scan(split)
        inputs, input_lengths, outputs, output_lengths = map(np.asarray, task.sentences)
        narrow = tasks.SequenceBatch(
            jnp.asarray(inputs[:, : input_lengths[used].max()]), jnp.asarray(input_lengths),
            jnp.asarray(outputs[:, : output_lengths[used].max()]), jnp.asarray(output_lengths),
        )  # fmt: skip
        found[name] = eqx.tree_at(lambda t: t.sentences, task, narrow)
    return found


def test_sets(config: NetworkConfig) -> dict[str, Any]:
    """The commands of every split on which accuracies are measured."""
    found = {}
    for name, task in scan_tasks(config.without, config.longest).items():
        pairs = task.lines("test")
        count = len(pairs.inputs) if config.evaluated is None else config.evaluated
        found[name] = tasks.first_pairs(pairs, count)
    return found


def network_trial(config: NetworkConfig, key, recorder: Recorder) -> None:
    """Train a network, and keep it."""
    import equinox as eqx
    import jax

    of_weights, of_batches = jax.random.split(key)
    sizes = specs.TranslationSizes(len(tasks.SCAN_WORDS.words), len(tasks.SCAN_ACTIONS.words))
    model = eqx.filter_jit(lambda key: config.model.build(sizes, key))(of_weights)
    task = scan_tasks(config.without, config.longest)[config.trained_on]
    sets = test_sets(config)
    measured = {"iid": sets["simple"], "own": sets[config.trained_on]}
    rule = learning.Descent(
        learning.SummedTokenLoss(config.forced), learning.Sampled(task, config.batch_size),
        learning.chain(learning.clip(config.clip), learning.adam(config.learning_rate)),
        key=of_batches, measure=learning.ExactTranslations(measured), every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(model), config.steps)
    for name in ("loss", "own"):
        recorder.curve(name, curves["step"], curves[name])
    recorder.metric("trained_accuracy", curves["own"][-1])
    recorder.keep(state.model, config.model, sizes)
