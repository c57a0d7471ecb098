"""What one trial of the study of control flow does: watch the columns of a network at work."""

from typing import Any, NamedTuple

import numpy as np

from recombine import probes
from recombine.lab import Recorder

from .lookup_trial import Config, items_of, keys_of, trained
from .networks import untrained

WATCHED = 100
"""Inputs that are watched."""


class Flow(NamedTuple):
    """What the columns of functions did on a number of inputs."""

    distances: np.ndarray
    """How many functions are applied up to each, [inputs, functions]."""
    opening: np.ndarray | None
    """The step at which each opens, [inputs, functions]; None without gates."""
    reads: np.ndarray
    """Whether each then attends most to the column of its argument, [inputs, functions]."""


def flow_of(
    words: list[list[str]],
    symbols: tuple[str, ...],
    functions: tuple[str, ...],
    attention: np.ndarray,
    gates: np.ndarray | None,
) -> Flow:
    """When columns of functions open, and what they read then.

    A function's argument is the value of the column next to it, on the side of the symbol. Without
    gates it is asked what a column reads at the step at which its argument can be ready.

    **Arguments:**

    - `words`: words of inputs with equally many functions.
    - `symbols`, `functions`: words of symbols and of functions.
    - `attention`: `[steps, inputs, heads, length, length]`.
    - `gates`: `[steps, inputs, length, channels]`.
    """
    largest = attention.max(axis=2)
    opens = None
    if gates is not None:
        opens = probes.opening_steps(gates, level=probes.half_open(gates))
    rows = []
    for item, sentence in enumerate(words):
        distances = probes.application_distances(sentence, symbols, functions)
        places = np.flatnonzero(np.isfinite(distances))
        symbol = next(place for place, word in enumerate(sentence) if word in symbols)
        argument = places + np.sign(symbol - places)
        own = distances[places].astype(int)
        opened = own - 1 if opens is None else opens[item, places]
        # A column that never opens is asked at the last step.
        step = np.minimum(opened, len(attention) - 1)
        reads = largest[step, item, places].argmax(axis=1) == argument
        rows.append((own, opened, reads))
    distances, opening, reads = (np.stack(column) for column in zip(*rows, strict=True))
    return Flow(distances, None if opens is None else opening, reads)


def orders(flow: Flow) -> np.ndarray:
    """Spearman's correlation of opening and distance, one per input; NaN where not defined."""
    assert flow.opening is not None
    pairs = zip(flow.opening, flow.distances, strict=True)
    return np.array([probes.opening_order(opening, distance) for opening, distance in pairs])


def trial(config: Config, key, recorder: Recorder) -> None:
    """Watch attention and gates of a trained network on the longest inputs, if it has them."""
    import equinox as eqx

    learned = trained(config, key, recorder)
    if not hasattr(learned.model, "trace"):
        return
    before = untrained(config.model, recorder.trained().sizes, key=keys_of(key).weights)
    longest = config.longer_lengths[1]
    items = items_of(learned, min(WATCHED, config.evaluated), (longest, longest))
    words = [items.text(i).split() for i in range(len(items))]
    lookup = learned.task.lookup
    traced = eqx.filter_jit(type(learned.model).trace)

    def watched(model):
        trace = traced(model, items.tokens, items.lengths)
        attention = np.asarray(trace.attention)
        gates = None if trace.gates is None else np.asarray(trace.gates)
        return attention, gates, flow_of(words, lookup.symbols, lookup.functions, attention, gates)

    attention, gates, flow = watched(learned.model)
    report(recorder, flow)
    # The closest match is preferred from the beginning, and the argument is next door.
    recorder.metric("untrained_reads_argument", watched(before)[2].reads.mean())
    largest = attention.max(axis=(2, 4)).mean(axis=(1, 2))
    recorder.curve("sharpness", np.arange(len(largest)), largest)
    recorder.array("words", np.array(words[0]))
    recorder.array("attention", attention[:, 0])
    if gates is not None:
        recorder.array("gates", gates[:, 0])


def report(recorder: Recorder, flow: Flow) -> None:
    """The numbers of a flow."""
    recorder.metric("reads_argument", flow.reads.mean())
    steps = np.unique(flow.distances)
    by_distance: dict[str, Any] = {"reads_by_distance": flow.reads}
    if flow.opening is not None:
        by_distance["opening_by_distance"] = flow.opening
        found = orders(flow)
        recorder.metric("undefined_order", np.isnan(found).mean())
        # Columns that open together are in no order.
        recorder.metric("opening_order", np.nan_to_num(found).mean())
        slope, _ = np.polyfit(flow.distances.ravel(), flow.opening.ravel(), 1)
        recorder.metric("steps_per_function", slope)
    for name, values in by_distance.items():
        means = [values[flow.distances == distance].mean() for distance in steps]
        recorder.curve(name, steps, means)
