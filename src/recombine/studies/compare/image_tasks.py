"""The suite `images`: two images side by side, with pairs or places that training never shows."""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from recombine import data
from recombine._ranges import Count, check_ranges
from recombine._spec import AbstractSpec

BLANK = -1
"""Stands for the class of an empty half."""


class LabelledImages(NamedTuple):
    """Images and their classes."""

    x: Any
    """[items, pixels]."""
    labels: Any
    """[items]."""


class ImageSets(NamedTuple):
    """What is trained and what is tested."""

    train: LabelledImages
    familiar: LabelledImages
    """Images that are not trained, in pairs that are."""
    new: LabelledImages
    """Images that are not trained, in new pairs."""
    shape: tuple[int, int, int]
    classes: int


@dataclass(frozen=True, kw_only=True)
class AbstractImageTaskSpec(AbstractSpec):
    """Pairs of classes for training and for tests, and what is asked of them."""

    package: ClassVar[str] = __name__

    train: Count = 10_000
    """Inputs of training."""
    tested: Count = 500
    """Inputs of each test."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @abc.abstractmethod
    def pairs(self, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Trained and new pairs of classes, [pairs, 2]."""

    def labels(self, pairs: np.ndarray, classes: int) -> np.ndarray:
        """What is asked: by default the class of the left image."""
        return pairs[:, 0]

    def build(self, sizes: Any, key: Any) -> ImageSets:
        """The inputs of a key, from the 8 x 8 digits of scikit-learn."""
        import jax
        import jax.numpy as jnp

        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
        found = data.digits()
        trained, new = self.pairs(found.classes, rng)
        pools = {
            "train": (np.asarray(found.train_images), np.asarray(found.train_labels)),
            "test": (np.asarray(found.test_images), np.asarray(found.test_labels)),
        }

        def drawn(part: str, pairs: np.ndarray, count: int) -> LabelledImages:
            chosen = pairs[rng.integers(0, len(pairs), count)]
            x = side_by_side(*pools[part], chosen, found.shape[0], rng)
            labels = self.labels(chosen, found.classes)
            return LabelledImages(jnp.asarray(x), jnp.asarray(labels, jnp.int32))

        rows, columns = found.shape[:2]
        return ImageSets(
            drawn("train", trained, self.train), drawn("test", trained, self.tested),
            drawn("test", new, self.tested), (rows, 2 * columns, 1), found.classes,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HintSpec(AbstractImageTaskSpec):
    """The class of the left image; in training that of the right one is the same or the next."""

    name: ClassVar[str] = "hint"

    def pairs(self, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        every = np.indices((classes, classes)).reshape(2, -1).T
        trained = (every[:, 1] - every[:, 0]) % classes < 2
        return every[trained], every[~trained]


@dataclass(frozen=True, kw_only=True)
class SumSpec(AbstractImageTaskSpec):
    """The sum of both classes, modulo their number; some pairs are never trained."""

    name: ClassVar[str] = "sum"

    held_out: Count = 30
    """How many pairs are never trained; all classes are, on both sides."""

    def pairs(self, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        every = np.indices((classes, classes)).reshape(2, -1).T
        # A ring of pairs, which is always trained, connects all classes of both sides.
        ring = (every[:, 1] - every[:, 0]) % classes < 2
        others = rng.permutation(np.flatnonzero(~ring))
        new = np.isin(np.arange(len(every)), others[: self.held_out])
        return every[~new], every[new]

    def labels(self, pairs: np.ndarray, classes: int) -> np.ndarray:
        return pairs.sum(axis=1) % classes


@dataclass(frozen=True, kw_only=True)
class PlaceSpec(AbstractImageTaskSpec):
    """The class of the only image, left or right; half of the classes are trained left only."""

    name: ClassVar[str] = "position"

    def pairs(self, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        left = np.array([(c, BLANK) for c in range(classes)])
        right = left[:, ::-1]
        half = classes // 2
        return np.concatenate([left, right[half:]]), right[:half]

    def labels(self, pairs: np.ndarray, classes: int) -> np.ndarray:
        return pairs.max(axis=1)


def side_by_side(
    images: np.ndarray, labels: np.ndarray, pairs: np.ndarray, rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Images of these classes in pairs, [items, pixels]; an empty half is 0."""
    places = [np.flatnonzero(labels == c) for c in range(int(labels.max()) + 1)]
    halves = []
    for column in pairs.T:
        chosen = np.array([0 if c == BLANK else rng.choice(places[c]) for c in column])
        half = np.where((column == BLANK)[:, None], 0, images[chosen])
        halves.append(half.reshape(len(pairs), rows, -1))
    return np.concatenate(halves, axis=2).reshape(len(pairs), -1).astype(np.float32)
