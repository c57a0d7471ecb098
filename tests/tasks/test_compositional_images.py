"""Inputs of several images: which images, which classes, which noise."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.data import ImageData, digits, prototypes
from recombine.splits import HashedTuples
from recombine.tasks import CompositionalImages

KEY = jax.random.key(0)


compiled = eqx.filter_jit(lambda task, size, key: task.sample(size, key=key))
compiled_test = eqx.filter_jit(lambda task, size, t: task.sample_test(size, trained=t, key=KEY))


def draw(task, size=400, key=KEY):
    return compiled(task, size, key)


def draw_test(task, size=400, trained=False):
    return compiled_test(task, size, trained)


def numbered(train=12, test=9, classes=3) -> ImageData:
    """Images of one value each, which tells them apart."""
    values = np.arange(train + test, dtype=np.float32)
    images = jnp.asarray(np.stack([values, -values], axis=1))
    labels = jnp.asarray(np.arange(train + test) % classes, jnp.int32)
    return ImageData(
        images[:train], labels[:train], images[train:], labels[train:], (1, 2), classes, "numbered"
    )


def image_numbers(task, x, data):
    """Which of the data's images (training images first) stand in every slot."""
    raw = np.concatenate([np.asarray(data.train_images), np.asarray(data.test_images)])
    known = np.concatenate([np.asarray(task.data.train_images), np.asarray(task.data.test_images)])
    slots = np.asarray(x).reshape(len(x), task.k, -1)
    return raw[np.abs(slots[:, :, None] - known).sum(-1).argmin(-1), 0].astype(int)


def test_no_image_is_repeated_within_an_input_and_all_orders_are_equally_frequent():
    data = numbered(train=4)
    task = CompositionalImages(3, data)
    drawn = image_numbers(task, draw(task, 12_000).x, data)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(row) for row in found} == set(itertools.permutations(range(4), 3))
    # 24 sequences, 500 each; the standard deviation of a count is 22.
    assert np.abs(counts - 500).max() < 5 * 22


def test_training_and_test_inputs_have_images_of_disjoint_pools_with_their_own_labels():
    data = numbered()
    task = CompositionalImages(2, data)
    pools = []
    for batch in (draw(task), draw_test(task)):
        numbers = image_numbers(task, batch.x, data)
        assert np.array_equal(batch.labels, numbers % 3)
        pools.append(set(numbers.ravel()))
    assert pools == [set(range(12)), set(range(12, 21))]


def test_the_digits_are_the_default_and_their_pools_have_no_image_in_common():
    task = CompositionalImages(3)
    x, labels = draw(task)
    assert x.shape == (400, 192)
    assert labels.shape == (400, 3)
    data = digits()
    train, test = (
        {row.tobytes() for row in np.asarray(part)}
        for part in (data.train_images, data.test_images)
    )
    assert not train & test
    known = {row.tobytes() for row in np.asarray(task.data.train_images)}
    assert all(row.tobytes() in known for row in np.asarray(x).reshape(-1, 64))


def test_images_have_mean_0_and_deviation_1():
    images = np.asarray(CompositionalImages(3).data.train_images)
    assert images.mean() == pytest.approx(0, abs=1e-5)
    assert images.std() == pytest.approx(1, abs=1e-5)


def test_targets_are_k_hot():
    task = CompositionalImages(3)
    labels = jnp.array([[3, 8, 0], [9, 9, 9]])
    hot = np.asarray(task.k_hot(labels))
    assert hot.shape == (2, 30)
    assert [list(np.flatnonzero(row)) for row in hot] == [[3, 18, 20], [9, 19, 29]]
    assert set(np.unique(hot)) == {0, 1}


def test_training_and_test_tuples_have_nothing_in_common():
    held_out = HashedTuples(3, key=KEY)
    task = CompositionalImages(3, held_out=held_out)
    train, test = (np.asarray(batch.labels) for batch in (draw(task, 6000), draw_test(task, 3000)))
    assert not np.any(held_out.is_held_out(jnp.asarray(train)))
    assert np.all(held_out.is_held_out(jnp.asarray(test)))
    seen, unseen = ({tuple(row) for row in part} for part in (train, test))
    assert not seen & unseen
    assert 80 < len(unseen) < 120
    assert all(set(train[:, slot]) == set(range(10)) for slot in range(3))


def test_test_images_may_be_drawn_of_trained_tuples_as_a_control():
    held_out = HashedTuples(2, 3, 0.5, key=jax.random.key(1))
    task = CompositionalImages(2, numbered(), held_out=held_out)
    x, labels = draw_test(task, trained=True)
    assert not np.any(held_out.is_held_out(labels))
    assert set(image_numbers(task, x, numbered()).ravel()) == set(range(12, 21))


def test_test_inputs_are_bit_for_bit_those_without_noise():
    clean, noisy = (CompositionalImages(3, noise=sigma) for sigma in (0.0, 3.0))
    one, other = draw_test(clean), draw_test(noisy)
    assert np.array_equal(one.x, other.x)
    assert np.array_equal(one.labels, other.labels)
    known = {row.tobytes() for row in np.asarray(clean.data.test_images)}
    assert all(row.tobytes() in known for row in np.asarray(other.x).reshape(-1, 64))


@pytest.mark.parametrize(("variance", "std"), [(False, 3.0), (True, 3.0**0.5)])
def test_noise_is_added_to_training_inputs_with_the_deviation_asked_for(variance, std):
    clean, noisy = (
        CompositionalImages(3, noise=sigma, noise_is_variance=variance) for sigma in (0.0, 3.0)
    )
    one, other = draw(clean), draw(noisy)
    assert np.array_equal(one.labels, other.labels)
    noise = np.asarray(other.x - one.x)
    assert noise.std() == pytest.approx(std, rel=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.03)
    assert np.allclose(np.corrcoef(noise[:, :20].T), np.eye(20), atol=0.25)
    again = draw(noisy, key=jax.random.key(1))
    assert not np.allclose(other.x, again.x)


def test_panels_give_the_images_back_as_they_were():
    task = CompositionalImages(3, prototypes(key=KEY, shape=(4, 5)))
    images = task.data.train_images[:6].reshape(2, 3, 4, 5)
    assert np.array_equal(task.panels(images.reshape(2, 60)), images)
    assert np.array_equal(task.panels(images[1].ravel()), images[1])


def test_a_tuple_is_trained_with_a_probability_of_at_most_inputs_over_tuples():
    assert CompositionalImages(6).overlap_bound(10**6) == 1
    assert CompositionalImages(8).overlap_bound(10**6) == pytest.approx(0.01)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="k must lie between 1 and 9"):
        CompositionalImages(10, numbered())
    with pytest.raises(ValueError, match="do not fit inputs of 2 images of 10 classes"):
        CompositionalImages(2, held_out=HashedTuples(3, key=KEY))
    data = numbered(train=2, test=9)
    with pytest.raises(ValueError, match="no training image is of class 2"):
        CompositionalImages(2, data, held_out=HashedTuples(2, 3, 0.3, key=jax.random.key(1)))
