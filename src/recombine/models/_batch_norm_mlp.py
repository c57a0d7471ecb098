"""The monolithic network for inputs of several images."""

from collections.abc import Sequence

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ._batch_norm import AbstractSlotClassifier, NormalisedLayers, Statistics
from ._dense import Dense


class BatchNormMLP(AbstractSlotClassifier):
    """A fully connected network with batch normalisation before every ReLU (Appendix E.2)."""

    hidden: NormalisedLayers
    readout: Dense
    k: int = eqx.field(static=True)

    def __init__(
        self,
        k: int,
        pixels: int,
        *,
        hidden: Sequence[int] = (512, 512, 512, 256, 128),
        classes: int = 10,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `k`: images in an input.
        - `pixels`: numbers in an image.
        - `hidden`: the units of every hidden layer.
        - `classes`: an image may belong to.
        """
        of_hidden, of_readout = jax.random.split(key)
        self.hidden = NormalisedLayers((k * pixels, *hidden), key=of_hidden)
        self.readout = Dense.uniform(hidden[-1], k * classes, key=of_readout)
        self.k = k

    def initial(self) -> tuple[Statistics, ...]:
        """The statistics before training, one entry per hidden layer."""
        return self.hidden.initial()

    def __call__(
        self,
        x: Float[Array, "batch inputs"],
        statistics: tuple[Statistics, ...],
        *,
        training: bool = False,
    ) -> tuple[Float[Array, "batch k classes"], tuple[Statistics, ...]]:
        """The logits of every image, and the statistics after them."""
        h, statistics = self.hidden(x, statistics, training)
        return self.readout(h).reshape(len(x), self.k, -1), statistics
