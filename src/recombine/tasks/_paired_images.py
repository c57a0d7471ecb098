"""Two images side by side, of which the first decides the label and the second hints at it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..data._images import ImageData, digits
from ._task import AbstractTask

TRAINED = 2
"""Offsets Y_2 − Y that an informative training stream has: 0 and 1. Tests have all the others."""


class PairBatch(NamedTuple):
    """Pairs [X_1 | X_2], and the classes of their images."""

    x: Float[Array, "*size rows columns channels"]
    """As wide as two images."""
    labels: Int[Array, "*size"]
    """Y, the class of the first image: the target."""
    second_labels: Int[Array, "*size"]
    """Y_2, the class of the second image, which is no target."""


class _Pool(eqx.Module):
    """Images sorted by class, so that an image of a class is drawn by its index."""

    images: Float[Array, "images pixels"]
    order: Int[Array, " images"]
    starts: Int[Array, " classes"]
    counts: Int[Array, " classes"]

    @classmethod
    def of(cls, part: str, images: Array, labels: Array, classes: int) -> "_Pool":
        counts = np.bincount(np.asarray(labels), minlength=classes)
        if counts.min() < 1:
            raise ValueError(f"no {part} image is of class {counts.argmin()}; give some")
        order = np.argsort(np.asarray(labels), kind="stable")
        starts = np.cumsum(counts) - counts
        return cls(images, *(jnp.asarray(a, jnp.int32) for a in (order, starts, counts)))

    def draw(self, labels: Int[Array, "*size"], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """An image of every class asked for; those of a class are equally frequent."""
        place = jax.random.randint(key, labels.shape, 0, self.counts[labels])
        return self.images[self.order[self.starts[labels] + place]]


class PairedImages(AbstractTask):
    """Tell the class Y of the first of two images (Section 5.1).

    Y is uniform. The class Y_2 of the second image is never asked for; given Y it is uniform on

    | stream | Y_2 (mod classes) | I(Y; Y_2) with ten classes |
    |---|---|---|
    | training, informative (setting A) | Y, Y + 1 | 2.32 bits |
    | training, not informative (setting B) | all classes | 0 |
    | tests | Y + 2, ..., Y + 9 | 0.32 bits |

    So in A a network that looks at the second image only is right half of the time, and in tests
    never. In B tests are of combinations that are trained: it is a control, not a case of
    generalization to new ones. Images of training and of tests are disjoint. Pairs are put
    together when they are drawn, and never stored.

    ```python
    task = PairedImages()
    x, labels, second_labels = task.sample(64, key=jax.random.key(0))
    x.shape, labels.shape  # (64, 8, 16, 1), (64,)
    ```
    """

    train: _Pool
    test: _Pool
    offsets: Int[Array, ""]
    """How many values Y_2 − Y has in training, from 0 on. An array: A and B share a program."""
    shape: tuple[int, int, int] = eqx.field(static=True)
    """Rows and columns of one image, and channels."""
    classes: int = eqx.field(static=True)

    def __init__(self, data: ImageData | None = None, *, informative: bool = True):
        """**Arguments:**

        - `data`: any labelled images, see `recombine.data`; by default `digits()`. Pixels are taken
            as they are.
        - `informative`: whether the second image of training pairs tells of the first: setting A
            of the paper if it does, B if not.
        """
        data = digits() if data is None else data
        if data.classes <= TRAINED:
            raise ValueError(
                f"{data.classes} classes leave none for tests, which have Y_2 from Y + {TRAINED} "
                f"on; give at least {TRAINED + 1}"
            )
        self.train = _Pool.of("training", data.train_images, data.train_labels, data.classes)
        self.test = _Pool.of("test", data.test_images, data.test_labels, data.classes)
        self.offsets = jnp.asarray(TRAINED if informative else data.classes)
        rows, columns, *channels = data.shape
        self.shape, self.classes = (rows, columns, *(channels or (1,))), data.classes

    def sample(self, size: int, *, key: PRNGKeyArray) -> PairBatch:
        """Draw `size` training pairs."""
        return self._draw(self.train, size, 0, self.offsets, key=key)

    def sample_test(self, size: int, *, trained: bool = False, key: PRNGKeyArray) -> PairBatch:
        """Draw `size` pairs of test images.

        **Arguments:**

        - `size`: the number of pairs.
        - `trained`: draw Y_2 as in training. Then only the images are new, not the combinations.
        """
        least, most = (0, self.offsets) if trained else (TRAINED, self.classes)
        return self._draw(self.test, size, least, most, key=key)

    def partners(
        self, firsts: int, seconds: int, *, test: bool = False, key: PRNGKeyArray
    ) -> PairBatch:
        """First images, each with second images of its own, of any class, independent of it.

        The answers to them tell how much a network makes of the second image: see
        `recombine.probes.leakage`.

        **Arguments:**

        - `firsts`, `seconds`: how many first images, and second images with each.
        - `test`: whether all are test images.

        **Returns:** pairs `[firsts, seconds, ...]`.
        """
        of_labels, of_firsts, of_seconds = jax.random.split(key, 3)
        pool = self.test if test else self.train
        both = jax.random.randint(of_labels, (firsts, seconds + 1), 0, self.classes)
        labels, second_labels = both[:, 0], both[:, 1:]
        first = jnp.broadcast_to(
            pool.draw(labels, key=of_firsts)[:, None], (firsts, seconds, pool.images.shape[1])
        )
        x = self._side_by_side(first, pool.draw(second_labels, key=of_seconds))
        return PairBatch(x, jnp.broadcast_to(labels[:, None], (firsts, seconds)), second_labels)

    def parts(self) -> Int[Array, "2 rows columns channels"]:
        """Masks of the two images in a pair, for `recombine.probes.input_sensitivity`."""
        rows, columns, channels = self.shape
        half = jnp.arange(2 * columns)[:, None] // columns
        return jnp.stack(
            [jnp.broadcast_to(half == k, (rows, 2 * columns, channels)) for k in range(2)]
        ).astype(int)

    def _draw(
        self,
        pool: _Pool,
        size: int,
        least: int,
        most: int | Int[Array, ""],
        *,
        key: PRNGKeyArray,
    ) -> PairBatch:
        of_label, of_offset, of_first, of_second = jax.random.split(key, 4)
        labels = jax.random.randint(of_label, (size,), 0, self.classes)
        offset = jax.random.randint(of_offset, (size,), least, most)
        second = (labels + offset) % self.classes
        x = self._side_by_side(pool.draw(labels, key=of_first), pool.draw(second, key=of_second))
        return PairBatch(x, labels, second)

    def _side_by_side(
        self, first: Float[Array, "*size pixels"], second: Float[Array, "*size pixels"]
    ) -> Float[Array, "*size rows columns channels"]:
        images = (a.reshape(*a.shape[:-1], *self.shape) for a in (first, second))
        return jnp.concatenate(tuple(images), axis=-2)
