"""Does the predicted difficulty of a split tell how well networks do on it?"""

from dataclasses import dataclass

import numpy as np

from recombine import splits
from recombine._ranges import Count, Positive
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    all_of,
    average,
    figures,
    grid,
    mean,
    per_seed,
    rank_correlation,
)
from recombine.splits._encoded_split import EncodedSplit

from . import DOCUMENT, NetworkName, TaskName
from .random_splits import random_splits

SIZES: dict[str, tuple[int, ...]] = {
    "teacher": (4, 4, 4),
    "routing": (5, 5, 4),
    "images": (4, 4, 4),
    "lookup": (5, 5, 5),
}
"""How many values every factor of a task has."""
ROWS = {"teacher": 4, "routing": 1, "images": 4, "lookup": 1}
"""Rows per combination."""
TASKS = tuple(SIZES)
NETWORKS = ("mlp", "deep", "product", "attention")
PREDICTORS = ("difficulty", "divergence", "fraction")


@dataclass(frozen=True)
class Config:
    """Settings of the certificate."""

    task: TaskName = "teacher"
    """The task, a complete table of combinations."""
    network: NetworkName = "mlp"
    """The network, which sees one slot per factor."""
    splits: Count = 13
    """How many random splits one trial trains on."""
    hidden: Count = 48
    """Hidden units per layer."""
    steps: Count = 250
    """Steps of training, each on all trained rows."""
    learning_rate: Positive = 5e-3
    """The first learning rate of Adam; it decays to 0 along a cosine."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train on random splits; compare what is predicted of them with what comes out.

    Splits depend on the seed and the task alone: every network sees the same.
    """
    import jax

    from recombine._host_random import host_generator

    from .tables import TABLES
    from .training import scores

    task_key, split_key, network_key = jax.random.split(key, 3)
    sizes = SIZES[config.task]
    table = TABLES[config.task](sizes, ROWS[config.task], key=task_key)
    trained = random_splits(table.combinations, config.splits, host_generator(split_key))
    score = scores(
        table,
        config.network,
        trained,
        hidden=config.hidden,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=network_key,
    )
    found = [predictions(table.combinations, sizes, mask) for mask in trained]
    accuracy = np.array([s[~m].mean() for s, m in zip(score, trained, strict=True)])
    predicted = {
        "difficulty": np.array([p.difficulty.mean() for p in found]),
        "divergence": np.array([p.divergence for p in found]),
        "fraction": 1 - trained.mean(axis=1),
    }
    for name, values in predicted.items():
        recorder.metric(name, -rank_correlation(values, accuracy))
        recorder.array(f"of_{name}", values)
    items = [
        -rank_correlation(p.difficulty, s[~m])
        for p, s, m in zip(found, score, trained, strict=True)
    ]
    recorder.metric("items", np.mean(items))
    recorder.metric("accuracy", accuracy.mean())
    recorder.metric("fitted", np.mean([s[m].mean() for s, m in zip(score, trained, strict=True)]))
    recorder.array("held_out_accuracy", accuracy)
    recorder.array("score", score)
    recorder.array("trained", trained)


@dataclass(frozen=True)
class Prediction:
    """What is predicted of a split."""

    difficulty: np.ndarray
    """Of every held-out combination."""
    divergence: float
    """Compound divergence of pairs of values."""


def predictions(every: np.ndarray, sizes: tuple[int, ...], trained: np.ndarray) -> Prediction:
    """The predicted difficulty of held-out combinations, and the compound divergence."""
    names = tuple(f"factor {f}" for f in range(len(sizes)))
    values = tuple(tuple(range(size)) for size in sizes)
    split = EncodedSplit(names, values, every[trained], every[~trained])
    difficulty = splits.Difficulty(split).of(every[~trained])
    return Prediction(difficulty, splits.table_divergence(split).compounds)


def draw(results: Results):
    """Accuracy on held-out combinations against predicted difficulty, a point per split."""
    names = results.values("task")
    figure = figures.panels(*names, x="predicted difficulty", y="held-out accuracy")
    for panel, task in enumerate(names):
        for color, network in enumerate(results.where(task=task).values("network")):
            chosen = results.where(task=task, network=network)
            x, y = (chosen.array(name).ravel() for name in ("of_difficulty", "held_out_accuracy"))
            figures.add_scatter(figure, x, y, network, color=color, panel=panel)
    return figure


def overall(what: str, label: str):
    """The mean of a metric over all tasks and networks, for every seed."""
    parts = (per_seed(what, task=t, network=n) for t in TASKS for n in NETWORKS)
    return average(parts, label)


DIFFICULTY = overall("difficulty", "rank correlation of difficulty with failure")
DIVERGENCE = overall("divergence", "rank correlation of compound divergence with failure")
FRACTION = overall("fraction", "rank correlation of the untrained fraction with failure")

study = Study(
    name="splits/certificate",
    title="The predicted difficulty of a split tells how well networks do on it",
    source=Source(DOCUMENT, "the score of `recombine diagnose`"),
    question="Do networks do worse on splits that the diagnosis calls difficult?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(task=("lookup",), network=("mlp",)),
            settings={"splits": 4, "steps": 20, "hidden": 8},
            cost="seconds",
        ),
        "laptop": Preset(
            seeds=4,
            conditions=grid(task=TASKS, network=NETWORKS),
            cost="5 min of processor time",
        ),
        "paper": Preset(
            seeds=20,
            conditions=grid(task=TASKS, network=NETWORKS),
            settings={"steps": 2000, "hidden": 128},
            cost="3 h of processor time",
        ),
    },
    claims=(
        Claim(
            "difficulty-predicts-failure",
            "Over random splits of a task, the rank correlation of mean predicted difficulty with "
            "accuracy on held-out combinations is at most −{0}, on average over four tasks and "
            "four networks.",
            "splits/certificate",
            mean(DIFFICULTY) >= 0.6,
            seeds=4,
        ),
        Claim(
            "better-than-divergence",
            "It is stronger than that of compound divergence alone.",
            "splits/certificate",
            mean(DIFFICULTY - DIVERGENCE) > 0,
            seeds=4,
        ),
        Claim(
            "better-than-fraction",
            "It is stronger than that of the fraction of combinations that is not trained.",
            "splits/certificate",
            mean(DIFFICULTY - FRACTION) > 0,
            seeds=4,
        ),
        Claim(
            "in-every-task-and-network",
            "It is at most −{0} for every task and network.",
            "splits/certificate",
            all_of(mean("difficulty", task=t, network=n) >= 0.3 for t in TASKS for n in NETWORKS),
            seeds=4,
        ),
        Claim(
            "difficulty-orders-items",
            "Among the held-out combinations of one split, the rank correlation of difficulty with "
            "accuracy is at most −{0}, on average.",
            "splits/certificate",
            mean(overall("items", "rank correlation of items' difficulty with failure")) >= 0.1,
            seeds=4,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy against predicted difficulty",
            "One point per split: accuracy on held-out combinations against their mean predicted "
            "difficulty.",
            draw,
        ),
    ),
)
