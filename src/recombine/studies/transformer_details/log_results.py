"""What the studies of the family read from logs of training, and the paper's settings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from recombine import probes
from recombine.lab import (
    Beside,
    Missing,
    Quantity,
    Results,
    figures,
    per_seed,
    rank_correlation,
    reference,
)

from .problems import MathematicsSpec, PCFGSpec, ScanSpec

VARIANTS: dict[str, str] = {
    "transformer": "Trafo",
    "universal": "Uni. Trafo",
    "relative": "Rel. Trafo",
    "relative-universal": "Rel. Uni. Trafo",
}
"""The networks of the family, and what the paper calls them."""
PAIRS = (("universal", "relative-universal"), ("transformer", "relative"))
"""Networks with absolute and with relative positions that share layers alike."""
SCHEMES: dict[str, str] = {"teu": "TEU", "no-scaling": "No scaling", "ped": "PED"}
"""Schemes of embedding scale, and what the paper calls them."""
PATIENCE = 5
"""Looks without a better loss after which early stopping stops."""

SMALL: dict[str, Any] = {
    "model.width": 64, "model.hidden": 128, "model.heads": 4, "model.layers": 3,
}  # fmt: skip
"""Networks of preset laptop."""
MINI_SCAN = ScanSpec(longest=8, without=("around", "opposite"))
"""3,570 commands, of which 2,695 of up to 8 actions are trained, and 576 of 9 to 12 tested."""
MINI_PCFG = PCFGSpec(
    letters=26, indices=1, trained=3, longest=5, train=8000, iid=300, ood=600,
    functions=("copy", "reverse", "shift", "swap_first_last", "append", "remove_second"),
)  # fmt: skip
"""Six functions on 26 letters: up to three of them are trained, four and five tested."""
MINI_PLACES = MathematicsSpec(
    train_entropy=(3.0, 6.0), iid_entropy=(5.0, 5.0), ood_entropy=(7.0, 8.0), train=10_000,
    iid=300, ood=600,
)  # fmt: skip
"""Digits of numbers with about 3 to 6 digits, and with 7 or 8 in the test."""
SMOKE: dict[str, Any] = {
    "problem": MINI_SCAN, "steps": 4, "every": 2, "batch_size": 4, "buckets": 1, "evaluated": 8,
    "schedule": "constant",
    "model.width": 8, "model.hidden": 8, "model.heads": 2, "model.layers": 1,
}  # fmt: skip

_CONSTANT = {"schedule": "constant", "buckets": 1, "every": 1000, "steps": 50_000}
PAPER: dict[str, dict[str, Any]] = {
    "scan": _CONSTANT | {
        "problem": ScanSpec(), "learning_rate": 1e-3, "batch_size": 256, "clip": 5.0,
    },
    "cogs": _CONSTANT | {
        "problem": "cogs", "learning_rate": 1e-4, "batch_size": 128, "clip": 1.0, "every": 500,
        "model.width": 512, "model.hidden": 512, "model.heads": 4, "model.layers": 2,
    },
    "pcfg": _CONSTANT | {
        "problem": PCFGSpec(), "learning_rate": 1e-4, "batch_size": 64, "clip": 1.0,
        "steps": 300_000,
        "model.width": 512, "model.hidden": 2048, "model.heads": 8, "model.layers": 6,
    },
    "mathematics": _CONSTANT | {
        "problem": MathematicsSpec(), "learning_rate": 1e-4, "batch_size": 256, "clip": 0.1,
        "model.width": 512, "model.hidden": 2048, "model.heads": 8, "model.layers": 6,
    },
}  # fmt: skip
"""Table C.1, by the names of problems; SCAN's sizes are the defaults of the specs."""
CFQ_SEPARATE: dict[str, Any] = {
    "schedule": "noam", "learning_rate": 0.9, "schedule.warmup_steps": 4000, "batch_size": 4096,
    "model.width": 128, "model.hidden": 256, "model.heads": 16, "model.layers": 2,
}  # fmt: skip
CFQ_SHARED: dict[str, Any] = {
    "schedule": "noam", "learning_rate": 2.24, "schedule.warmup_steps": 8000, "batch_size": 2048,
    "model.width": 256, "model.hidden": 512, "model.heads": 4, "model.layers": 6,
}  # fmt: skip
CFQ: dict[str, Any] = {
    "problem": "cfq-mcd1",
    "clip": 1.0,
    "buckets": 1,
    "every": 1000,
    "steps": 35_000,
}


def published(condition: dict[str, Any]) -> dict[str, Any]:
    """The paper's settings of a condition with a problem and a network."""
    problem = condition["problem"].name
    if problem == "cfq-mcd1":
        shared = getattr(condition["model"], "shared_layers", False)
        found = CFQ | (CFQ_SHARED if shared else CFQ_SEPARATE)
    else:
        found = PAPER[problem]
    return {name: value for name, value in found.items() if name != "problem"}


def at_stop(set_of_loss: str = "iid_loss") -> Quantity:
    """Accuracy on new combinations where early stopping on familiar pairs would have stopped."""

    def read(results: Results) -> np.ndarray:
        steps, losses = results.curve(set_of_loss)
        _, accuracies = results.curve("ood")
        patience = PATIENCE * int(steps[1] - steps[0])
        places = [probes.early_stop(steps, one, patience) for one in losses]
        return np.array([one[place] for one, place in zip(accuracies, places, strict=True)])

    return per_seed(read, "accuracy where early stopping stops")


def correlation(name: str) -> Quantity:
    """Spearman's correlation of loss and accuracy over the looks of a set, without the first."""

    def read(results: Results) -> np.ndarray:
        _, losses = results.curve(f"{name}_loss")
        _, accuracies = results.curve(name)
        return np.array([
            rank_correlation(loss[1:], accuracy[1:])
            for loss, accuracy in zip(losses, accuracies, strict=True)
        ])  # fmt: skip

    return per_seed(read, f"correlation of loss and accuracy, {name}")


def split_losses(results: Results, loss: str = "ood_loss") -> list[probes.GoodAndBad]:
    """The losses of pairs that are right at some look and of the others, for every seed."""
    parts = (results.array(name) for name in (loss, "ood_right", "ood_symbols"))
    return [probes.good_and_bad(*of_seed) for of_seed in zip(*parts, strict=True)]


def change_of(part: str) -> Quantity:
    """How much the loss of good or bad pairs, or of all, changes from its first look to its last.

    The first look is that after the first interval of training.
    """

    def read(results: Results) -> np.ndarray:
        curves = [getattr(found, part) for found in split_losses(results)]
        if any(np.isnan(curve).any() for curve in curves):
            raise Missing(f"some seed has no {part} pairs")
        return np.array([curve[-1] - curve[1] for curve in curves])

    return per_seed(read, f"change of the loss of {part} pairs")


def decomposition_error(results: Results) -> np.ndarray:
    """How far the total loss is from the weighted mean of both parts, at most."""
    found = []
    for parts in split_losses(results):
        good, bad = np.nan_to_num(parts.good), np.nan_to_num(parts.bad)
        mixed = parts.share * good + (1 - parts.share) * bad
        found.append(np.abs(mixed - parts.total).max())
    return np.array(found)


def speed(model: str) -> Quantity:
    """The step at which accuracy on new combinations reaches 80 % of its maximum."""

    def read(results: Results) -> np.ndarray:
        steps, accuracies = results.curve("ood")
        reached = np.array([probes.steps_to_share(steps, one) for one in accuracies])
        if np.isnan(reached).any():
            raise Missing(f"some network {model} never was right on a new combination")
        return reached

    return per_seed(read, "steps to 80 % of the best accuracy", model=model)


def chosen(results: Results, axis: str, order: dict[str, str]) -> list[str]:
    """The values of an axis that have been run: those of the paper in its order, then others."""
    found = results.values(axis)
    return [v for v in order if v in found] + [v for v in found if v not in order]


def draw_curves(
    results: Results, axis: str, names: dict[str, str], curves: dict[str, str], *, log: bool = False
):
    """One panel per curve, with a band per value of an axis, against the step."""
    figure = figures.panels(*curves.values(), x="step", y=["loss" if "loss" in c else "accuracy"
                                                           for c in curves],
                            log_y=[log and "loss" in c for c in curves])  # fmt: skip
    for color, value in enumerate(chosen(results, axis, names)):
        for panel, name in enumerate(curves):
            steps, ys = results.curve(name, **{axis: value})
            title = names.get(value, str(value))
            figures.add_band(figure, steps, ys, title, color=color, panel=panel)
    return figure


def beside(
    artifact: str, task: str, model: str, *, setting: str, metric: str, ours: str = "ood",
    row: str = "", where: dict[str, Any],
) -> Beside:  # fmt: skip
    """A number of the paper beside ours; `row` is what its table calls the network."""
    row = row or VARIANTS[model]
    paper = reference(
        "transformer-details", artifact=artifact, task=task, model=row, setting=setting,
        metric=metric,
    )  # fmt: skip
    name = ", ".join([task, row, *filter(None, [setting, metric if ours != "ood" else ""])])
    condition = {"model": model} | where
    read: Callable[[Results], np.ndarray] = lambda r: r.where(**condition).metric(ours)  # noqa: E731
    return Beside(name, paper, read)
