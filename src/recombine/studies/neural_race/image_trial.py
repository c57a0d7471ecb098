"""The trial of the image studies, and the paper's tables of settings."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from recombine import data, learning, models, probes, splits, tasks
from recombine._spec import AbstractSpec
from recombine.lab import Count, Fraction, NotNegative, Positive, Recorder

CHANCE = 0.1
OBSERVED = 200
"""Training and test images on which a network is observed while it learns."""


@dataclass(frozen=True)
class Config:
    """Settings of the image-routing studies."""

    data: Literal["digits", "mnist", "fashion-mnist", "cifar-10", "prototypes"] = "digits"
    """Images: 8x8 digits, a data set of `recombine data get`, or synthetic classes."""
    side: Count | None = None
    """Rows and columns to which images are averaged; none: their own size."""
    inputs: Literal["permuted", "rotated"] = "permuted"
    """Input domains: one pixel permutation or one rotation per domain."""
    labels: Literal["random", "lexicographic"] = "random"
    """Output domains: random permutations of the classes, or the first in lexicographic order."""
    network: Literal["gated", "unshared"] = "gated"
    """The gated classifier with its shared hidden module, or the control that shares nothing."""
    activation: Literal["linear", "leaky"] = "linear"
    """Linear modules, or modules with leaky ReLU (slope 0.01) between their layers."""
    layers: Count = 1
    """Linear layers per module; an activation inside modules needs at least two."""
    M: Count = 10
    """Number of input and of output domains."""
    K: Count = 4
    """Output domains trained with each input domain."""
    width: Count = 64
    """Hidden units."""
    gain: NotNegative = 0.1
    """Factor on the Xavier-uniform initial weights."""
    learning_rate: Positive = 0.1
    """Step size of gradient descent."""
    momentum: Fraction = 0.9
    """Momentum of gradient descent."""
    batch: Count = 32
    """Images per step; each is sent along all routes."""
    steps: Count = 2000
    """Steps of gradient descent."""
    test_images: Count = 500
    """Test images on which accuracy is measured."""


class RouteSizes(NamedTuple):
    """What a set of images asks of a network of routes."""

    domains: int
    """Number of input and of output domains, M."""
    inputs: int
    """Pixels of an image."""
    classes: int


@dataclass(frozen=True)
class RouteNetwork(AbstractSpec):
    """The network of the settings above."""

    network: Literal["gated", "unshared"] = "gated"
    """The gated classifier with its shared hidden module, or the control that shares nothing."""
    activation: Literal["linear", "leaky"] = "linear"
    """Linear modules, or modules with leaky ReLU between their layers."""
    layers: int = 1
    """Linear layers per module."""
    width: int = 64
    """Hidden units."""
    gain: float = 0.1
    """Factor on the Xavier-uniform initial weights."""

    def build(self, sizes: RouteSizes, key):
        """The untrained network."""
        import jax

        kind = models.GatedClassifier if self.network == "gated" else models.UnsharedClassifier
        return kind(
            sizes.domains,
            sizes.inputs,
            self.width,
            sizes.classes,
            gain=self.gain,
            layers_per_module=self.layers,
            activation=jax.nn.leaky_relu if self.activation == "leaky" else jax.nn.identity,
            key=key,
        )


SETTINGS_OF_TABLES = {
    "network": "gated", "layers": 1, "width": 128, "learning_rate": 1e-4, "momentum": 0.9,
    "batch": 8, "steps": 7_500_000, "gain": 0.01, "data": "mnist", "test_images": 10_000,
}  # fmt: skip
"""Table 1: 1,000 epochs of 60,000 images in batches of 8. The gain is the published code's."""
TABLES = {
    "MNIST-Permuted-Input-Permuted-Output-40": {"inputs": "permuted", "M": 40},
    "MNIST-Permuted-Input-Permuted-Output-100": {"inputs": "permuted", "M": 100},
    "MNIST-Rotated-Input-Permuted-Output-40": {"inputs": "rotated", "M": 40},
}
"""Tables 2-4; in the paper the rotated set has M = 40 everywhere except in Table 4."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train K routes per input domain; measure the accuracy of all routes on test images."""
    import jax

    label_key, mask_key, weight_key, batch_key = jax.random.split(key, 4)
    images = load(config)
    pixels = math.prod(images.shape)
    if config.inputs == "permuted":
        transforms = tasks.pixel_permutations(config.M, pixels)
    else:
        transforms = tasks.rotations(config.M, images.shape)
    if config.labels == "random":
        labels = tasks.random_labels(config.M, key=label_key)
    else:
        labels = tasks.lexicographic_labels(config.M)
    task = tasks.ImageRouting(images, transforms, labels)
    sizes = RouteSizes(config.M, pixels, images.classes)
    spec = RouteNetwork(
        config.network, config.activation, config.layers, config.width, config.gain
    )  # fmt: skip
    model = spec.build(sizes, weight_key)
    if config.network == "gated":
        mask = splits.permuted_ring_mask(config.M, config.K, key=mask_key)
    else:
        mask = splits.diagonal_mask(config.M)
    every = max(1, config.steps // 20)
    loss = learning.RouteLoss(mask)
    rule = learning.Descent(
        loss,
        learning.Sampled(task, config.batch),
        learning.sgd(config.learning_rate, momentum=config.momentum),
        key=batch_key,
        measure=jax.tree_util.Partial(observed, loss, task),
        every=every,
    )
    state, seen = recorder.train(rule, rule.init(model), config.steps, chunk=2 * every)
    recorder.keep(state.model, spec, sizes)
    for name in ("loss", "trained_accuracy", "untrained_accuracy"):
        if np.all(np.isfinite(seen[name])):  # there may be no untrained route
            recorder.curve(name, seen["step"], seen[name])
    batch = task.first_test(config.test_images)
    accuracies = probes.route_accuracies(state.model, batch)
    trained, untrained = probes.route_means(accuracies, mask)
    recorder.array("accuracies", accuracies)
    recorder.array("mask", mask)
    recorder.metric("trained_accuracy", trained)
    if not np.all(mask):
        recorder.metric("untrained_accuracy", untrained)
    recorder.metric("sharing", probes.encoder_sharing(state.model, batch))


def observed(loss: "learning.RouteLoss", task: "tasks.ImageRouting", model):
    """The loss of trained routes on training images; the accuracies of all on test images."""
    accuracies = probes.route_accuracies(model, task.first_test(OBSERVED))
    trained, untrained = probes.route_means(accuracies, loss.mask)
    return {
        "loss": loss(model, task.first_train(OBSERVED)),
        "trained_accuracy": trained,
        "untrained_accuracy": untrained,
    }


def load(config: Config):
    """The images that `config` names."""
    import jax

    if config.data != "prototypes":
        return data.load(config.data, side=config.side)
    side = config.side or 8
    return data.prototypes(key=jax.random.key(0), shape=(side, side))
