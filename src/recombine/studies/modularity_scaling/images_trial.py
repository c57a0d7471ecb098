"""The trial of the image studies: find projections, train, and measure what modules see."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import data, learning, models, probes, splits, tasks
from recombine.lab import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    Recorder,
    Reference,
    Whole,
    reference,
)

from .sine_trial import kernel_optimizer

FAMILY = "modularity-scaling"
CHANCE = 0.1
"""Accuracy of guessing one of ten classes."""
METHODS = {"monolithic": "monolithic", "modular": "modular", "kernel": "ours"}
"""The methods that the paper compares, and its names for them."""
IN_TABLES = {
    "monolithic": "baseline_monolithic",
    "modular": "baseline_modular",
    "kernel": "kernel_init_modular",
}
"""The methods' names in the table of the paper's numbers."""


def noisy_reference(method: str, noise: float) -> Reference:
    """The paper's accuracy in Table 4."""
    setting = f"k=6 images; training noise sigma={noise:g}; clean test inputs"
    return reference(
        FAMILY, artifact="table-4", model=IN_TABLES[method], setting=setting
    ).as_share()


SHOWN = 2
"""Number of modules whose projections are stored for figures."""


@dataclass(frozen=True)
class Config:
    """Settings of the studies on inputs of several images."""

    method: Literal["monolithic", "modular", "kernel", "oracle"] = "modular"
    """The method: one network, or modules with random projections, with those of the kernel rule,
    or with random ones that see one image only."""
    data: Literal["digits", "templates", "mnist", "fashion-mnist", "cifar-10"] = "digits"
    """Images: 8x8 digits, synthetic mixtures of templates, or a data set of `recombine data get`.
    """
    side: Count | None = None
    """Rows and columns to which images are averaged; none: their own size."""
    k: Count = 4
    """Images per input."""
    held_out: Fraction = 0.0
    """Fraction of the tuples of classes that no training input has; 0: none."""
    noise: NotNegative = 0.0
    """Standard deviation of the noise on training inputs."""
    modules: Count = 16
    """Modules K of the network."""
    width: Count = 16
    """Dimension of a module's projection."""
    trunk: tuple[Count, ...] = (64, 32)
    """Units of the hidden layers that all modules share."""
    hidden: tuple[Count, ...] = (128, 128, 64)
    """Units of the hidden layers of the monolithic network."""
    inputs: Count = 12_800
    """Training inputs, each seen once."""
    batch: Count = 128
    """Inputs per step."""
    learning_rate: Positive = 3e-3
    """Learning rate of Adam."""
    sampling: Literal["per_module_slot", "per_module_column", "global_random"] = "per_module_slot"
    """The outputs to which the kernel rule fits a module: all of one image, a single one, or all.
    """
    together: bool = True
    """Whether a module is fitted to all of its outputs at every step, or to a random one."""
    sigma: Positive | None = None
    """Width of the kernel; none: the root mean squared distance of projected inputs."""
    jitter: NotNegative = 0.1
    """Added to the diagonal of the kernel."""
    kernel_optimiser: Literal["adam", "sgd"] = "adam"
    """Optimizer of the kernel rule."""
    kernel_mean: bool = True
    """Whether the objective of the kernel rule is divided by its batch size."""
    kernel_rate: Positive = 0.003
    """Learning rate of the kernel rule."""
    kernel_inputs: Count = 4096
    """Number of training inputs, from the first on, that the kernel rule sees."""
    kernel_batch: Count = 128
    """Inputs per step of the kernel rule."""
    kernel_steps: Whole = 100
    """Steps of the kernel rule."""
    test_inputs: Count = 2000
    """Test inputs on which accuracy is measured."""

    def __post_init__(self) -> None:
        if self.modules < SHOWN:
            raise ValueError(f"modules={self.modules} is less than {SHOWN}")
        for name, batch in (("inputs", self.batch), ("kernel_inputs", self.kernel_batch)):
            if getattr(self, name) < batch:
                raise ValueError(f"{name}={getattr(self, name)} is less than a batch of {batch}")


def assigned(config: Config) -> np.ndarray:
    """The image that each module is assigned to; modules take turns: [modules]."""
    return np.arange(config.modules) % config.k


def columns(config: Config, classes: int) -> np.ndarray:
    """The outputs that the kernel rule may fit each module to: bool [modules, outputs]."""
    own = np.zeros((config.modules, config.k, classes), bool)
    module = np.arange(config.modules)
    if config.sampling == "global_random":
        own[:] = True
    elif config.sampling == "per_module_slot":
        own[module, assigned(config)] = True
    else:
        own[module, assigned(config), module // config.k % classes] = True
    return own.reshape(config.modules, -1)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a network by one method; measure its accuracy and the projections of its modules."""
    import equinox as eqx
    import jax

    # Images, tuples, weights, inputs and tests have separate keys, so that methods share them.
    data_key, tuple_key, weight_key, kernel_key, input_key, test_key = jax.random.split(key, 6)
    images = load(config, data_key)
    k, classes, pixels = config.k, images.classes, images.train_images.shape[1]
    held_out = None
    if config.held_out:
        held_out = splits.HashedTuples(k, classes, config.held_out, key=tuple_key)
    task = tasks.CompositionalImages(k, images, held_out=held_out, noise=config.noise)

    network: Any
    if config.method == "monolithic":
        network = eqx.filter_jit(models.BatchNormMLP)(
            k, pixels, hidden=config.hidden, classes=classes, key=weight_key
        )
    else:
        network = eqx.filter_jit(models.ModularImageNetwork)(
            k,
            pixels,
            modules=config.modules,
            width=config.width,
            trunk=config.trunk,
            classes=classes,
            key=weight_key,
        )
    if config.method == "kernel":
        network = network.with_projections(
            kernel_projections(config, task, network.U, input_key, kernel_key, recorder)
        )
    elif config.method == "oracle":
        network = network.with_projections(blind(config, network.U))

    draw = eqx.filter_jit(task.sample_test)
    steps = config.inputs // config.batch
    every = tenth(steps)
    rule = learning.Descent(
        learning.SlotLoss(),
        learning.Sampled(task, config.batch),
        learning.adam(config.learning_rate),
        key=input_key,
        measure=learning.Accuracy({"": draw(config.test_inputs, key=test_key)}),
        every=every,
    )
    state, seen = recorder.train(
        rule, eqx.filter_jit(rule.init)(network), steps, chunk=max(100, 5 * every)
    )
    recorder.curve("accuracy", seen["step"] * config.batch, seen["accuracy"])
    recorder.metric("accuracy", seen["accuracy"][-1])
    recorder.metric("loss", seen["loss"][-1])
    if config.held_out:
        tests = {"": draw(config.test_inputs, trained=True, key=test_key)}
        found = eqx.filter_jit(learning.Accuracy(tests))(state.model, state.carry)
        recorder.metric("trained_accuracy", found["accuracy"])
    if config.method != "monolithic":
        report_projections(config, network.U, state.model.U, images.shape, recorder)


def tenth(steps: int) -> int:
    """The largest divisor of `steps` up to a tenth of it: steps between two observations."""
    return next(d for d in range(max(1, steps // 10), 0, -1) if steps % d == 0)


def first_inputs(task, batches: int, batch: int, key):
    """Inputs of the first steps of training, and their k-hot targets."""
    import jax
    import jax.numpy as jnp

    draw = jax.vmap(lambda t: task.sample(batch, key=jax.random.fold_in(key, t)))
    x, labels = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), draw(jnp.arange(batches)))
    return x, task.k_hot(labels)


def kernel_projections(config: Config, task, U, input_key, kernel_key, recorder: Recorder):
    """The projections that the kernel rule finds on the first inputs of training."""
    import jax
    import jax.numpy as jnp
    from equinox import filter_jit

    batches = max(1, config.kernel_inputs // config.batch)
    x, y = filter_jit(first_inputs)(task, batches, config.batch, input_key)
    host = [np.asarray(a, np.float64) for a in (x, y, U.swapaxes(0, 1))]
    with jax.enable_x64(True):
        x, y, start = map(jnp.asarray, host)
        rule = learning.KernelDirections(
            models.ProjectionKernel(config.sigma),
            x,
            y,
            jnp.asarray(columns(config, task.data.classes)),
            kernel_key,
            config.kernel_batch,
            kernel_optimizer(config.kernel_optimiser, config.kernel_rate),
            config.jitter,
            config.together,
            config.kernel_mean,
        )
        every = tenth(config.kernel_steps)
        state, seen = recorder.train(
            rule, filter_jit(rule.init)(start), config.kernel_steps, every=every,
            chunk=config.kernel_steps, name="kernel",
        )  # fmt: skip
        found = np.asarray(rule.projections(state), np.float32).swapaxes(0, 1)
    for trouble in rule.troubles(seen):
        warnings.warn(trouble, stacklevel=1)
    recorder.metric("kernel_loss", seen["loss"][-1])
    recorder.curve("kernel_loss", seen["step"], seen["loss"])
    recorder.curve("kernel_likeness", seen["step"], seen["likeness"])
    return filter_jit(as_long_as)(jnp.asarray(found), U)


def blind(config: Config, U):
    """Random projections restricted to one image per module."""
    import jax.numpy as jnp

    sees = np.arange(config.k)[:, None] == assigned(config)
    return as_long_as(U * jnp.asarray(sees.repeat(len(U) // config.k, axis=0)[:, :, None]), U)


def as_long_as(U, other):
    """U with every module's projection scaled to its norm in `other`."""
    import jax.numpy as jnp

    return U * jnp.sqrt(
        jnp.square(other).sum(axis=(0, 2), keepdims=True)
        / jnp.square(U).sum(axis=(0, 2), keepdims=True)
    )


def looks(U, k: int, shape: tuple[int, ...]):
    """Share and index of every module's strongest image, and some modules' projections."""
    look = probes.image_concentration(U, k)
    maps = [probes.projection_map(U, k, shape, module=m) for m in range(SHOWN)]
    return look.share, look.image, maps


def report_projections(
    config: Config, before, after, shape: tuple[int, ...], recorder: Recorder
) -> None:
    """Report the concentration of modules on one image, before and after task training."""
    from equinox import filter_jit

    found = [filter_jit(looks)(U, config.k, shape) for U in (before, after)]
    shares, images, maps = (np.array(both) for both in zip(*found, strict=True))
    for name, share, image in zip(("initial_", ""), shares, images, strict=True):
        recorder.metric(f"{name}share", share.mean())
        recorder.metric(f"{name}lowest_share", share.min())
        recorder.metric(f"{name}assigned", np.mean(image == assigned(config)))
        recorder.metric(f"{name}images_covered", len(set(image)))
    recorder.metric("kept", np.mean(images[0] == images[1]))
    recorder.array("shares", shares)
    recorder.array("maps", maps)


def load(config: Config, key) -> Any:
    """The images that `config` names; synthetic ones are drawn with `key`."""
    if config.data != "templates":
        return data.load(config.data, side=config.side)
    side = config.side or 8
    return data.template_mixtures(key=key, shape=(side, side))
