"""What one trial of the study of continual learning does: one network, one task after another."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import data, learning, models, probes, tasks
from recombine._ranges import Count, Positive, Whole
from recombine.lab import Recorder

FIRST = ("layers[0].weight", "layers[0].bias")
"""The layer that starts anew for every task, for each has its own order of pixels."""
LOGIT = 2.0
"""Logits of occupied weights, and of all weights in the first task."""


@dataclass(frozen=True)
class Config:
    """Settings of the study of continual learning."""

    data: Literal["digits", "mnist", "fashion-mnist"] = "mnist"
    """The images."""
    tasks: Count = 11
    """Orders of the pixels, one task each; the first one is that of the images."""
    hidden: tuple[Count, ...] = (800, 800, 64)
    """Units of the hidden layers."""
    free_logit: float = LOGIT
    """Where the logits of weights start that no earlier task needs; at 2, or lower, so that
    occupied weights are preferred."""
    alpha: Positive = 1e-5
    """Price of a weight, α."""
    learning_rate: Positive = 1e-2
    """Learning rate of weights and logits."""
    batch_size: Count = 128
    """Images per update."""
    samples: Count = 8
    """Samples of a mask per update."""
    clip: Positive = 1.0
    """Norm to which longer gradients are cut."""
    steps: Whole = 30_000
    """Updates per task."""


def fresh_network(sizes: tuple[int, ...], key: Any) -> "models.MLP":
    """A network with `xavier_normal` weights, for ReLU in all layers but the last."""
    import equinox as eqx
    import jax

    from recombine.models._initializers import xavier_normal

    network = models.MLP(sizes, key=key)
    keys = jax.random.split(key, len(sizes) - 1)
    gains = [2**0.5] * (len(sizes) - 2) + [1.0]
    weights = [
        xavier_normal(layer.weight.shape, gain=gain, key=k)
        for layer, gain, k in zip(network.layers, gains, keys, strict=True)
    ]
    return eqx.tree_at(lambda n: [layer.weight for layer in n.layers], network, weights)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Weights and a mask for one task after another; occupied weights stay as they are."""
    import equinox as eqx
    import jax

    images = data.normalised(data.load(config.data))
    sizes = (images.train_images.shape[1], *config.hidden, images.classes)
    orders = np.array(tasks.pixel_permutations(config.tasks, sizes[0]).source)
    orders[0] = np.arange(sizes[0])
    drawn = eqx.filter_jit(lambda key: fresh_network(sizes, key))
    accuracy = eqx.filter_jit(
        lambda masked, test: (masked.apply()(test.x).argmax(axis=1) == test.labels).mean()
    )
    filter = learning.maskable(drawn(key), biases=True)
    earlier: list[Any] = []
    masked = None
    accuracies, shares = [], []
    for task in range(config.tasks):
        of_task = jax.random.fold_in(key, task)
        of_weights, of_batches = jax.random.split(of_task)
        train = learning.LabelledImages(images.train_images[:, orders[task]], images.train_labels)
        test = learning.LabelledImages(images.test_images[:, orders[task]], images.test_labels)
        fresh = drawn(of_weights)
        if masked is None:
            # Nothing is frozen; that it is said, lets all tasks share one program.
            full = learning.WeightMask.full(fresh, filter)
            masked = learning.Masked(fresh, filter, logit=LOGIT, frozen=(~full).kept)
        else:
            masked = learning.next_task(
                masked, fresh, union(earlier), exempt=FIRST, logit=LOGIT,
                free_logit=config.free_logit,
            )  # fmt: skip
        rule = learning.mask_descent(
            learning.ScoreLoss(), learning.Drawn(train, config.batch_size), masked,
            beta=config.alpha * config.batch_size, batch_size=config.batch_size,
            rate=config.learning_rate, samples=config.samples, clip_norm=config.clip,
            weights=True, key=of_batches, every=max(1, config.steps // 4),
        )  # fmt: skip
        steps = config.steps - config.steps % rule.every
        state, _ = recorder.train(rule, rule.init(masked), steps, name=f"task_{task}")
        masked = state.model
        mask = masked.mask()
        accuracies.append(float(accuracy(masked, test)))
        if earlier:
            shares.append(sharing(mask, earlier))
        earlier.append(mask)
    report(recorder, accuracies, np.array(shares))


def union(masks: list[Any]) -> Any:
    """The weights that any of the masks keeps."""
    whole = masks[0]
    for mask in masks[1:]:
        whole = whole | mask
    return whole


def sharing(mask: Any, earlier: list[Any]) -> list[float]:
    """The share of weights that earlier tasks keep, too, in every layer but the first."""
    found = probes.shared_with(mask, earlier)
    of_layer = dict(zip(found.layers, found.share, strict=True))
    return [s for name, s in of_layer.items() if name.endswith("weight") and name not in FIRST]


def report(recorder: Recorder, accuracies: list[float], shares: np.ndarray) -> None:
    """Accuracy of every task at its end, and sharing by task and layer (Figure 3.4)."""
    recorder.curve("accuracy", 1 + np.arange(len(accuracies)), accuracies)
    recorder.metric("accuracy", min(accuracies))
    for layer in range(shares.shape[1] if shares.size else 0):
        recorder.curve(f"share_{layer + 2}", 2 + np.arange(len(shares)), shares[:, layer])
        recorder.metric(f"second_{layer + 2}", shares[0, layer])
        recorder.metric(f"last_{layer + 2}", shares[-1, layer])
