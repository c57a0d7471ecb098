"""Pairs of images: which images, which classes, how much the second tells of the first."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.data import ImageData, digits, prototypes
from recombine.tasks import PairedImages

KEY = jax.random.key(0)
DRAWS = 100_000
COLOURS = prototypes(key=KEY, shape=(2, 3), train=40, test=20)


def numbered(train=24, test=18, classes=6) -> ImageData:
    """Images of two values each, the first of which is the image's number."""
    values = np.arange(train + test, dtype=np.float32)
    images = jnp.asarray(np.stack([values, -values], axis=1))
    labels = jnp.asarray(np.random.default_rng(0).permutation(train + test) % classes, jnp.int32)
    return ImageData(
        images[:train], labels[:train], images[train:], labels[train:], (1, 2), classes, "numbered"
    )


DATA = numbered()
LABELS = np.concatenate([DATA.train_labels, DATA.test_labels])


def stream(task, name, size):
    return {
        "train": lambda: task.sample(size, key=KEY),
        "iid": lambda: task.sample_test(size, trained=True, key=KEY),
        "ood": lambda: task.sample_test(size, key=KEY),
    }[name]()


compiled = eqx.filter_jit(stream)


def mutual_information(a, b):
    """Of paired labels, in bits, from their joint table."""
    joint = np.zeros((10, 10))
    np.add.at(joint, (np.asarray(a), np.asarray(b)), 1 / len(a))
    ratio = joint / (joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True))
    return np.sum(joint[joint > 0] * np.log2(ratio[joint > 0]))


@pytest.fixture(scope="module")
def ten_classes():
    """Draws of every stream in both settings, of images that are a single number."""
    data = ImageData(
        jnp.arange(10.0)[:, None], jnp.arange(10), jnp.arange(10.0)[:, None], jnp.arange(10),
        (1, 1), 10, "ten",
    )  # fmt: skip
    return {
        (setting, name): compiled(PairedImages(data, informative=setting == "A"), name, DRAWS)
        for setting in "AB"
        for name in ("train", "iid", "ood")
    }


@pytest.mark.parametrize(
    ("setting", "name", "bits"),
    [("A", "train", 2.3219), ("A", "iid", 2.3219), ("A", "ood", 0.3219),
     ("B", "train", 0.0), ("B", "iid", 0.0), ("B", "ood", 0.3219)],
)  # fmt: skip
def test_the_second_class_tells_of_the_first_as_much_as_the_paper_says(
    ten_classes, setting, name, bits
):
    batch = ten_classes[setting, name]
    assert mutual_information(batch.labels, batch.second_labels) == pytest.approx(bits, abs=0.02)


@pytest.mark.parametrize(
    ("setting", "name", "offsets"),
    [("A", "train", range(2)), ("A", "ood", range(2, 10)), ("B", "train", range(10)),
     ("B", "ood", range(2, 10))],
)  # fmt: skip
def test_all_classes_and_offsets_of_a_stream_are_equally_frequent(
    ten_classes, setting, name, offsets
):
    batch = ten_classes[setting, name]
    offset = (batch.second_labels - batch.labels) % 10
    for values, choices in ((batch.labels, range(10)), (offset, offsets)):
        found, counts = np.unique(np.asarray(values), return_counts=True)
        assert list(found) == list(choices)
        p = 1 / len(choices)
        assert np.abs(counts / DRAWS - p).max() < 5 * (p * (1 - p) / DRAWS) ** 0.5


def test_copying_the_second_image_is_right_half_of_the_time_in_training_and_never_in_tests(
    ten_classes,
):
    for copied in (0, 1):
        for name, right in (("train", 0.5), ("iid", 0.5), ("ood", 0.0)):
            batch = ten_classes["A", name]
            hits = np.mean((batch.second_labels - copied) % 10 == batch.labels)
            assert hits == pytest.approx(right, abs=0.01 if right else 0)


def test_the_first_image_tells_the_class_in_every_stream(ten_classes):
    for batch in ten_classes.values():
        np.testing.assert_array_equal(batch.x[:, 0, 0, 0], batch.labels)
        np.testing.assert_array_equal(batch.x[:, 0, 1, 0], batch.second_labels)


@pytest.mark.parametrize(("name", "pool"), [("train", range(24)), ("iid", range(24, 42))])
def test_all_images_of_a_pool_are_drawn_equally_often_within_their_class(name, pool):
    x, labels, second_labels = compiled(PairedImages(DATA), name, 20_000)
    for column, classes in ((0, labels), (2, second_labels)):
        numbers = np.asarray(x[:, 0, column, 0]).astype(int)
        np.testing.assert_array_equal(LABELS[numbers], classes)
        assert set(numbers) == set(pool)
        for c in range(6):
            mine = [i for i in pool if LABELS[i] == c]
            counts = np.array([np.sum(numbers == i) for i in mine])
            expected = counts.sum() / len(mine)
            assert np.abs(counts - expected).max() < 5 * expected**0.5


def test_pairs_stand_side_by_side_with_rows_columns_and_channels_as_they_were():
    images, labels = jnp.arange(36.0).reshape(3, 12), jnp.arange(3)
    task = PairedImages(ImageData(images, labels, images, labels, (2, 2, 3), 3, "colours"))
    x, labels, second_labels = compiled(task, "ood", 4)
    assert x.shape == (4, 2, 4, 3)
    np.testing.assert_array_equal(x[:, :, :2], images[labels].reshape(4, 2, 2, 3))
    np.testing.assert_array_equal(x[:, :, 2:], images[second_labels].reshape(4, 2, 2, 3))


def test_the_digits_are_the_default_with_pixels_as_they_are():
    task = PairedImages()
    np.testing.assert_array_equal(task.train.images, digits().train_images)
    np.testing.assert_array_equal(task.test.images, digits().test_images)
    x = eqx.filter_eval_shape(stream, task, "ood", 3).x
    assert x.shape == (3, 8, 16, 1)


@pytest.fixture(scope="module")
def partners():
    """Of training and of test images."""
    task = PairedImages(DATA)
    return jax.jit(lambda: [task.partners(60, 200, test=t, key=KEY) for t in (False, True)])()


@pytest.mark.parametrize("test", [False, True])
def test_partners_of_a_first_image_are_independent_of_it(partners, test):
    x, labels, second_labels = partners[test]
    assert x.shape == (60, 200, 1, 4, 1)
    firsts, seconds = (np.asarray(x[:, :, 0, c, 0]).astype(int) for c in (0, 2))
    assert (firsts == firsts[:, :1]).all()
    np.testing.assert_array_equal(LABELS[firsts], labels)
    np.testing.assert_array_equal(LABELS[seconds], second_labels)
    assert set(seconds.ravel()) == set(range(24, 42) if test else range(24))
    offset, counts = np.unique((second_labels - labels) % 6, return_counts=True)
    assert list(offset) == list(range(6))
    assert np.abs(counts - 2000).max() < 5 * 2000**0.5
    assert not (seconds[0] == seconds[1]).all()


def test_masks_of_the_parts_are_the_two_halves():
    first, second = np.asarray(PairedImages(COLOURS).parts())
    assert first.shape == (2, 6, 1)
    np.testing.assert_array_equal(first[0, :, 0], [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(first + second, 1)


def test_settings_differ_in_an_array_only():
    a, b = (PairedImages(COLOURS, informative=informative) for informative in (True, False))
    assert jax.tree.structure(a) == jax.tree.structure(b)
    assert (int(a.offsets), int(b.offsets)) == (2, 10)


def test_images_that_cannot_make_pairs_are_refused():
    with pytest.raises(ValueError, match="2 classes leave none for tests"):
        PairedImages(numbered(classes=2))
    x, y = jnp.zeros((3, 2)), jnp.array([0, 1, 2])
    with pytest.raises(ValueError, match="no test image is of class 1"):
        PairedImages(ImageData(x, y, x, jnp.array([0, 2, 2]), (1, 2), 3, "gaps"))
