"""Parts shared by the studies of paired images: streams, training, and the use of X_2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recombine import data, learning, models, probes, tasks
from recombine.lab import Recorder

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

Images = Literal["digits", "mnist", "fashion-mnist", "cifar-10"]
Loss = Literal["categorical-hinge", "multiclass-hinge", "cross-entropy"]
LEVELS = (0.5, 0.8)
"""Training accuracies whose first steps are reported."""
WINDOW = 50
"""First steps over which training accuracy is averaged."""
EPSILON = 1e-7
"""Epsilon of Adam, that of Keras."""
SENSED = 200
"""Largest number of pairs at which derivatives with respect to the input are taken."""


def loss_of(name: Loss) -> Any:
    """The loss that a setting names."""
    return {
        "categorical-hinge": learning.categorical_hinge,
        "multiclass-hinge": learning.multiclass_hinge,
        "cross-entropy": learning.softmax_cross_entropy,
    }[name]


def rate_of(images: Images, rate: float | None) -> float:
    """The given learning rate; if none, the published one, or half of it for the digits.

    With half of it, training on digits is as far after 200 steps as on MNIST at the full rate.
    """
    return rate if rate is not None else 5e-4 if images == "digits" else 1e-3


def task_of(images: Images, *, informative: bool) -> tasks.PairedImages:
    """Setting A if the second image of training pairs is informative, B if not."""
    return tasks.PairedImages(data.load(images), informative=informative)


def network_of(task: tasks.PairedImages, key: PRNGKeyArray) -> models.PairedImageCNN:
    """The paper's network for pairs of the task's images."""
    import equinox as eqx

    rows, columns, channels = task.shape
    shape = (rows, 2 * columns, channels)
    return eqx.filter_jit(models.PairedImageCNN)(shape, classes=task.classes, key=key)


def streams(
    task: tasks.PairedImages, pairs: int, key: PRNGKeyArray
) -> tuple[tasks.PairBatch, dict[str, tasks.PairBatch]]:
    """The evaluation streams: training pairs, and test images in trained and in new pairs."""
    from equinox import filter_jit

    return filter_jit(_streams)(task, pairs, key)


def _streams(task, pairs, key):
    import jax

    seen, iid, ood = jax.random.split(key, 3)
    return task.sample(pairs, key=seen), {
        "iid": task.sample_test(pairs, trained=True, key=iid),
        "ood": task.sample_test(pairs, key=ood),
    }


def report_learning(seen: dict[str, np.ndarray], recorder: Recorder) -> None:
    """Accuracies on all streams, the gap between them, and how fast training went."""
    steps = seen["step"]
    train, iid, ood = (seen[f"{stream}accuracy"] for stream in ("", "iid_", "ood_"))
    for name, curve in (("train", train), ("iid", iid), ("ood", ood), ("gap", train - ood)):
        recorder.curve(name, steps, curve)
        recorder.metric(name, curve[-1])
    for stream in ("", "iid_", "ood_"):
        recorder.curve(f"{stream or 'train_'}loss", steps, seen[f"{stream}loss"])
    recorder.metric("gap_area", np.trapezoid(train - ood, steps))
    recorder.metric("window_accuracy", train[(steps > 0) & (steps <= WINDOW)].mean())
    for level in LEVELS:
        if (train >= level).any():
            recorder.metric(f"steps_to_{level:g}", steps[(train >= level).argmax()])


def report_dependence(
    model: Any,
    task: tasks.PairedImages,
    ood: tasks.PairBatch,
    partners: int,
    key: PRNGKeyArray,
    recorder: Recorder,
) -> None:
    """Report the trained network's use of the second image: leakage, shortcuts, sensitivity."""
    from equinox import filter_jit

    for name, value in filter_jit(dependence)(model, task, ood, partners, key).items():
        recorder.metric(name, value)


def dependence(
    model: Any, task: tasks.PairedImages, ood: tasks.PairBatch, partners: int, key: PRNGKeyArray
) -> dict[str, Array]:
    """I(Ŷ; X_2 | X_1), the rate of shortcuts, and sensitivities to both images."""
    import jax

    def leakage(test):
        crossed = task.partners(partners, partners, test=test, key=key)
        answers = jax.lax.map(lambda x: model(x).argmax(axis=-1), crossed.x)
        return probes.leakage(answers, task.classes)

    answers = model(ood.x).argmax(axis=-1)
    slopes = probes.input_sensitivity(model, ood.x[:SENSED], task.parts())
    return {
        "train_leakage": leakage(False),
        "leakage": leakage(True),
        "shortcut_rate": probes.shortcut_rate(answers, ood.second_labels, task.classes),
        "sensitivity_1": slopes[0],
        "sensitivity_2": slopes[1],
        "sensitivity_ratio": slopes[1] / slopes[0],
    }
