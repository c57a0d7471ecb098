"""Data sets by name: images as arrays, text as a string."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import jax.numpy as jnp

from .._errors import UserError
from ._cache import data_set, require
from ._cifar import TEST, TRAIN, read_batches
from ._corpora import corpus
from ._images import ImageData, digits, mnist, resized


def load(name: str, *, side: int | None = None) -> ImageData:
    """The images of a data set: `digits`, `mnist`, `fashion-mnist` or `cifar-10`.

    All but the digits are read from the cache, into which `recombine data get NAME` puts them.
    Pixels are scaled to [0, 1]; images stand in the order of the original distribution.

    **Arguments:**

    - `name`: the name of the data set.
    - `side`: rows and columns that the images are averaged to, see `resized`; by default those
        that they have.

    **Raises:** `recombine.lab.UserError` if it is not cached, naming the command that gets it.
    """
    if name not in _READERS:
        data_set(name)  # refuses unknown names
        raise UserError(f"{name} has no images: data.text({name!r}) is its text")
    return _read(name, require(name), side)


# The trials that a process runs one after another mostly have one data set.
@lru_cache(maxsize=1)
def _read(name: str, folder: Path, side: int | None) -> ImageData:
    images = replace(_READERS[name](folder), name=name)
    return images if side is None else resized(images, side)


def text(name: str) -> str:
    """The text of a data set, such as `tiny-shakespeare`; for its parts, see `corpus`.

    Bytes that are no UTF-8 become U+FFFD.

    **Raises:** `recombine.lab.UserError` if it is not cached, naming the command that gets it.
    """
    if name in _READERS:
        raise UserError(f"{name} is no text: data.load({name!r}) are its images")
    found = corpus(name)
    return (found.train + found.valid + found.test).decode("utf-8", errors="replace")


def _cifar10(folder: Path) -> ImageData:
    (train_images, train_labels), (test_images, test_labels) = (
        read_batches(folder, names) for names in (TRAIN, TEST)
    )
    return ImageData(
        train_images=jnp.asarray(train_images),
        train_labels=jnp.asarray(train_labels),
        test_images=jnp.asarray(test_images),
        test_labels=jnp.asarray(test_labels),
        shape=(32, 32, 3),
        classes=10,
        name="cifar-10",
    )


_READERS: dict[str, Callable[[Path], ImageData]] = {
    "digits": lambda folder: digits(),
    "mnist": mnist,
    "fashion-mnist": mnist,
    "cifar-10": _cifar10,
}


def babi_texts(part: Literal["train", "test"]) -> dict[int, str]:
    """The files of bAbI, by the numbers of the tasks: `tasks.parse_stories` reads them.

    **Raises:** `recombine.lab.UserError` if they are not cached, naming the command that gets them.
    """
    folder = require("babi")
    found = {}
    for task in range(1, 21):
        (file,) = folder.glob(f"en-qa{task}_*_{part}.txt")
        found[task] = file.read_text(encoding="utf-8")
    return found
