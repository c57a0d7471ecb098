"""Batch normalisation without hidden state: the statistics of a network go in and come out."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._initializers import fan_in_uniform


class Statistics(NamedTuple):
    """Running mean and variance of each feature: what normalises it when nothing is trained."""

    mean: Float[Array, " features"]
    variance: Float[Array, " features"]


class BatchNorm(eqx.Module):
    """Each feature with mean 0 and variance 1, times a learned scale, plus a learned offset.

    In training the moments are those of the batch, and the running ones move a tenth of the way
    towards them; otherwise the running ones are used. All conventions are PyTorch's: the batch is
    divided by its biased variance + 1e-5, and the running variance is the unbiased one.

    **Arguments:**

    - `features`: how many; the scale starts at 1 and the offset at 0.
    """

    scale: Float[Array, " features"]
    offset: Float[Array, " features"]

    def __init__(self, features: int):
        self.scale, self.offset = jnp.ones(features), jnp.zeros(features)

    def initial(self) -> Statistics:
        """Mean 0 and variance 1."""
        return Statistics(jnp.zeros_like(self.scale), jnp.ones_like(self.scale))

    def __call__(
        self, x: Float[Array, "rows features"], running: Statistics, training: bool
    ) -> tuple[Float[Array, "rows features"], Statistics]:
        """The normalised rows, and the statistics after them."""
        used = running
        if training:
            mean = x.mean(axis=0)
            used = Statistics(mean, jnp.square(x - mean).mean(axis=0))
            unbiased = Statistics(mean, used.variance * (len(x) / max(len(x) - 1, 1)))
            running = jax.tree.map(
                lambda old, new: old + 0.1 * jax.lax.stop_gradient(new - old), running, unbiased
            )
        gain = self.scale * jax.lax.rsqrt(used.variance + 1e-5)
        return (x - used.mean) * gain + self.offset, running


class NormalisedLayers(eqx.Module):
    """Layers of weights, batch normalisation and ReLU, one after another.

    They have no biases: the offsets of the normalisation are in their place.
    """

    weights: tuple[Float[Array, "_inputs _outputs"], ...]
    norms: tuple[BatchNorm, ...]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        """**Arguments:**

        - `sizes`: the numbers of inputs and of units of every layer. Weights start as
            `fan_in_uniform`.
        """
        keys = jax.random.split(key, len(sizes) - 1)
        self.weights = tuple(
            fan_in_uniform((a, b), a, key=k)
            for a, b, k in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )
        self.norms = tuple(map(BatchNorm, sizes[1:]))

    def initial(self) -> tuple[Statistics, ...]:
        """The statistics before training."""
        return tuple(norm.initial() for norm in self.norms)

    def __call__(
        self, x: Float[Array, "rows inputs"], running: tuple[Statistics, ...], training: bool
    ) -> tuple[Float[Array, "rows outputs"], tuple[Statistics, ...]]:
        """The last layer's units for every row, and the statistics after them."""
        after = []
        for weight, norm, statistics in zip(self.weights, self.norms, running, strict=True):
            x, statistics = norm(x @ weight, statistics, training)
            x = jax.nn.relu(x)
            after.append(statistics)
        return x, tuple(after)


class AbstractSlotClassifier(eqx.Module):
    """A network that says for each of the k images in an input which class it is of.

    The arrays of the module learn; the running statistics of its normalisation do not, and are
    passed in and handed back, so that a compiled step carries them beside the model:

    ```python
    logits, statistics = model(x, statistics, training=True)
    ```
    """

    @abstractmethod
    def initial(self) -> tuple[Statistics, ...]:
        """The statistics before training."""

    @abstractmethod
    def __call__(
        self,
        x: Float[Array, "batch inputs"],
        statistics: tuple[Statistics, ...],
        *,
        training: bool = False,
    ) -> tuple[Float[Array, "batch k classes"], tuple[Statistics, ...]]:
        """The logits of every image, and the statistics: moved on in training, else as given."""
