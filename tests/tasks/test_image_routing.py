import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.data import digits, prototypes
from recombine.tasks import (
    ImageRouting,
    lexicographic_labels,
    pixel_permutations,
    random_labels,
    rotations,
)


@pytest.fixture(scope="module")
def task():
    return ImageRouting(
        digits(), pixel_permutations(6, 64), random_labels(6, key=jax.random.key(0))
    )


def rotated(image: np.ndarray, degrees: float) -> np.ndarray:
    """Pixel by pixel, with complex numbers: turn each target back and take the nearest pixel."""
    rows, columns = image.shape
    out = np.zeros_like(image)
    centre = complex((columns - 1) / 2, -(rows - 1) / 2)  # the imaginary axis points up
    turn = complex(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))
    for r in range(rows):
        for c in range(columns):
            z = (complex(c, -r) - centre) / turn + centre
            nearest_r = math.floor(round(-z.imag, 9) + 0.5)
            nearest_c = math.floor(round(z.real, 9) + 0.5)
            if 0 <= nearest_r < rows and 0 <= nearest_c < columns:
                out[r, c] = image[nearest_r, nearest_c]
    return out


@pytest.mark.parametrize("shape", [(8, 8), (7, 7), (5, 8)])
@pytest.mark.parametrize("degrees", [180.0, 270.0])
def test_rotations_agree_with_a_loop_over_pixels(shape, degrees):
    M = 7
    images = np.random.default_rng(0).uniform(0.1, 1, (3, *shape)).astype(np.float32)
    ours = np.asarray(rotations(M, shape, degrees=degrees)(jnp.asarray(images.reshape(3, -1))))
    for b, i in itertools.product(range(3), range(M)):
        assert np.array_equal(ours[b, i].reshape(shape), rotated(images[b], degrees * i / M)), (
            b,
            i,
        )


def test_colours_are_rotated_each_like_an_image_without():
    images = np.random.default_rng(0).random((2, 6, 5, 3)).astype(np.float32)
    ours = np.asarray(rotations(7, (6, 5, 3))(jnp.asarray(images.reshape(2, -1))))
    grey = rotations(7, (6, 5))
    for channel in range(3):
        alone = np.asarray(grey(jnp.asarray(images[..., channel].reshape(2, -1))))
        assert np.array_equal(ours.reshape(2, 7, 30, 3)[..., channel], alone)


def test_rotations_by_right_angles_are_exact_and_counter_clockwise():
    image = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
    ours = np.asarray(rotations(3, (8, 8), degrees=270.0)(jnp.asarray(image.reshape(1, -1))))
    for i in range(3):
        assert np.array_equal(ours[0, i].reshape(8, 8), np.rot90(image, i))


def test_rotations_by_other_angles_fill_the_corners_with_zeros():
    ours = np.asarray(rotations(4, (8, 8))(jnp.ones((1, 64)))).reshape(4, 8, 8)
    assert np.all(ours[0] == 1)
    assert np.all(ours[2] == 1)
    assert ours[1, 0, 0] == ours[3, 7, 7] == 0
    assert ours[1, 4, 4] == 1


def test_pixel_permutations_are_bijections_seeded_by_the_domain_alone():
    few, many = pixel_permutations(3, 64), pixel_permutations(5, 64)
    assert np.array_equal(np.sort(many.source, axis=1), np.tile(np.arange(64), (5, 1)))
    assert bool(many.inside.all())
    assert np.array_equal(few.source, many.source[:3])
    assert np.array_equal(many.source[4], np.random.default_rng(4).permutation(64))
    assert len(np.unique(many.source, axis=0)) == 5


def test_random_labels_are_different_bijections_fixed_by_their_key():
    labels = random_labels(20, 10, key=jax.random.key(3))
    assert np.array_equal(np.sort(labels, axis=1), np.tile(np.arange(10), (20, 1)))
    assert len(np.unique(labels, axis=0)) == 20
    assert np.array_equal(labels, random_labels(20, 10, key=jax.random.key(3)))
    assert not np.array_equal(labels, random_labels(20, 10, key=jax.random.key(4)))


def test_lexicographic_labels_invert_the_permutations_in_order():
    labels = np.asarray(lexicographic_labels(6, 3))
    permutations = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    for j, p in enumerate(permutations):
        for k in range(3):
            assert labels[j, p[k]] == k


def test_forty_lexicographic_labels_leave_the_first_five_classes_alone():
    labels = np.asarray(lexicographic_labels(40))
    assert np.all(labels[:, :5] == np.arange(5))
    assert np.all(labels[:24, 5] == 5)
    assert not np.all(labels[:, 5] == 5)
    assert len(np.unique(labels, axis=0)) == 40


def test_lexicographic_labels_refuse_more_domains_than_permutations():
    with pytest.raises(ValueError, match="only 3! permutations"):
        lexicographic_labels(7, 3)


def test_route_i_j_holds_image_transform_i_and_label_permutation_j(task):
    inputs, labels = map(np.asarray, task.first_test(20))
    label_of = np.asarray(task.label_of)
    images, classes = np.asarray(task.data.test_images), np.asarray(task.data.test_labels)
    assert inputs.shape == (20, 6, 64)
    assert labels.shape == (20, 6)
    for b in range(20):
        for i in range(6):
            order = np.random.default_rng(i).permutation(64)
            assert np.array_equal(inputs[b, i], images[b][order])
            assert labels[b, i] == label_of[i, classes[b]]


def test_samples_are_training_images_with_their_labels(task):
    inputs, labels = task.sample(16, key=jax.random.key(5))
    restore = np.argsort(np.asarray(task.transforms.source[2]))
    class_of = np.argsort(np.asarray(task.label_of[3]))
    known = {
        (image.tobytes(), int(label))
        for image, label in zip(
            np.asarray(task.data.train_images), np.asarray(task.data.train_labels), strict=True
        )
    }
    for x, y in zip(np.asarray(inputs), np.asarray(labels), strict=True):
        assert (x[2][restore].tobytes(), int(class_of[y[3]])) in known


def test_sampling_is_fixed_by_the_key_and_the_same_when_compiled(task):
    def sample(k):
        return task.sample(16, key=k)

    plain, compiled = sample(jax.random.key(7)), jax.jit(sample)(jax.random.key(7))
    other = sample(jax.random.key(8))
    assert np.array_equal(plain.inputs, compiled.inputs)
    assert np.array_equal(plain.labels, compiled.labels)
    assert not np.array_equal(plain.inputs, other.inputs)


def test_every_training_image_is_drawn_sooner_or_later():
    data = prototypes(classes=2, train=7, test=2, key=jax.random.key(0))
    task = ImageRouting(data, pixel_permutations(1, 64), jnp.array([[0, 1]]))
    drawn, _ = task.sample(300, key=jax.random.key(1))
    assert len(np.unique(drawn[:, 0], axis=0)) == 7


def test_parts_that_do_not_fit_are_refused():
    data, labels = digits(), random_labels(4, key=jax.random.key(0))
    with pytest.raises(ValueError, match="do not fit"):
        ImageRouting(data, pixel_permutations(3, 64), labels)
    with pytest.raises(ValueError, match="do not fit"):
        ImageRouting(data, pixel_permutations(4, 49), labels)
    with pytest.raises(ValueError, match="classes"):
        ImageRouting(data, pixel_permutations(4, 64), labels[:, :5])
