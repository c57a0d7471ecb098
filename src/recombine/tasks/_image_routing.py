"""Routing of images: M transforms of the input, M permutations of the labels, M x M routes."""

import itertools
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..data._images import ImageData
from ._task import AbstractTask


class PixelTransforms(eqx.Module):
    """M maps of pixels to pixels: transformed pixel p of domain i is pixel `source[i, p]`.

    Where `inside[i, p]` is false there is no such pixel, and the transformed pixel is 0.
    """

    source: Int[Array, "domains pixels"]
    inside: Bool[Array, "domains pixels"]

    def __call__(
        self, images: Float[Array, "batch pixels"]
    ) -> Float[Array, "batch domains pixels"]:
        """The images under every transform."""
        # Whole rows of the transposed images are copied, which is faster than single pixels.
        moved = images.T[self.source]
        return jnp.moveaxis(jnp.where(self.inside[:, :, None], moved, 0), -1, 0)


def pixel_permutations(domains: int, pixels: int) -> PixelTransforms:
    """One random permutation of the pixels per domain, seeded by the domain's index.

    Domain i has the same permutation in every run and for every number of domains.
    """
    source = np.stack([np.random.default_rng(i).permutation(pixels) for i in range(domains)])
    return PixelTransforms(jnp.asarray(source, jnp.int32), jnp.ones((domains, pixels), bool))


def rotations(
    domains: int, shape: tuple[int, int] | tuple[int, int, int], *, degrees: float = 180.0
) -> PixelTransforms:
    """Rotation by `degrees * i / domains` counter-clockwise about the centre, for domain i.

    Nearest neighbour, the size of the image is kept, and what comes from outside is 0.

    **Arguments:**

    - `domains`: M.
    - `shape`: rows and columns of an image, and channels if it has colours.
    - `degrees`: the range; 180 in the paper's text, 270 in its code.
    """
    rows, columns, channels = (*shape, 1)[:3]
    centre = np.array([[(rows - 1) / 2], [(columns - 1) / 2]])
    y, x = np.indices((rows, columns)).reshape(2, -1) - centre
    theta = np.deg2rad(degrees * np.arange(domains) / domains)[:, None]
    from_y = np.sin(theta) * x + np.cos(theta) * y + (rows - 1) / 2
    from_x = np.cos(theta) * x - np.sin(theta) * y + (columns - 1) / 2
    # Rounding to nine digits first keeps right angles exact in spite of cos(90 degrees) = 6e-17.
    r, c = (np.floor(np.round(a, 9) + 0.5).astype(int) for a in (from_y, from_x))
    inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
    first = channels * np.where(inside, r * columns + c, 0)
    source = (first[:, :, None] + np.arange(channels)).reshape(domains, -1)
    inside = inside.repeat(channels, axis=1)
    return PixelTransforms(jnp.asarray(source, jnp.int32), jnp.asarray(inside))


def random_labels(
    domains: int, classes: int = 10, *, key: PRNGKeyArray
) -> Int[Array, "domains classes"]:
    """A random permutation of the classes for every output domain.

    **Returns:** the label that output domain j gives to class c, at [j, c].
    """
    # Drawn on the host: for one draw per run, compiling would not pay.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    return jnp.asarray(rng.permuted(np.tile(np.arange(classes), (domains, 1)), axis=1), jnp.int32)


def lexicographic_labels(domains: int, classes: int = 10) -> Int[Array, "domains classes"]:
    """The first permutations of the classes in lexicographic order, as in the paper's code.

    Permutation p gives class `p[k]` the label k. The first n! permutations move the last n classes
    only: with 40 domains, classes 0 to 4 of ten have one label in all of them.

    **Returns:** the label that output domain j gives to class c, at [j, c].
    """
    if domains > math.factorial(classes):
        raise ValueError(f"there are only {classes}! permutations of {classes} classes")
    first = itertools.islice(itertools.permutations(range(classes)), domains)
    return jnp.asarray(np.argsort(np.array(list(first)), axis=1), jnp.int32)


class RouteBatch(NamedTuple):
    """The same images for all routes: route (i, j) takes `inputs[:, i]` to `labels[:, j]`."""

    inputs: Float[Array, "batch domains pixels"]
    labels: Int[Array, "batch domains"]


class ImageRouting(AbstractTask):
    """The routing task on images: route (i, j) maps f_i(image) to f_j(class).

    Input transforms f_i and output transforms f_j are index arrays, so that a batch of all M x M
    routes is one gather inside a compiled step.

    **Arguments:**

    - `data`: the images.
    - `transforms`: the M input transforms: `pixel_permutations(...)` or `rotations(...)`.
    - `label_of`: the M output transforms as [domain, class] -> label: `random_labels(...)` or
        `lexicographic_labels(...)`.

    ```python
    data = recombine.data.digits()
    task = ImageRouting(data, pixel_permutations(10, 64), random_labels(10, key=jax.random.key(0)))
    inputs, labels = task.sample(32, key=jax.random.key(1))
    inputs.shape, labels.shape  # (32, 10, 64), (32, 10)
    ```
    """

    data: ImageData
    transforms: PixelTransforms
    label_of: Int[Array, "domains classes"]

    def __check_init__(self):
        if self.transforms.source.shape != (len(self.label_of), math.prod(self.data.shape)):
            raise ValueError(
                f"{len(self.label_of)} label permutations and images of "
                f"{math.prod(self.data.shape)} pixels do not fit transforms of shape "
                f"{self.transforms.source.shape} (domains, pixels)"
            )
        if self.label_of.shape[1] != self.data.classes:
            raise ValueError(
                f"label permutations of {self.label_of.shape[1]} classes for data with "
                f"{self.data.classes}"
            )

    @property
    def domains(self) -> int:
        """M, the number of input domains and of output domains."""
        return len(self.label_of)

    def routed(
        self, images: Float[Array, "batch pixels"], labels: Int[Array, " batch"]
    ) -> RouteBatch:
        """Images and classes under all input and all output transforms."""
        return RouteBatch(self.transforms(images), self.label_of[:, labels].T)

    def sample(self, size: int, *, key: PRNGKeyArray) -> RouteBatch:
        """`size` training images, drawn with replacement, for all routes."""
        drawn = jax.random.randint(key, (size,), 0, len(self.data.train_labels))
        return self.routed(self.data.train_images[drawn], self.data.train_labels[drawn])

    def first_train(self, size: int) -> RouteBatch:
        """The first `size` training images (or all) for all routes."""
        return self.routed(self.data.train_images[:size], self.data.train_labels[:size])

    def first_test(self, size: int) -> RouteBatch:
        """The first `size` test images (or all) for all routes."""
        return self.routed(self.data.test_images[:size], self.data.test_labels[:size])
