"""A convolutional network of images, with dropout."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout, split
from ._initializers import fan_in_uniform
from ._paired_image_cnn import Convolution, _halved


class ImageCNN(eqx.Module):
    """Convolutions of 3 x 3 with padding, each but the last followed by pooling (Table B.4).

    | layer | for images of 32 x 32 x 3 |
    |---|---|
    | convolution, ReLU, max pooling | 16 x 16 x 32 |
    | convolution, ReLU, max pooling | 8 x 8 x 64 |
    | convolution, dropout of 0.25, ReLU, max pooling | 4 x 4 x 128 |
    | convolution, ReLU, dropout of 0.5 | 4 x 4 x 256 |
    | mean over places | 256 |
    | dense | 10 |

    Weights and biases start as in PyTorch: 390,986 numbers. An image that is too small to be halved
    once more stays as it is.
    """

    convolutions: tuple[Convolution, ...]
    readout: Dense
    shape: tuple[int, int, int] = eqx.field(static=True)
    dropout: tuple[float, float] = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, int, int],
        classes: int,
        *,
        channels: tuple[int, ...] = (32, 64, 128, 256),
        dropout: tuple[float, float] = (0.25, 0.5),
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `shape`: rows, columns and channels of an image.
        - `channels`: of the convolutions; there are at least two.
        - `dropout`: of the last convolution but one, and of the last one.
        """
        if len(channels) < 2:
            raise ValueError(f"channels={channels}: at least two convolutions are needed")
        *keys, of_readout = jax.random.split(key, len(channels) + 1)
        sizes = (shape[2], *channels)
        self.convolutions = tuple(
            _convolution(*pair, key=k) for pair, k in zip(pairwise(sizes), keys, strict=True)
        )
        self.readout = Dense.uniform(channels[-1], classes, key=of_readout)
        self.shape, self.dropout = shape, dropout

    def __call__(
        self, x: Float[Array, "batch pixels"], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "batch classes"]:
        """The logits of the classes; with a `key` for dropout, as in training."""
        early, late = split(key, 2)
        h = x.reshape(-1, *self.shape)
        last = len(self.convolutions) - 1
        for place, convolution in enumerate(self.convolutions):
            h = convolution(jnp.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0))))
            if place == last - 1:
                h = dropout(h, self.dropout[0], key=early)
            if place < last and min(h.shape[1:3]) > 1:
                # Pooling before the ReLU gives the same, and leaves it a quarter of the work.
                h = _halved(h)
            h = jax.nn.relu(h)
        h = dropout(h, self.dropout[1], key=late)
        return self.readout(h.mean(axis=(1, 2)))


def _convolution(inputs: int, outputs: int, *, key: PRNGKeyArray) -> Convolution:
    of_kernel, of_bias = jax.random.split(key)
    kernel = fan_in_uniform((3, 3, inputs, outputs), 9 * inputs, key=of_kernel)
    return Convolution(kernel, fan_in_uniform((outputs,), 9 * inputs, key=of_bias))
