"""What trials of the study of classes do: train a network, and take its classes away one by one."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from recombine import data, learning, probes
from recombine._ranges import Count, Positive, Whole
from recombine.lab import Recorder, Trained, check_intervals
from recombine.models import specs

from .protocol import conclude

READOUT = "readout."
"""Layers whose mask is that of the control, in all masks without a class."""
ABLE = 0.5
"""The least accuracy of a network without a mask."""
HELD_OUT_EVERY = 5
"""Of data sets with many images one training image in so many is for measurements."""


@dataclass(frozen=True)
class NetworkConfig:
    """Settings of the network whose modules are looked for."""

    data: Literal["digits", "mnist", "fashion-mnist", "cifar-10"] = "cifar-10"
    """The images."""
    model: specs.AbstractImageSpec = specs.ImageCNNSpec()
    """The network."""
    learning_rate: Positive = 1e-3
    """Learning rate of Adam."""
    batch_size: Count = 128
    """Images per update, of weights and of masks."""
    steps: Whole = 20_000
    """Updates of the weights."""
    every: Count = 500
    """Updates of the weights between two measurements."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the masks, too."""

    beta: Positive = 1e-4
    """Price of a weight times the batch size, β."""
    mask_rate: Positive = 1e-3
    """Learning rate of the logits."""
    samples: Count = 4
    """Samples of a mask per update."""
    mask_steps: Whole = 20_000
    """Updates of the masks."""


def needed(config: Config) -> Trained:
    """The trial that trains the network of a config."""
    own = {field.name: getattr(config, field.name) for field in fields(NetworkConfig)}
    return Trained(network_trial, NetworkConfig(**own))


def images_of(name: str) -> tuple[Any, Any, "data.ImageData"]:
    """Images to train and to measure on, normalised; the test images of the digits, which are few,
    and a fifth of the training images otherwise."""
    found = data.normalised(data.load(name))
    make = learning.LabelledImages
    if len(found.train_labels) < 10_000:
        train = make(found.train_images, found.train_labels)
        return train, make(found.test_images, found.test_labels), found
    held = np.arange(len(found.train_labels)) % HELD_OUT_EVERY == 0
    train, valid = (
        make(found.train_images[rows], found.train_labels[rows]) for rows in (~held, held)
    )
    return train, valid, found


def network_trial(config: NetworkConfig, key, recorder: Recorder) -> None:
    """Train a network, and keep it."""
    import equinox as eqx
    import jax

    of_weights, of_batches = jax.random.split(key)
    train, valid, images = images_of(config.data)
    sizes = specs.ImageSizes((*images.shape, 1)[:3], images.classes)
    model = eqx.filter_jit(lambda key: config.model.build(sizes, key))(of_weights)
    rule = learning.Descent(
        learning.image_loss, learning.Drawn(train, config.batch_size),
        learning.adam(config.learning_rate), key=of_batches,
        measure=learning.Accuracy({"": valid}), every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(model), config.steps)
    for name in ("loss", "accuracy"):
        recorder.curve(name, curves["step"], curves[name])
    recorder.metric("unmasked", curves["accuracy"][-1])
    recorder.keep(state.model, config.model, sizes)


def trial(config: Config, key, recorder: Recorder) -> None:
    """A mask of all classes, then one without each class, and what is confused under them."""
    import jax

    network = recorder.trained().network
    of_control, of_others = jax.random.split(jax.random.fold_in(key, 1))
    train, valid, images = images_of(config.data)
    measure, classes = learning.ImagePredictions(valid.x), images.classes
    filter = learning.maskable(network, biases=True)
    every = np.arange(len(train.labels))
    control = find(
        config, learning.Masked(network, filter, names=("control",)), {"control": every}, train,
        of_control, recorder,
    ).mask()  # fmt: skip

    def inner(name: str) -> bool:
        return not name.startswith(READOUT)

    # What reads the classes has the control mask for good, and is masked no more.
    fixed = probes.replace_in_mask(control, None, inner).apply(network)
    names = tuple(f"without_{c}" for c in range(classes))
    masked = learning.Masked(fixed, without_readout(filter), names=names)
    rows = {name: every[np.asarray(train.labels) != c] for c, name in enumerate(names)}
    others = find(config, masked, rows, train, of_others, recorder).masks()

    whole = {"unmasked": control | ~control, "control": control}
    found = probes.under_masks(network, whole, measure)
    found |= probes.under_masks(fixed, others, measure)
    confusion = {
        name: probes.class_confusion(seen["classes"], valid.labels, classes)
        for name, seen in found.items()
    }
    recorder.array("confusion", np.array(list(confusion.values())))
    right = [float((found[n]["classes"] == valid.labels).mean()) for n in whole]
    recorder.metric("control", right[1])
    gate = probes.module_gate(*right, perfect=ABLE)
    kept = {f"kept_{name}": probes.kept_share(mask) for name, mask in others.items()}
    conclude(recorder, gate, kept | conclusions(confusion, classes) if gate.valid else {})


def without_readout(filter: Any) -> Any:
    """A filter that leaves the output layer out."""
    import equinox as eqx
    import jax

    return eqx.tree_at(lambda f: f.readout, filter, jax.tree.map(lambda _: False, filter.readout))


def find(
    config: Config, masked: Any, rows: dict[str, np.ndarray], train: Any, key: Any,
    recorder: Recorder,
) -> "learning.Masked":  # fmt: skip
    """Learn masks, each on some rows of the training images."""
    import jax.numpy as jnp

    learning.check_mask_steps(config.mask_steps, config.beta, config.batch_size, config.mask_rate)
    samplers = {
        name: learning.DrawnRows(train, jnp.asarray(own), config.batch_size)
        for name, own in rows.items()
    }
    rule = learning.mask_descent(
        learning.image_loss, learning.Targets(samplers), masked, beta=config.beta,
        batch_size=config.batch_size, rate=config.mask_rate, samples=config.samples, key=key,
        every=max(1, config.mask_steps // 20),
    )  # fmt: skip
    steps = config.mask_steps - config.mask_steps % rule.every
    state, curves = recorder.train(rule, rule.init(masked), steps, name=masked.names[0])
    recorder.curve(f"kept_{masked.names[0]}", curves["step"], np.asarray(curves["kept"])[:, 0])
    return state.model


def conclusions(confusion: dict[str, np.ndarray], classes: int) -> dict[str, float]:
    """What the masks without a class lose of it, and of others."""
    lost = [
        probes.class_removal(confusion["control"], confusion[f"without_{c}"], c)
        for c in range(classes)
    ]
    made = {f"drop_{c}": one.drop for c, one in enumerate(lost)}
    made |= {f"collateral_{c}": one.collateral for c, one in enumerate(lost)}
    return made | {
        "drop": float(np.mean([one.drop for one in lost])),
        "collateral": float(np.mean([one.collateral for one in lost])),
    }
