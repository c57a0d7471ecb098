"""What trials on tasks of bits have in common: learn on fresh sequences, be tested on others."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recombine import learning, probes
from recombine._ranges import Count, Positive, Whole
from recombine.lab import Recorder, check_intervals
from recombine.models import specs

LAST = 0.1
"""The share of the updates at the end whose mean loss is the final loss."""


@dataclass(frozen=True)
class BitmapConfig:
    """The network and how it learns: settings of all studies on tasks of bits."""

    model: specs.AbstractTransducerSpec = specs.MemorySpec()
    """The network."""
    published: bool = False
    """Learn by RMSProp as the published code does, or by Adam."""
    learning_rate: Positive = 3e-3
    """Learning rate."""
    clip: Positive = 10.0
    """Norm to which longer gradients are cut; as published, of every group of parameters."""
    batch_size: Count = 16
    """Sequences per update."""
    steps: Whole = 2000
    """Number of updates."""
    every: Count = 50
    """Updates between two measurements, which are means of the loss since the last one."""
    evaluated: Count = 128
    """Sequences on which errors are measured after training."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


PUBLISHED: dict[str, Any] = {
    "published": True, "learning_rate": 1e-4, "batch_size": 16, "model.mask_bias": 0.0,
}  # fmt: skip
"""RMSProp of the published code, whose masks start where sigmoids are a half."""


class Learned(NamedTuple):
    """What is left of training."""

    model: Any
    test: Any
    """Fresh sequences on which errors were measured."""
    key: Any
    """For whatever is drawn afterwards."""


def built(spec: specs.AbstractTransducerSpec, inputs: int, outputs: int, *, key: Any) -> Any:
    """The untrained network of a spec."""
    import equinox as eqx

    def build(key):
        return spec.build(specs.TransducerSizes(inputs, outputs), key)

    return eqx.filter_jit(build)(key)


def optimizer_of(config: BitmapConfig) -> "learning.Optimizer":
    """RMSProp as published, or Adam after clipping."""
    if config.published:
        return learning.published_rmsprop(config.learning_rate, norm=config.clip)
    return learning.chain(learning.clip(config.clip), learning.adam(config.learning_rate))


def learn(config: BitmapConfig, task: Any, key: Any, recorder: Recorder) -> Learned:
    """Train a network, and report its loss and its errors.

    Of one key, all networks see the same sequences.
    """
    import equinox as eqx
    import jax

    of_model, of_batches, of_test, later = jax.random.split(key, 4)
    model = built(config.model, task.inputs, task.outputs, key=of_model)
    rule = learning.Descent(
        learning.bitmap_loss, learning.Sampled(task, config.batch_size), optimizer_of(config),
        key=of_batches, every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(model), config.steps)
    # What is observed at a step is of the steps before it; the first one is the untrained loss.
    steps, losses = curves["step"], np.asarray(curves["loss"])
    recorder.curve("loss", steps, losses)
    recorder.metric("untrained_loss", losses[0])
    last = max(1, round(LAST * (len(losses) - 1)))
    recorder.metric("final_loss", losses[-last:].mean())
    recorder.metric("mean_loss", losses[1:].mean() if len(losses) > 1 else losses[0])
    test = eqx.filter_jit(drawn)(task, config.evaluated, of_test)
    errors = eqx.filter_jit(probes.bitmap_errors)(state.model, test)
    for name in ("loss", "bits", "whole"):
        recorder.metric(f"test_{name}", getattr(errors, name))
    recorder.metric("guessed_loss", errors.guessed)
    recorder.metric("half_time", half_time(steps, losses, float(errors.guessed)))
    report_parts(recorder, "by_part", errors.by_part)
    return Learned(state.model, test, later)


def drawn(task: Any, size: int, key: Any) -> Any:
    """Fresh sequences of several batches, whose lengths differ from batch to batch."""
    import jax

    groups = max(1, size // 8)
    per = -(-size // groups)
    batches = jax.vmap(lambda k: task.sample(per, key=k))(jax.random.split(key, groups))
    return jax.tree.map(lambda x: x.reshape(groups * per, *x.shape[2:]), batches)


def half_time(steps: np.ndarray, losses: np.ndarray, guessed: float) -> float:
    """The first step at which the loss is at most half of that of guessing.

    The last step, if it never is.
    """
    low = np.flatnonzero(losses <= guessed / 2)
    return float(steps[low[0]] if len(low) else steps[-1])


def report_parts(recorder: Recorder, name: str, values: Any) -> None:
    """A curve over parts, of those that there are."""
    values = np.asarray(values, float)
    there = np.flatnonzero(np.isfinite(values))
    if len(there):
        recorder.curve(name, there + 1, values[there])
