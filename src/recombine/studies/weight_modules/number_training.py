"""Networks that compute with numbers, and the masks of what they do."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from recombine import learning
from recombine._ranges import Count, Positive, Whole
from recombine.lab import Recorder, Trained, check_intervals
from recombine.models import specs

from .number_tasks import AbstractNumberTaskSpec, DoubleAdditionSpec


@dataclass(frozen=True)
class NetworkConfig:
    """Settings of the network whose modules are looked for."""

    task: AbstractNumberTaskSpec = DoubleAdditionSpec()
    """What it learns."""
    model: specs.AbstractNumberSpec = specs.NumberMLPSpec()
    """The network."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut, of weights and of masks."""
    batch_size: Count = 128
    """Examples per update, of weights and of masks."""
    steps: Whole = 20_000
    """Updates of the weights."""
    every: Count = 500
    """Updates of the weights between two measurements."""
    evaluated: Count = 10_000
    """Examples on which accuracies are measured."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


@dataclass(frozen=True)
class MaskConfig(NetworkConfig):
    """Settings of the masks, too."""

    beta: Positive = 4e-4
    """Price of a weight times the batch size, β."""
    mask_rate: Positive = 1e-2
    """Learning rate of the logits."""
    samples: Count = 4
    """Samples of a mask per update."""
    mask_steps: Whole = 20_000
    """Updates of the masks."""


def needed(config: MaskConfig) -> Trained:
    """The trial that trains the network of a config."""
    own = {field.name: getattr(config, field.name) for field in fields(NetworkConfig)}
    return Trained(network_trial, NetworkConfig(**own))


def network_trial(config: NetworkConfig, key, recorder: Recorder) -> None:
    """Train a network, and keep it."""
    import equinox as eqx
    import jax

    of_weights, of_batches, of_test = jax.random.split(key, 3)
    task = config.task.build()
    sizes = specs.NumberSizes(task.inputs, task.results, task.digits)
    model = eqx.filter_jit(lambda key: config.model.build(sizes, key))(of_weights)
    test = task.sample(config.evaluated, key=of_test)
    rule = learning.Descent(
        learning.number_loss, learning.Sampled(task, config.batch_size),
        learning.chain(learning.clip(config.clip), learning.adam(config.learning_rate)),
        key=of_batches, measure=learning.NumberAccuracy(test), every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(model), config.steps)
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.curve("accuracy", curves["step"], curves["accuracy"])
    recorder.metric("unmasked", curves["accuracy"][-1])
    for result in range(task.results):
        recorder.metric(f"unmasked_{result + 1}", curves[f"accuracy_{result + 1}"][-1])
    recorder.keep(state.model, config.model, sizes)


def find_masks(config: MaskConfig, network: Any, key: Any, recorder: Recorder) -> "learning.Masked":
    """Learn a mask for every target of the task, all in one program."""
    targets = config.task.targets
    masked = learning.Masked(network, names=tuple(targets))
    rule = learning.mask_descent(
        learning.number_loss,
        learning.Targets(
            {n: learning.Sampled(task, config.batch_size) for n, task in targets.items()}
        ),
        masked, beta=config.beta, batch_size=config.batch_size, rate=config.mask_rate,
        samples=config.samples, clip_norm=config.clip, key=key,
        every=max(1, config.mask_steps // 20),
    )  # fmt: skip
    learning.check_mask_steps(config.mask_steps, config.beta, config.batch_size, config.mask_rate)
    steps = config.mask_steps - config.mask_steps % rule.every
    state, curves = recorder.train(rule, rule.init(masked), steps, name="masks")
    for place, name in enumerate(masked.names):
        recorder.curve(f"kept_{name}", curves["step"], np.asarray(curves["kept"])[:, place])
    return state.model


def layer_parts(names: Any) -> tuple[str, tuple[str, ...], str]:
    """The layer that reads the inputs, those between, and the one that writes the outputs."""
    first, *hidden, last = names
    return first, tuple(hidden), last
