"""How many examples does a plan save?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine._ranges import Count, Fraction, Positive
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    average,
    figures,
    grid,
    mean,
    per_seed,
)

from . import DOCUMENT, NetworkName
from .designs import DESIGNS

COUNTS = (5, 9, 13, 18, 26, 40, 64)
"""How many combinations are trained, of 125."""
ROWS = {"teacher": 3, "images": 3}
"""Rows per combination."""
TASKS = tuple(ROWS)
NETWORKS = ("mlp", "product")


@dataclass(frozen=True)
class Config:
    """Settings of the study of plans."""

    task: Literal["teacher", "images"] = "teacher"
    """The task, with three factors of five values each."""
    network: NetworkName = "mlp"
    """The network, which sees one slot per factor."""
    threshold: Fraction = 0.75
    """The held-out score that all ways of collecting examples are to reach."""
    hidden: Count = 48
    """Hidden units per layer."""
    steps: Count = 250
    """Steps of training, each on all trained rows."""
    learning_rate: Positive = 5e-3
    """The first learning rate of Adam; it decays to 0 along a cosine."""
    values: Count = 5
    """Values per factor."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Collect combinations in several ways; train on the first few of each, test on all others."""
    import jax

    from recombine._host_random import host_generator

    from .tables import TABLES
    from .training import scores

    task_key, order_key, network_key = jax.random.split(key, 3)
    sizes = (config.values,) * 3
    table = TABLES[config.task](sizes, ROWS[config.task], key=task_key)
    total = len(table.combinations)
    counts = np.unique([min(count, total - 1) for count in COUNTS])
    rng = host_generator(order_key)
    masks = []
    for design in DESIGNS.values():
        order = design(sizes, int(counts[-1]), rng)
        places = np.ravel_multi_index(tuple(order.T), sizes)
        masks += [np.isin(np.arange(total), places[:count]) for count in counts]
    trained = np.stack(masks)
    score = scores(
        table,
        config.network,
        trained,
        hidden=config.hidden,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=network_key,
    )
    held_out = np.array([s[~m].mean() for s, m in zip(score, trained, strict=True)])
    for name, curve in zip(DESIGNS, held_out.reshape(len(DESIGNS), -1), strict=True):
        recorder.curve(name, counts, curve)
        recorder.metric(f"{name}_needs", examples_needed(counts, curve, config.threshold))
        recorder.metric(f"{name}_score", curve.mean())


def examples_needed(counts: np.ndarray, curve: np.ndarray, threshold: float) -> float:
    """The number at which a score reaches a threshold, on a line through the logarithms of counts.

    The score at a number is the best so far. If it is never reached, twice the largest number.
    """
    best = np.maximum.accumulate(curve)
    if best[-1] < threshold:
        return 2.0 * counts[-1]
    n = int(np.argmax(best >= threshold))
    if n == 0:
        return float(counts[0])
    share = (threshold - best[n - 1]) / (best[n] - best[n - 1])
    low, high = np.log(counts[n - 1]), np.log(counts[n])
    return float(np.exp(low + share * (high - low)))


def draw(results: Results):
    """Held-out score by the number of trained combinations."""
    panels = [(t, n) for t in results.values("task") for n in results.values("network")]
    figure = figures.panels(
        *(f"{t}, {n}" for t, n in panels), x="trained combinations", y="held-out score", log_x=True
    )
    for panel, (task, network) in enumerate(panels):
        for color, name in enumerate(DESIGNS):
            counts, curves = results.curve(name, task=task, network=network)
            figures.add_points(figure, counts, list(curves.T), name, color=color, panel=panel)
    return figure


def log_ratio(other: str):
    """log2 of how many times as many examples another design needs, for every seed."""
    parts = (
        per_seed(
            lambda r: np.log2(r.metric(f"{other}_needs") / r.metric("planner_needs")),
            task=task,
            network=network,
        )
        for task in TASKS
        for network in NETWORKS
    )
    return average(parts, f"log2 of examples that {other} needs, over those of the planner")


study = Study(
    name="splits/planner",
    title="A plan of what to add saves examples",
    source=Source(DOCUMENT, "the additions of `recombine diagnose`"),
    question="How many examples does a network need if the planner chooses them?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(task=("teacher",), network=("mlp",)),
            settings={"values": 3, "steps": 10, "hidden": 8},
            cost="seconds",
        ),
        "laptop": Preset(
            seeds=6,
            conditions=grid(task=TASKS, network=NETWORKS),
            cost="5 min of processor time",
        ),
        "paper": Preset(
            seeds=20,
            conditions=grid(task=TASKS, network=NETWORKS),
            settings={"steps": 2000, "hidden": 128},
            cost="5 h of processor time",
        ),
    },
    claims=tuple(
        Claim(
            f"fewer-than-{name}",
            f"For the same held-out score, {words} needs more examples than the planner: log2 of "
            "the ratio is above {0}, on average over two tasks and two networks.",
            "splits/planner",
            mean(log_ratio(name)) > 0,
            seeds=6,
        )
        for name, words in {
            "random": "a random choice",
            "stair": "Stair",
            "l": "L",
            "diagonal": "Diagonal",
        }.items()
    ),
    figures=(
        Figure(
            "score",
            "Held-out score by the number of examples",
            "Mean score on all combinations that are not trained, by how many are.",
            draw,
        ),
    ),
)
