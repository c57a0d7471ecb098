"""Residual networks of small images."""

from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ._batch_norm import BatchNorm, Statistics
from ._dense import Dense
from ._initializers import kaiming_normal

Kernel = Float[Array, "height width inputs outputs"]


def _convolved(x: Array, kernel: Kernel, stride: int = 1) -> Array:
    padding = (kernel.shape[0] - 1) // 2
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), [(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip


def _normalised(norm: BatchNorm, x: Array, running: Statistics, training: bool):
    rows, running = norm(x.reshape(-1, x.shape[-1]), running, training)
    return rows.reshape(x.shape), running


class ResidualBlock(eqx.Module):
    """Two convolutions of 3 x 3 with batch normalisation, and a way around them."""

    kernels: tuple[Kernel, Kernel]
    norms: tuple[BatchNorm, BatchNorm]
    shortcut: tuple[Kernel, BatchNorm] | None
    """1 x 1, where sizes change."""

    def __init__(self, inputs: int, outputs: int, *, changes: bool, key: PRNGKeyArray):
        one, two, around = jax.random.split(key, 3)
        self.kernels = (
            kaiming_normal((3, 3, inputs, outputs), 9 * inputs, key=one),
            kaiming_normal((3, 3, outputs, outputs), 9 * outputs, key=two),
        )
        self.norms = (BatchNorm(outputs), BatchNorm(outputs))
        kernel = kaiming_normal((1, 1, inputs, outputs), inputs, key=around)
        self.shortcut = (kernel, BatchNorm(outputs)) if changes else None

    def initial(self) -> tuple[Statistics, ...]:
        """The statistics before training."""
        around = () if self.shortcut is None else (self.shortcut[1].initial(),)
        return (*(norm.initial() for norm in self.norms), *around)

    def __call__(self, x, running, training: bool, stride: int = 1):
        first, one = _normalised(
            self.norms[0], _convolved(x, self.kernels[0], stride), running[0], training
        )
        second, two = _normalised(
            self.norms[1], _convolved(jax.nn.relu(first), self.kernels[1]), running[1], training
        )
        after: tuple[Statistics, ...] = (one, two)
        if self.shortcut is not None:
            kernel, norm = self.shortcut
            x, around = _normalised(norm, _convolved(x, kernel, stride), running[2], training)
            after = (*after, around)
        return jax.nn.relu(second + x), after


class Stage(NamedTuple):
    """Blocks of one size: the first one, and all others stacked."""

    first: ResidualBlock
    others: ResidualBlock


class ResNet(eqx.Module):
    """A residual network of small images: ResNet-110 with 18 blocks per stage (He et al., 2016).

    A convolution, three stages of blocks with 16, 32 and 64 channels, the mean over places, and one
    dense layer. The second and the third stage begin with a stride of 2 and a convolution of 1 x 1
    around it. Blocks of one stage are one compiled loop. Running statistics are passed in and
    handed back:

    ```python
    logits, statistics = network(x, statistics, training=True)
    ```
    """

    kernel: Kernel
    norm: BatchNorm
    stages: tuple[Stage, ...]
    readout: Dense
    shape: tuple[int, int, int] = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, int, int],
        classes: int,
        *,
        blocks: int = 18,
        channels: tuple[int, ...] = (16, 32, 64),
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `shape`: rows, columns and channels of an image.
        - `blocks`: blocks of a stage, at least two; the network has 2 + 2 · stages · blocks layers.
        - `channels`: of the stages.
        """
        if blocks < 2:
            raise ValueError(f"blocks={blocks} is less than 2")
        of_kernel, of_readout, *keys = jax.random.split(key, 2 + len(channels))
        self.kernel = kaiming_normal((3, 3, shape[2], channels[0]), 9 * shape[2], key=of_kernel)
        self.norm = BatchNorm(channels[0])

        def stage(inputs, outputs, changes, key):
            of_first, of_others = jax.random.split(key)
            make = lambda k: ResidualBlock(outputs, outputs, changes=False, key=k)  # noqa: E731
            return Stage(
                ResidualBlock(inputs, outputs, changes=changes, key=of_first),
                eqx.filter_vmap(make)(jax.random.split(of_others, blocks - 1)),
            )

        before = (channels[0], *channels[:-1])
        self.stages = tuple(
            stage(a, b, place > 0, k)
            for place, (a, b, k) in enumerate(zip(before, channels, keys, strict=True))
        )
        self.readout = Dense.uniform(channels[-1], classes, key=of_readout)
        self.shape = shape

    def initial(self) -> tuple:
        """The statistics before training."""
        stages = tuple(
            (stage.first.initial(), eqx.filter_vmap(ResidualBlock.initial)(stage.others))
            for stage in self.stages
        )
        return self.norm.initial(), stages

    def __call__(
        self, x: Float[Array, "batch pixels"], statistics: tuple, *, training: bool = False
    ) -> tuple[Float[Array, "batch classes"], tuple]:
        """The logits of the classes, and the statistics: moved on in training, else as given."""
        h = _convolved(x.reshape(-1, *self.shape), self.kernel)
        h, of_norm = _normalised(self.norm, h, statistics[0], training)
        h, after = jax.nn.relu(h), []
        for place, (stage, (one, rest)) in enumerate(zip(self.stages, statistics[1], strict=True)):
            h, one = stage.first(h, one, training, stride=2 if place else 1)

            def block(h, now):
                return now[0](h, now[1], training)

            h, rest = jax.lax.scan(block, h, (stage.others, rest))
            after.append((one, rest))
        return self.readout(h.mean(axis=(1, 2))), (of_norm, tuple(after))
