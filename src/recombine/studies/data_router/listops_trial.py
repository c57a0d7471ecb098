"""What one trial of the study of ListOps does: learn, and watch operators open."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import models, probes, tasks
from recombine.lab import Count, Recorder
from recombine.models import specs

from .expression_trial import Config as ExpressionConfig
from .expression_trial import Learned, learn

Operator = Literal["MIN", "MAX", "MED", "SM"]
WATCHED = 100
"""Lists that are watched."""


@dataclass(frozen=True)
class Config(ExpressionConfig):
    """Settings of the study of ListOps."""

    operators: tuple[Operator, ...] = ("MIN", "MAX", "SM")
    """The operators of lists."""
    most_arguments: Count = 3
    """The most arguments of an operator; the fewest are 2."""
    longest: Count = 36
    depths: tuple[Count, Count] = (1, 3)
    train: Count = 100_000
    shown: str = "[SM [MAX [MIN 4 [MAX 2 3 0 ] ] 1 ] 1 [MIN 3 2 ] ]"
    """The list on which a network is watched at work."""


class Opening(NamedTuple):
    """When the operators of lists open, one row per operator."""

    lists: np.ndarray
    """The list of an operator."""
    heights: np.ndarray
    """How deep lists are nested in its own, 1 if none are."""
    steps: np.ndarray
    """The step at which its column opens."""


def task_of(config: Config) -> Any:
    """The task of some settings."""
    return tasks.ListOps(
        config.operators, config.digits, config.most_arguments, longest=config.longest,
        depths=config.depths, valid_depths=config.valid_depths, deeper_depths=config.deeper_depths,
    )  # fmt: skip


def opening_of(words: list[list[str]], gates: np.ndarray) -> Opening:
    """When operators open.

    **Arguments:**

    - `words`: words of every list.
    - `gates`: `[steps, lists, columns, channels]`; padding does not count.
    """
    lengths = np.array([len(sentence) for sentence in words])
    mask = np.arange(gates.shape[2]) < lengths[:, None]
    gates = np.where(mask[..., None], gates, 0)
    opens = probes.opening_steps(gates, level=probes.half_open(gates))
    rows = []
    for place, sentence in enumerate(words):
        heights = probes.subtree_heights(sentence)
        columns = np.flatnonzero(np.isfinite(heights))
        rows += [(place, heights[column], opens[place, column]) for column in columns]
    lists, heights, steps = (np.array(column, int) for column in zip(*rows, strict=True))
    return Opening(lists, heights, steps)


def orders(opening: Opening) -> np.ndarray:
    """Spearman's correlation of opening and height, one per list; NaN where not defined."""
    parts = [opening.lists == place for place in np.unique(opening.lists)]
    return np.array([probes.opening_order(opening.steps[p], opening.heights[p]) for p in parts])


def report(opening: Opening, recorder: Recorder) -> None:
    """The numbers of an opening."""
    found = orders(opening)
    recorder.metric("undefined_order", np.isnan(found).mean())
    # Operators that open together are in no order.
    recorder.metric("opening_order", np.nan_to_num(found).mean())
    slope, _ = np.polyfit(opening.heights, opening.steps, 1)
    recorder.metric("steps_per_operation", slope)
    heights = np.unique(opening.heights)
    means = [opening.steps[opening.heights == height].mean() for height in heights]
    recorder.curve("opening_by_height", heights, means)


def watch(shown, learned: Learned, recorder: Recorder) -> None:
    """Gates and attention on deeper lists and on the one that is shown, if there are gates."""
    import equinox as eqx

    deeper = learned.tests["deeper"]
    items = tasks.joined((shown, deeper[:WATCHED]))
    trace = eqx.filter_jit(type(learned.model).trace)(learned.model, items.tokens, items.lengths)
    if trace.gates is None:
        return
    words = [items.text(i).split() for i in range(len(items))]
    gates = np.asarray(trace.gates)
    report(opening_of(words[1:], gates[:, 1:]), recorder)
    places = len(words[0])
    recorder.array("words", np.array(words[0]))
    recorder.array("attention", np.asarray(trace.attention)[:, 0, :, :places, :places])
    recorder.array("gates", gates[:, 0, :places])


def as_trained(model: Any) -> Any:
    """The network with as many layers in tests as in training; None if it has as many already."""
    import equinox as eqx

    if not isinstance(model, models.SequenceClassifier):
        return None
    stack = model.encoder.stack
    if stack.test_layers == stack.layers:
        return None
    shallow = models.Stack(stack.block, stack.layers, halting=stack.halting, norm=stack.norm)
    return eqx.tree_at(lambda m: m.encoder.stack, model, shallow)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn, be tested on lists of every depth, and be watched."""
    task = task_of(config)
    try:
        shown = task.read([config.shown])
    except ValueError as error:
        raise ValueError(f"`shown` is no list of this task: {error}; set it to another") from None
    learned = learn(config, task, key, recorder)
    shallow = as_trained(learned.model)
    if shallow is not None:
        for name in ("iid", "deeper"):
            right = probes.is_right(shallow, learned.tests[name])
            recorder.metric(f"{name}_as_trained", right.mean())
    if hasattr(learned.model, "trace"):
        watch(shown.framed(*specs.frame_of(config.model)), learned, recorder)
