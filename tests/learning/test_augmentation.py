"""What is done to batches touches the part that is named, as often as is asked."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import learning, tasks

KEY = jax.random.key(0)
SIZE = 400
NUMBER = np.arange(1.0, SIZE + 1)
HALVES = jnp.stack([jnp.broadcast_to(jnp.arange(4)[:, None] // 2 == k, (2, 4, 1)) for k in (0, 1)])


def after(prepare, key=KEY):
    """The two images of pairs of constant images, which tell their pair."""
    x = jnp.broadcast_to(jnp.asarray(NUMBER, jnp.float32)[:, None, None, None], (SIZE, 2, 4, 1))
    labels = jnp.arange(SIZE) % 10
    batch = jax.jit(lambda key: prepare(tasks.PairBatch(x, labels, labels), key))(key)
    np.testing.assert_array_equal(batch.labels, labels)
    return np.asarray(batch.x[:, :, :2]), np.asarray(batch.x[:, :, 2:])


@pytest.mark.parametrize(
    "prepare",
    [
        learning.DropParts(HALVES, 0.0),
        learning.AddNoise(HALVES[1], 0.0),
        learning.ExchangeParts(HALVES[1], 0.0),
    ],
)
def test_without_strength_a_batch_stays_as_it_is(prepare):
    first, second = after(prepare)
    np.testing.assert_array_equal(first[:, 0, 0, 0], NUMBER)
    np.testing.assert_array_equal(second, first)


@pytest.mark.parametrize(
    "prepare",
    [
        learning.DropParts(HALVES[1:], 0.5),
        learning.AddNoise(HALVES[1], 1.0),
        learning.ExchangeParts(HALVES[1], 0.5),
    ],
)
def test_another_key_does_something_else(prepare):
    one, other = (after(prepare, key)[1] for key in jax.random.split(KEY))
    assert not np.array_equal(one, other)


def test_dropping_blanks_the_part_in_the_share_asked_for():
    first, second = after(learning.DropParts(HALVES[1:], 0.8))
    np.testing.assert_array_equal(first[:, 1, 1, 0], NUMBER)
    assert set(np.unique(second / NUMBER[:, None, None, None])) == {0, 1}
    assert (second == second[:, :1, :1]).all()
    assert np.mean(second == 0) == pytest.approx(0.8, abs=0.08)
    np.testing.assert_array_equal(after(learning.DropParts(HALVES[1:], 1.0))[1], 0)


def test_dropping_one_of_two_parts_never_drops_both():
    first, second = after(learning.DropParts(HALVES, 0.8))
    gone = np.stack([first[:, 0, 0, 0] == 0, second[:, 0, 0, 0] == 0])
    assert not gone.all(axis=0).any()
    assert gone.mean(axis=1) == pytest.approx(0.4, abs=0.1)


def test_noise_has_the_deviation_asked_for_and_spares_the_other_part():
    first, second = after(learning.AddNoise(HALVES[1], 0.5))
    np.testing.assert_array_equal(first[:, 0, 0, 0], NUMBER)
    noise = second - NUMBER[:, None, None, None]
    assert noise.std() == pytest.approx(0.5, abs=0.05)
    assert abs(noise.mean()) < 0.1


def test_exchanged_parts_are_those_of_other_examples():
    first, second = after(learning.ExchangeParts(HALVES[1], 1.0))
    np.testing.assert_array_equal(first[:, 0, 0, 0], NUMBER)
    assert sorted(second[:, 0, 0, 0]) == list(NUMBER)
    assert not (second == first).any()
    first, second = after(learning.ExchangeParts(HALVES[1], 0.8))
    assert np.mean(second[:, 0, 0, 0] != first[:, 0, 0, 0]) == pytest.approx(0.8, abs=0.08)


def test_a_part_may_be_one_of_several_numbers():
    examples = tasks.Examples(jnp.array([[1.0, -2.0], [-3.0, 4.0]]), jnp.ones((2, 1)), jnp.ones(2))
    dropped = learning.DropParts(jnp.array([[False, True]]), 1.0)(examples, KEY)
    np.testing.assert_array_equal(dropped.x, [[1, 0], [-3, 0]])
