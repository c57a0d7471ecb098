import gzip
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from recombine.data import ImageData, digits, mnist, normalised, prototypes, template_mixtures


def test_the_digits_are_split_into_1297_and_500_with_50_test_images_a_class():
    data = digits()
    assert data.train_images.shape == (1297, 64)
    assert data.test_images.shape == (500, 64)
    assert np.array_equal(np.bincount(data.test_labels), np.full(10, 50))
    assert data.shape == (8, 8)
    assert data.classes == 10


def test_the_digits_are_all_the_images_scaled_by_a_sixteenth_none_in_both_parts():
    data = digits()
    both = np.concatenate([data.train_images, data.test_images])
    labels = np.concatenate([data.train_labels, data.test_labels])
    assert both.dtype == np.float32
    assert both.min() == 0
    assert both.max() == 1
    raw = load_digits()
    ours = sorted((*row, label) for row, label in zip((both * 16).tolist(), labels, strict=True))
    theirs = sorted((*row, label) for row, label in zip(raw.data.tolist(), raw.target, strict=True))
    assert ours == theirs


def test_the_first_digits_of_both_parts_hold_all_classes():
    data = digits()
    assert len(np.unique(data.train_labels[:50])) == 10
    assert len(np.unique(data.test_labels[:50])) == 10


def test_image_data_refuses_images_that_do_not_fit_their_shape_or_labels():
    images, labels = jnp.zeros((3, 4)), jnp.zeros(3, int)
    with pytest.raises(ValueError, match="2 x 3 pixels"):
        ImageData(images, labels, images, labels, shape=(2, 3), classes=2, name="odd")
    with pytest.raises((ValueError, TypeError), match="test"):
        ImageData(images, labels, images, labels[:2], shape=(2, 2), classes=2, name="odd")


IMAGES = {
    "train": np.arange(5 * 6, dtype=np.uint8).reshape(5, 2, 3) * 8,
    "t10k": np.array([[[255, 0, 51], [0, 0, 0]]], np.uint8),
}
LABELS = {"train": np.array([3, 0, 2, 1, 2], np.uint8), "t10k": np.array([1], np.uint8)}


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder, *, compressed: bool):
    for part in ("train", "t10k"):
        for kind, array in (("images-idx3", IMAGES[part]), ("labels-idx1", LABELS[part])):
            name = f"{part}-{kind}-ubyte"
            if compressed:
                (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
            else:
                (folder / name).write_bytes(idx(array))


@pytest.mark.parametrize("compressed", [False, True])
def test_mnist_reads_idx_files_gzipped_or_not(tmp_path, compressed):
    write_mnist(tmp_path, compressed=compressed)
    data = mnist(tmp_path)
    assert np.allclose(data.train_images, IMAGES["train"].reshape(5, 6) / 255)
    assert np.allclose(data.test_images, [[1, 0, 0.2, 0, 0, 0]])
    assert np.array_equal(data.train_labels, LABELS["train"])
    assert data.shape == (2, 3)
    assert data.classes == 4
    assert data.train_images.dtype == np.float32


def test_mnist_names_the_missing_files_and_where_they_belong(tmp_path):
    write_mnist(tmp_path, compressed=False)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError) as error:
        mnist(tmp_path)
    assert "t10k-labels-idx1-ubyte" in str(error.value)
    assert "train-images" not in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_mnist_refuses_a_file_with_the_wrong_magic_number(tmp_path):
    write_mnist(tmp_path, compressed=False)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(LABELS["train"]))
    with pytest.raises(ValueError, match="train-images-idx3-ubyte is not an IDX file"):
        mnist(tmp_path)


def test_mnist_refuses_a_file_that_is_cut_short(tmp_path):
    write_mnist(tmp_path, compressed=False)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES["train"])[:-1])
    with pytest.raises(ValueError, match="holds 29 bytes"):
        mnist(tmp_path)


def test_mnist_refuses_images_and_labels_of_different_number(tmp_path):
    write_mnist(tmp_path, compressed=False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS["train"][:4]))
    with pytest.raises(ValueError, match="not images and their labels"):
        mnist(tmp_path)


def test_prototypes_without_noise_repeat_one_image_a_class():
    data = prototypes(classes=3, shape=(2, 5), train=9, test=6, noise=0.0, key=jax.random.key(0))
    assert data.train_images.shape == (9, 10)
    assert np.array_equal(data.train_labels, [0, 1, 2] * 3)
    assert np.array_equal(data.train_images[:3], data.test_images[3:])
    assert len(np.unique(data.train_images, axis=0)) == 3


def test_noisy_prototypes_stay_in_range_and_are_nearest_to_their_own_prototype():
    clean = prototypes(noise=0.0, train=10, test=1, key=jax.random.key(1))
    noisy = prototypes(noise=0.3, train=400, test=1, key=jax.random.key(1))
    centres, images, labels = map(
        np.asarray, (clean.train_images, noisy.train_images, noisy.train_labels)
    )
    assert images.min() >= 0
    assert images.max() <= 1
    assert 0.15 < (images - centres[labels]).std() < 0.3
    distances = np.linalg.norm(images[:, None] - centres, axis=-1)
    assert (distances.argmin(1) == labels).mean() > 0.98


def test_prototypes_are_fixed_by_their_key():
    first, again, other = (prototypes(key=jax.random.key(k)) for k in (2, 2, 3))
    assert np.array_equal(first.test_images, again.test_images)
    assert not np.array_equal(first.test_images, other.test_images)


def test_colours_are_normalised_channel_by_channel_with_the_moments_of_training_images():
    rng = np.random.default_rng(0)
    raw = rng.normal([5.0, -1.0, 2.0], [1.0, 4.0, 0.0], (50, 4, 3)).reshape(50, 12)
    images, labels = jnp.asarray(raw, jnp.float32), jnp.arange(50) % 10
    data = ImageData(images, labels, images[:20], labels[:20], (2, 2, 3), 10, "colours")
    found = normalised(data)
    channels = np.asarray(found.train_images).reshape(-1, 3)
    assert np.allclose(channels.mean(0), 0, atol=1e-5)
    assert np.allclose(channels.std(0), [1, 1, 0], atol=1e-5)
    assert np.array_equal(found.test_images, found.train_images[:20])
    assert np.allclose(normalised(found).train_images, found.train_images, atol=1e-5)
    assert np.array_equal(found.train_labels, data.train_labels)


def test_images_without_channels_have_one_mean_and_one_deviation():
    images = jnp.array([[0.0, 2.0], [4.0, 6.0]])
    labels = jnp.array([0, 1])
    found = normalised(ImageData(images, labels, images[:1] + 1, labels[:1], (1, 2), 2, "grey"))
    assert np.allclose(found.train_images, (np.asarray(images) - 3) / 5**0.5)
    assert np.allclose(found.test_images, [[-2 / 5**0.5, 0]])


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_network_classifies_half_to_two_thirds_of_the_template_mixtures(shape):
    data = normalised(template_mixtures(key=jax.random.key(0), shape=shape))
    network = MLPClassifier((64,), batch_size=128, max_iter=6, random_state=0)
    network.fit(np.asarray(data.train_images), np.asarray(data.train_labels))
    accuracy = network.score(np.asarray(data.test_images), np.asarray(data.test_labels))
    assert 0.5 < accuracy < 0.7


def test_template_mixtures_without_noise_are_the_templates_of_their_class():
    data = template_mixtures(
        key=jax.random.key(0), classes=3, templates=4, train=300, test=60, noise=0.0
    )
    for c in range(3):
        of_class = np.unique(data.train_images[data.train_labels == c], axis=0)
        assert len(of_class) == 4
        tested = np.unique(data.test_images[data.test_labels == c], axis=0)
        assert {row.tobytes() for row in tested} <= {row.tobytes() for row in of_class}
    assert np.std(data.train_images) == pytest.approx(1, abs=0.1)
    assert np.array_equal(np.bincount(data.train_labels), [100, 100, 100])
