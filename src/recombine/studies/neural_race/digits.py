"""Figures 7-9 on handwritten digits: routing between many input and many output domains."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    figures,
    for_all,
    grid,
    mean,
    per_seed,
    reference,
    statistic,
)
from recombine.lab.vocabulary import Mean

from . import DOCUMENT
from .image_trial import CHANCE, SETTINGS_OF_TABLES, TABLES, Config, trial

NEAR_CHANCE = 0.15
"""Accuracy of routes that do not work, at most."""


def shallow(results: Results, inputs: str = "permuted") -> Results:
    """The trials of the gated classifier with one linear layer per module (Figures 7 and 8)."""
    return results.where(network="gated", layers=1, inputs=inputs)


def deep(results: Results, activation: str, learning_rate: float = 0.1) -> Results:
    """The trials with two layers per module (Figure 9)."""
    return results.where(
        network="gated", layers=2, activation=activation, learning_rate=learning_rate
    )


def by_fraction(results: Results, metric: str) -> dict[float, np.ndarray]:
    """A metric for every K/M, one value per seed, at the largest M; only where it was measured."""
    M = max(results.values("M"))
    runs = results.where(M=M)
    having = [k for k in runs.values("K") if metric != "untrained_accuracy" or k < M]
    return {k / M: runs.metric(metric, K=k) for k in having}


def threshold(results: Results, margin: float = 0.05) -> float:
    """The smallest K/M at which untrained routes come within `margin` of trained ones."""
    trained = by_fraction(results, "trained_accuracy")
    untrained = by_fraction(results, "untrained_accuracy")
    reached = [f for f, v in untrained.items() if v.mean() > trained[f].mean() - margin]
    return min(reached, default=1.0)


def of_routes(kind: str, K: int, inputs: str = "permuted") -> Mean:
    """Accuracy of trained or untrained routes at the largest M."""

    def read(results: Results) -> np.ndarray:
        runs = shallow(results, inputs)
        return runs.metric(f"{kind}_accuracy", M=max(runs.values("M")), K=K)

    return mean(read, f"{kind} accuracy, K={K}, {inputs}")


def forty_percent(inputs: str) -> Statement:
    """Untrained routes are near chance at K/M = 0.1, and near trained ones from 0.4 on."""

    def within(low: float, high: float):
        return lambda r, K: low <= K / max(r.values("M")) <= high and max(r.values("M")) > K

    chosen: dict[str, Any] = {"network": "gated", "layers": 1, "inputs": inputs}
    untrained = partial(of_routes, "untrained", inputs=inputs)
    return all_of(
        for_all("K", lambda K: untrained(K) <= NEAR_CHANCE, among=within(0, 0.1), **chosen),
        for_all("K", lambda K: untrained(K) >= 0.85, among=within(0.4, 1), **chosen),
    )


def spread(results: Results) -> float:
    """The largest mean accuracy of trained routes over K/M minus the smallest."""
    values = [v.mean() for v in by_fraction(shallow(results), "trained_accuracy").values()]
    return max(values) - min(values)


def at_a_quarter(kind: str, activation: str, learning_rate: float = 0.1) -> Quantity:
    """Accuracy of trained or untrained routes of networks with two layers at K/M = 0.25."""

    def read(results: Results) -> np.ndarray:
        found = by_fraction(deep(results, activation, learning_rate), f"{kind}_accuracy")
        if 0.25 not in found:
            raise Missing("no trial with K/M = 0.25")
        return found[0.25]

    return per_seed(read, f"{kind} accuracy, {activation}")


def leaky_transfers_earlier(learning_rate: float) -> Statement:
    """Untrained routes are more accurate with leaky ReLU than in a linear network."""
    leaky, linear = (
        at_a_quarter("untrained", activation, learning_rate) for activation in ("leaky", "linear")
    )
    return mean(leaky - linear) > 0


def draw_accuracy(figure, runs: Results, panel: int) -> None:
    """Accuracy of untrained and trained routes against K/M, in one panel."""
    for color, name in ((1, "trained"), (0, "untrained")):
        accuracy = by_fraction(runs, f"{name}_accuracy")
        figures.add_points(
            figure, list(accuracy), list(accuracy.values()), f"{name} routes",
            color=color, panel=panel,
        )  # fmt: skip
    figures.add_level(figure, CHANCE, "chance", panel=panel)


def draw_sweeps(results: Results):
    figure = figures.panels(
        "permuted pixels", "rotated images", x="fraction of routes trained, K/M", y="test accuracy"
    )
    for panel, inputs in enumerate(("permuted", "rotated")):
        draw_accuracy(figure, shallow(results, inputs), panel)
    return figure


def draw_deep(results: Results):
    panels = [(a, rate) for rate in (0.1, 0.03) for a in ("linear", "leaky")]
    figure = figures.panels(
        *(f"{activation}, step size {rate:g}" for activation, rate in panels),
        x="fraction of routes trained, K/M",
        y="test accuracy",
        columns=2,
    )
    for panel, (activation, rate) in enumerate(panels):
        draw_accuracy(figure, deep(results, activation, rate), panel)
    return figure


def draw_sharing(results: Results):
    figure = figures.panels("", x="fraction of routes trained, K/M", y="cosine between domains")
    for color, inputs in enumerate(("permuted", "rotated")):
        sharing = by_fraction(shallow(results, inputs), "sharing")
        figures.add_points(figure, list(sharing), list(sharing.values()), inputs, color=color)
    return figure


def draw_routes(results: Results):
    arrays, titles = [], []
    for k in (1, 2, 4):
        arrays.append(shallow(results).array("accuracies", K=k).mean(axis=0))
        titles.append(f"K = {k}")
    return figures.heatmaps(arrays, titles, x="output domain", y="input domain")


def seedwise_threshold(runs: Callable[[Results], Results]) -> Callable[[Results], np.ndarray]:
    """The threshold of every seed, over the trials that `runs` selects."""

    def of_seed(results: Results, seed: int) -> float:
        kept = tuple(r for r in results.records if r.seed == seed)
        return threshold(replace(results, records=kept))

    return lambda results: np.array([of_seed(runs(results), s) for s in runs(results).seeds])


PAPER_CONDITIONS = tuple(
    {**table, "K": k}
    for table in TABLES.values()
    for k in ((4, *range(5, 40, 5)) if table["M"] == 40 else range(10, 100, 10))
)

DEEP = {"layers": 2, "M": 8, "width": 32, "batch": 16, "gain": 0.4, "steps": 4000}
SMALL_STEPS = {"learning_rate": 0.03, "steps": 10_000}
SWEEP = (1, 2, 3, 4, 6, 8, 10)
CONDITIONS = (
    *grid(inputs=("permuted",), K=SWEEP),
    *grid(inputs=("rotated",), K=(1, 2, 4, 6)),
    *grid(network=("unshared",), K=(1,)),
    *({**DEEP, **c} for c in grid(activation=("linear", "leaky"), K=(1, 2, 3, 4, 6))),
    *({**DEEP, **SMALL_STEPS, **c} for c in grid(activation=("linear", "leaky"), K=(1, 2, 4))),
)

study = Study(
    name="neural-race/digits",
    title="Routing between image domains: untrained routes work once 40 % are trained",
    source=Source(DOCUMENT, "Figures 7c, 8 (MNIST) and 9, Tables 1-4"),
    question="Do untrained routes between image domains work zero-shot, and from which fraction "
    "of trained routes on?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(
                *grid(inputs=("permuted", "rotated"), K=(1, 4)),
                *grid(network=("unshared",), K=(1,)),
                *grid(
                    activation=("linear", "leaky"),
                    layers=(2,),
                    M=(4,),
                    K=(1,),
                    learning_rate=(0.1, 0.03),
                ),
            ),
            settings={"steps": 40, "width": 16, "batch": 8, "test_images": 50},
            cost="27 s on two cores",
        ),
        "laptop": Preset(seeds=5, conditions=CONDITIONS, cost="3 min on two cores"),
        "paper": Preset(
            seeds=10,
            conditions=PAPER_CONDITIONS,
            settings=SETTINGS_OF_TABLES,
            cost="days on an accelerator; needs mnist",
        ),
    },
    claims=(
        Claim(
            "trained-routes-are-learned",
            "Trained routes have a test accuracy of at least {0} at all K/M, flat within {1}.",
            "Figures 7c, 8",
            all_of(
                for_all(
                    "K",
                    lambda K: of_routes("trained", K) >= 0.9,
                    network="gated",
                    layers=1,
                    inputs="permuted",
                ),
                statistic(spread) < 0.05,
            ),
        ),
        Claim(
            "forty-percent-permuted",
            "With permuted pixels untrained routes are near chance at K/M = 0.1 (at most {0}) "
            "and at trained level from 0.4 on (at least {1}).",
            "Figures 7c, 8",
            forty_percent("permuted"),
        ),
        Claim(
            "forty-percent-rotated",
            "With rotated images untrained routes are near chance at K/M = 0.1 (at most {0}) "
            "and at trained level from 0.4 on (at least {1}).",
            "Figure 8",
            forty_percent("rotated"),
        ),
        Claim(
            "leaky-transfers-earlier",
            "With leaky ReLU inside modules untrained routes work earlier than in a linear "
            "network of the same depth: they are more accurate at K/M = 0.25.",
            "Figure 9",
            leaky_transfers_earlier(0.1),
        ),
        Claim(
            "leaky-transfers-earlier-small-steps",
            "At a step size of 0.03, at which the linear network keeps the transfer that it has "
            "learned, untrained routes still work earlier with leaky ReLU: they are more accurate "
            "at K/M = 0.25.",
            "Figure 9",
            leaky_transfers_earlier(0.03),
        ),
        Claim(
            "leaky-threshold",
            "With leaky ReLU untrained routes come within {0} of trained ones at K/M = 0.25.",
            "Figure 9",
            mean(at_a_quarter("trained", "leaky") - at_a_quarter("untrained", "leaky")) < 0.05,
        ),
        Claim(
            "nothing-shared-nothing-transferred",
            "Without a shared module matched pairs are learned (at least {0}) and crossed ones "
            "are near chance (at most {1}).",
            "published code",
            all_of(
                mean("trained_accuracy", network="unshared") >= 0.9,
                mean("untrained_accuracy", network="unshared") <= NEAR_CHANCE,
            ),
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy against the fraction of routes trained",
            "Figures 7c and 8; at preset laptop on 8x8 digits with 10 domains.",
            draw_sweeps,
        ),
        Figure(
            "leaky",
            "Two layers per module, linear and with leaky ReLU",
            "Figure 9; at preset laptop with 8 domains, at two step sizes.",
            draw_deep,
        ),
        Figure(
            "sharing",
            "Do domains share a representation?",
            "Centred cosine between the encoders' activity for the same images on different "
            "domains.",
            draw_sharing,
        ),
        Figure(
            "routes",
            "Accuracy of every route",
            "Mean over runs, permuted pixels; which routes are trained differs between runs.",
            draw_routes,
        ),
    ),
    beside=(
        Beside(
            "K/M at which untrained matches trained (within 0.05)",
            reference(
                "neural-race",
                artifact="figure-7",
                metric="fraction K/M at which untrained matches trained",
            ),
            seedwise_threshold(shallow),
        ),
        Beside(
            "K/M at which untrained matches trained, leaky ReLU in modules of two layers",
            reference(
                "neural-race",
                artifact="figure-9",
                metric="fraction K/M at which untrained matches trained",
            ),
            seedwise_threshold(lambda r: deep(r, "leaky")),
        ),
    ),
    notes="The paper uses MNIST with 40 and 100 domains and CIFAR-10 features, 7.5 million steps "
    "per run. Here the images are real 8x8 digits, with 10 domains, a learning rate of 0.1 and "
    "2,000 steps. Label permutations are random; the published code takes the first in "
    "lexicographic order (`--set labels=lexicographic`). In the published code an activation sits "
    "between the layers of a module, so that it acts only in modules of two layers or more; "
    "Figure 9 is repeated like that, beside a linear network of the same depth, with 8 domains. "
    "Its outcome depends on the step size: at 0.1 the deep linear network learns to transfer and "
    "then loses it again, at 0.03 it does not, and the advantage of leaky ReLU is judged at both.",
)
