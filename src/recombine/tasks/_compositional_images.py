"""Inputs of several images, each of which is to be classified."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..data._images import ImageData, digits, normalised
from ..splits._hashed_tuples import HashedTuples
from ._task import AbstractTask


class CompositionBatch(NamedTuple):
    """Inputs of k images each, and the classes of the images."""

    x: Float[Array, "size inputs"]
    """The pixels of the first image, then of the second, and so on."""
    labels: Int[Array, "size k"]


class CompositionalImages(AbstractTask):
    """Classify all of k different images that are shown side by side (Appendix E.1).

    An input has k times the pixels of an image, and k labels: with k = 2 a three beside an eight
    has the labels (3, 8) and, 2-hot, a 1 at places 3 and 10 + 8 of 20. Its images are drawn from
    one pool, in random order and without repetition; the pools of training and test images are
    disjoint. Inputs are put together when they are drawn, and never stored.

    ```python
    task = CompositionalImages(2)
    x, labels = task.sample(32, key=jax.random.key(0))
    x.shape, labels.shape  # (32, 128), (32, 2)
    ```
    """

    data: ImageData
    """The two pools, normalised."""
    held_out: HashedTuples | None
    noise: Float[Array, ""]
    k: int = eqx.field(static=True)
    noise_is_variance: bool = eqx.field(static=True)

    def __init__(
        self,
        k: int,
        data: ImageData | None = None,
        *,
        held_out: HashedTuples | None = None,
        noise: float | Float[Array, ""] = 0.0,
        noise_is_variance: bool = False,
    ):
        """**Arguments:**

        - `k`: the number of images in an input.
        - `data`: any labelled images, see `recombine.data`; by default `digits()`. They are
            normalised to mean 0 and standard deviation 1 over training images in each channel.
        - `held_out`: the tuples of classes that no training input has, and all test inputs have.
        - `noise`: standard deviation σ of the Gaussian noise on all pixels of training inputs.
        - `noise_is_variance`: read `noise` as the variance.
        """
        data = digits() if data is None else data
        fewest = min(len(data.train_labels), len(data.test_labels))
        if not 1 <= k <= fewest:
            raise ValueError(f"k must lie between 1 and {fewest}, the images of a pool, not {k}")
        if held_out is not None:
            if (held_out.k, held_out.classes) != (k, data.classes):
                raise ValueError(
                    f"held-out tuples of {held_out.k} of {held_out.classes} classes do not fit "
                    f"inputs of {k} images of {data.classes} classes"
                )
            for part, labels in (("training", data.train_labels), ("test", data.test_labels)):
                absent = np.setdiff1d(np.arange(data.classes), np.asarray(labels))
                if len(absent):
                    raise ValueError(f"no {part} image is of class {absent[0]}; give some")
        self.data, self.held_out, self.k = normalised(data), held_out, k
        # An array, so that a grid of values shares one compilation.
        self.noise = jnp.asarray(noise, self.data.train_images.dtype)
        self.noise_is_variance = noise_is_variance

    def sample(self, size: int, *, key: PRNGKeyArray) -> CompositionBatch:
        """Draw `size` training inputs, with noise, of trained tuples."""
        of_images, of_noise = jax.random.split(key)
        pool = self.data.train_images, self.data.train_labels
        x, labels = self._draw(pool, size, held_out=False, key=of_images)
        std = jnp.sqrt(self.noise) if self.noise_is_variance else self.noise
        # Drawing the noise takes longer than all else, so it is not drawn in vain.
        x = jax.lax.cond(
            std > 0, lambda: x + std * jax.random.normal(of_noise, x.shape, x.dtype), lambda: x
        )
        return CompositionBatch(x, labels)

    def sample_test(
        self, size: int, *, trained: bool = False, key: PRNGKeyArray
    ) -> CompositionBatch:
        """Draw `size` test inputs, without noise.

        **Arguments:**

        - `size`: the number of inputs.
        - `trained`: if tuples are held out, draw test images of trained tuples instead.
        """
        pool = self.data.test_images, self.data.test_labels
        return self._draw(pool, size, held_out=not trained, key=key)

    def k_hot(self, labels: Int[Array, "size k"]) -> Float[Array, "size targets"]:
        """The labels as one-hot vectors, one after another."""
        one_hot = jax.nn.one_hot(labels, self.data.classes, dtype=self.data.train_images.dtype)
        return one_hot.reshape(len(labels), -1)

    def panels(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "..."]:
        """The images of inputs, or of anything else with their pixels (Figures 7 and 12).

        **Returns:** [*batch, k, rows, columns], and channels if the images have any.
        """
        return x.reshape(*x.shape[:-1], self.k, *self.data.shape)

    def overlap_bound(self, inputs: int) -> float:
        """An upper bound on the probability that a test input's tuple is in `inputs` trained ones.

        The expected number of training inputs with a given tuple, inputs / classes^k, where all
        classes are equally frequent; above 1 it says nothing.
        """
        return inputs / self.data.classes**self.k

    def _draw(
        self,
        pool: tuple[Float[Array, "images pixels"], Int[Array, " images"]],
        size: int,
        held_out: bool,
        *,
        key: PRNGKeyArray,
    ) -> CompositionBatch:
        """All sequences of k different images of a pool with allowed tuples, equally often."""
        images, labels = pool

        def missing(carry):
            _, accepted, _ = carry
            return ~accepted.all()

        def redraw(carry):
            drawn, accepted, key = carry
            key, now = jax.random.split(key)
            fresh = jax.random.randint(now, (size, self.k), 0, len(labels))
            same = fresh[:, :, None] == fresh[:, None, :]
            allowed = ~jnp.triu(same, 1).any(axis=(1, 2))
            if self.held_out is not None:
                allowed &= self.held_out.is_held_out(labels[fresh]) == held_out
            return jnp.where(accepted[:, None], drawn, fresh), accepted | allowed, key

        none = jnp.zeros((size, self.k), int), jnp.zeros(size, bool), key
        drawn, _, _ = jax.lax.while_loop(missing, redraw, none)
        return CompositionBatch(images[drawn].reshape(size, -1), labels[drawn])
