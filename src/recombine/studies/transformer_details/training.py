"""The trial that all studies of the family share: train a network, and log every test pair."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine import learning, models, probes, tasks
from recombine._ranges import Count, Positive, Whole
from recombine.lab import Diverged, Recorder, check_intervals
from recombine.models import specs

from .problems import AbstractProblemSpec, ScanSpec, built
from .schedules import AbstractScheduleSpec, CosineSpec, ScheduleSizes

LOGGED = ("iid", "ood")
"""The sets whose pairs are logged, one by one."""
LOOKS = ("right", "prefix", "told", "loss", "free_loss")
"""What is logged of every pair: see `recombine.learning.TranslationLog`."""


@dataclass(frozen=True)
class Config:
    """Settings of the studies that train networks."""

    model: specs.AbstractEncoderDecoderSpec = specs.UniversalSpec()
    """The network."""
    problem: AbstractProblemSpec = ScanSpec()
    """What it learns, and what it is tested on."""
    schedule: AbstractScheduleSpec = CosineSpec()
    """How the learning rate changes."""
    learning_rate: Positive = 2e-3
    """Learning rate of Adam; of `noam`, its factor."""
    clip: Positive | None = 5.0
    """Norm to which longer gradients are cut; none: they are not."""
    batch_size: Count = 64
    """Pairs per update, drawn with replacement."""
    buckets: Count = 3
    """Sets of outputs of like lengths; all pairs of a batch are of one of them."""
    steps: Whole = 4000
    """Number of updates."""
    every: Count = 200
    """Updates between two looks at the test sets."""
    evaluated: Count | None = None
    """Pairs of a test set that are looked at; none: all."""
    free_running: bool = True
    """Whether the loss on symbols of the network's own is measured, too."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)
        if self.steps < (least := self.schedule.least_steps):
            raise ValueError(
                f"steps={self.steps} are fewer than the {least} that the schedule needs"
            )


def shown(problem: "tasks.Translations", name: str, count: int | None) -> Any:
    """The pairs of a part that are looked at."""
    pairs = problem.part(name)
    return tasks.first_pairs(pairs, len(pairs.inputs) if count is None else count)


def rule_of(
    config: Config, problem: "tasks.Translations", sets: dict[str, Any], key
) -> "learning.Descent":
    """How the network learns, and what is seen of it on some sets."""
    return learning.teacher_forcing(
        tasks.length_buckets(problem.part("train"), config.buckets),
        config.schedule.build(
            ScheduleSizes(config.learning_rate, config.model.width, config.steps)
        ),
        batch_size=config.batch_size,
        key=key,
        clip_norm=config.clip,
        measure=learning.TranslationLog(sets, free=LOGGED if config.free_running else ()),
        every=config.every,
    )


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network; log whether every pair is right and its losses, at every look.

    Of one key, all networks see the same batches.
    """
    import equinox as eqx
    import jax

    of_weights, of_batches = jax.random.split(key)
    problem = built(config.problem)
    sizes = specs.TranslationSizes(len(problem.words.words), len(problem.symbols.words))
    model = eqx.filter_jit(lambda spec, key: spec.build(sizes, key))(config.model, of_weights)
    sets = {name: shown(problem, name, config.evaluated) for name in LOGGED}
    rule = rule_of(config, problem, sets, of_batches)
    _, curves = recorder.train(rule, eqx.filter_jit(rule.init)(model), config.steps)

    steps = curves["step"]
    recorder.array("steps", steps)
    for name in LOGGED:
        accuracy = curves[f"{name}_accuracy"]
        recorder.curve(name, steps, accuracy)
        recorder.curve(f"{name}_loss", steps, curves[f"{name}_token_loss"])
        symbols = np.asarray(sets[name].output_lengths)
        recorder.array(f"{name}_symbols", symbols)
        for look in LOOKS:
            if (found := curves.get(f"{name}_{look}")) is not None:
                recorder.array(f"{name}_{look}", found)
        if (free := curves.get(f"{name}_free_loss")) is not None:
            recorder.curve(f"{name}_free_loss", steps, free.sum(axis=1) / symbols.sum())
        for look in ("right", "prefix", "told"):
            metric = name if look == "right" else f"{name}_{look}"
            recorder.metric(metric, curves[f"{name}_{look}"][-1].mean())
    recorder.metric("parameters", models.count_parameters(model))
    _report_kinds(problem, curves["ood_right"][-1], recorder)
    crashed = probes.crash(curves["iid_accuracy"])
    if crashed is not None:
        raise Diverged(
            f"accuracy on familiar pairs fell from {curves['iid_accuracy'].max():.2f} to almost 0 "
            f"at step {steps[crashed]} and stayed there: lower the learning rate"
        )


def _report_kinds(problem: "tasks.Translations", right: np.ndarray, recorder: Recorder) -> None:
    """Accuracy of every kind of test pairs, where there are kinds and all are looked at."""
    kinds = problem.kinds.get("ood", ())
    if len(kinds) != len(right):
        return
    for kind in sorted(set(kinds)):
        chosen = np.array([one == kind for one in kinds])
        recorder.metric(f"ood_{kind}", right[chosen].mean())
