"""The binary files of CIFAR-10: read as images, and made from sheets of images without loss."""

import json
from pathlib import Path

import numpy as np

from ._download import Damaged, Unavailable

TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))
TEST = ("test_batch",)
SHEETS = (*(f"{name}.png" for name in TRAIN + TEST), "train_lables.json", "test_lables.json")
"""The files of the sheets; a sheet has one image per row, 32 x 32 pixels one after another."""
ROW = 1 + 3 * 32 * 32
"""Bytes of an image in a binary file: its label, then the red, the green and the blue pixels."""


def read_batches(folder: Path, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of binary files.

    **Returns:** pixels in [0, 1] [images, 32 * 32 * 3], colours varying fastest, and labels
    [images].
    """
    rows = [np.fromfile(folder / f"{name}.bin", np.uint8).reshape(-1, ROW) for name in names]
    images = np.empty((sum(map(len, rows)), 32 * 32, 3), np.float32)
    first = 0
    for batch in rows:
        planes = batch[:, 1:].reshape(-1, 3, 32 * 32)
        np.divide(planes.swapaxes(1, 2), np.float32(255), out=images[first : first + len(batch)])
        first += len(batch)
    labels = np.concatenate([batch[:, 0] for batch in rows]).astype(np.int32)
    return images.reshape(len(images), -1), labels


def need_pillow() -> None:
    """Whether sheets can be read here."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise Unavailable("reading it needs Pillow: pip install 'recombine[data]'") from None


def batches_from_sheets(folder: Path) -> None:
    """Turn the sheets in `folder` into the binary files of the original distribution."""
    for names, file in ((TRAIN, "train_lables.json"), (TEST, "test_lables.json")):
        labels = _labels(folder / file).reshape(len(names), -1, 1)
        for name, own in zip(names, labels, strict=True):
            planes = _pixels(folder / f"{name}.png", len(own)).swapaxes(1, 2)
            rows = np.concatenate([own, planes.reshape(len(own), ROW - 1)], axis=1)
            (folder / f"{name}.bin").write_bytes(rows.tobytes())
    for file in SHEETS:
        (folder / file).unlink()


def _labels(file: Path) -> np.ndarray:
    try:
        return np.array(json.loads(file.read_bytes()), np.uint8)
    except (OSError, ValueError) as error:
        raise Damaged(f"{file.name} cannot be read ({error})") from None


def _pixels(file: Path, images: int) -> np.ndarray:
    """The pixels of a sheet: [images, 1024, 3]."""
    from PIL import Image

    try:
        with Image.open(file) as sheet:
            return np.asarray(sheet).reshape(images, 1024, 3)
    except (OSError, SyntaxError, ValueError) as error:  # all of them are what damage leads to
        raise Damaged(f"{file.name} cannot be read ({error})") from None
