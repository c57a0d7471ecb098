"""Table 5.2: how many layers does the neural data router need?"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    figures,
    grid,
    mean,
    statistic,
)

from . import DOCUMENT
from .lookup_results import (
    AS_PUBLISHED,
    SMALL_ENCODER,
    SMOKE,
    as_published,
    chance_of,
    draw_by_length,
    longest_first,
    on_laptop,
    present,
    published,
)
from .lookup_trial import DIRECTIONS, Config, trial

LAYERS = (10, 8, 6, 4)
PAPER_LAYERS = (14, 12, 10, 8, 6, 4)
SPARE = 2
"""Layers beyond the number of functions that are enough, Section D.3."""


def of_layers(metric: str, fits: Callable[[Results, int], bool], direction: str, what: str):
    """The lowest of a metric, for every seed, with those numbers of layers that fit."""

    def read(results: Results) -> np.ndarray:
        runs = results.where(direction=direction)
        layers = [n for n in runs.values("model.layers") if fits(runs, n)]
        if not layers:
            raise Missing(f"no network with {what}")
        return np.min([runs.metric(metric, **{"model.layers": n}) for n in layers], axis=0)

    return mean(read, f"{metric.replace('_', ' ')} with {what}, {direction}")


def enough(results: Results, layers: int) -> bool:
    """Two more than functions in the longest input, or more."""
    return layers >= results.values("longer_lengths")[0][1] + SPARE


def too_few(results: Results, layers: int) -> bool:
    """The most layers that are more than functions in training, and fewer than in any test: 8 on 9
    and 10 functions in the paper, and 6 on 7 and 8 here."""
    trained, (shortest, _) = results.values("longest")[0], results.values("longer_lengths")[0]
    between = [n for n in results.values("model.layers") if trained < n < shortest]
    return layers == max(between, default=None)


def means_by_layers(results: Results) -> list[float]:
    """Mean accuracy on longer inputs at the end, from the most layers to the fewest."""
    layers = results.values("model.layers")[::-1]
    return [results.metric("longer_at_end", **{"model.layers": n}).mean() for n in layers]


def rise(results: Results) -> float:
    """The largest rise of mean accuracy where layers are taken away."""
    return max(fewer - more for more, fewer in pairwise(means_by_layers(results)))


def fall(results: Results) -> float:
    """Mean accuracy with the most layers minus that with the fewest."""
    most, *_, fewest = means_by_layers(results)
    return most - fewest


def draw_layers(results: Results):
    directions = present(results, "direction", DIRECTIONS)
    figure = figures.panels(*directions, x="layers", y="accuracy", shared_y=True)
    for panel, direction in enumerate(directions):
        runs = results.where(direction=direction)
        layers = runs.values("model.layers")
        for color, (name, metric) in enumerate(
            (("IID", "iid"), ("longer inputs", "longer_at_end"))
        ):
            values = [runs.metric(metric, **{"model.layers": n}) for n in layers]
            figures.add_points(figure, layers, values, name, color=color, panel=panel)
        _, longest = results.values("longer_lengths")[0]
        figures.add_level(figure, longest, "functions", panel=panel, axis="x")
        figures.add_level(figure, chance_of(results), "guessing", panel=panel)
    return figure


def beside(layers: int, direction: str, metric: str) -> Beside:
    ours = {"iid": "iid", "longer": "longer_at_end"}[metric]
    spare = layers - 10
    words = {"iid": "IID", "longer": "longer"}[metric]
    return Beside(
        f"{direction}, {words}, {spare:+d} layers beyond the longest test",
        published("table-5.2", "ndr", f"{direction}; n_layers={layers}", metric),
        lambda results: results.where(
            **{"model.layers": results.values("longer_lengths")[0][1] + spare}
        ).metric(ours, model="ndr", direction=direction),
    )


def sweep(layers: tuple[int, ...], directions: tuple[str, ...] = DIRECTIONS) -> tuple[dict, ...]:
    """NDR with every number of layers in every direction."""
    return grid(**{"model": ("ndr",), "model.layers": layers, "direction": directions})


study = Study(
    name="data-router/depth",
    title="A network needs as many layers as functions are applied, and a few more",
    source=Source(DOCUMENT, "Table 5.2"),
    question="How does the accuracy of the neural data router on longer inputs depend on the "
    "number of its layers?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=sweep((2,), ("backward",)),
            settings=SMOKE | SMALL_ENCODER,
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=longest_first(sweep(LAYERS)),
            depends=on_laptop,
            cost="40 min on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=sweep(PAPER_LAYERS),
            depends=as_published,
            settings=AS_PUBLISHED,
            cost="hours on an accelerator; about a day per network on two cores",
        ),
    },
    claims=(
        Claim(
            "enough-layers",
            "With two layers more than functions in the longest input, at least {0:%} of longer "
            "inputs are right in both directions.",
            "Table 5.2",
            all_of(
                of_layers("longer_at_end", enough, d, "enough layers") >= 0.9 for d in DIRECTIONS
            ),
        ),
        Claim(
            "too-few-layers",
            "With more layers than functions in training, but fewer than in any test, at most "
            "{0:%} of longer inputs are right, and at least {1:%} of inputs as in training.",
            "Table 5.2",
            all_of(
                *(
                    of_layers("longer_at_end", too_few, d, "too few layers") <= 0.6
                    for d in DIRECTIONS
                ),
                *(of_layers("iid", too_few, d, "too few layers") >= 0.9 for d in DIRECTIONS),
            ),
        ),
        Claim(
            "falls-with-layers",
            "In both directions accuracy on longer inputs falls as layers are taken away, with no "
            "rise of more than {0:points}.",
            "Table 5.2",
            all_of(
                *(statistic(rise, f"largest rise, {d}", direction=d) <= 0.05 for d in DIRECTIONS),
                *(statistic(fall, f"fall, {d}", direction=d) > 0 for d in DIRECTIONS),
            ),
        ),
    ),
    figures=(
        Figure(
            "layers",
            "Accuracy against the number of layers",
            "Table 5.2: all seeds, their mean and its 95 % interval, at the end of training.",
            draw_layers,
        ),
        Figure(
            "by-length",
            "Accuracy by the number of functions",
            "One line per number of layers; networks are those that are best on 6 functions.",
            lambda results: draw_by_length(results, "model.layers"),
        ),
    ),
    beside=tuple(
        beside(layers, direction, metric)
        for metric in ("iid", "longer")
        for layers in PAPER_LAYERS
        for direction in DIRECTIONS
    ),
    notes="As in the paper, networks are not chosen on a set of their own here: accuracies are of "
    "the end of training, but for those by length. The paper tests 9 and 10 functions with 14 to "
    "4 layers, preset laptop 7 and 8 functions with 10 to 4 layers; numbers are set side by side "
    "where the longest test has as many functions more or fewer than there are layers.",
)
