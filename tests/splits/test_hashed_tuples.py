import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.splits import HashedTuples

KEY = jax.random.key(0)
TUPLES = jnp.asarray(list(itertools.product(range(10), repeat=3)))


def slow_hash(salt, labels):
    """The same hash with Python's numbers."""
    word = salt
    for label in labels:
        word ^= int(label)
        word = ((word ^ word >> 16) * 0x85EBCA6B) % 2**32
        word = ((word ^ word >> 13) * 0xC2B2AE35) % 2**32
        word ^= word >> 16
    return word


@pytest.mark.parametrize("ordered", [True, False])
def test_the_hash_decides_which_tuples_are_held_out(ordered):
    split = HashedTuples(3, ordered=ordered, key=KEY)
    expected = [
        (slow_hash(int(split.salt), row if ordered else sorted(row)) >> 8) < 0.1 * 2**24
        for row in np.asarray(TUPLES)
    ]
    assert np.array_equal(split.is_held_out(TUPLES), expected)
    assert np.array_equal(split.is_held_out(TUPLES.reshape(10, 100, 3)).ravel(), expected)


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_about_the_given_fraction_is_held_out_and_another_key_holds_out_others(fraction):
    one, other = (HashedTuples(3, 10, fraction, key=jax.random.key(s)) for s in (0, 1))
    held_out = np.stack([s.is_held_out(TUPLES) for s in (one, other)])
    # Five standard deviations of a coin tossed a thousand times.
    within = 5 * np.sqrt(fraction * (1 - fraction) / 1000)
    assert np.abs(held_out.mean(1) - fraction).max() < within
    assert held_out.all(0).mean() == pytest.approx(fraction**2, abs=within)


def test_order_counts_unless_it_is_told_not_to():
    orders = jnp.asarray(list(itertools.permutations((2, 5, 7))))
    unordered = HashedTuples(3, 10, 0.5, ordered=False, key=KEY).is_held_out(TUPLES)
    ordered = HashedTuples(3, 10, 0.5, key=KEY).is_held_out(TUPLES)
    at = np.asarray(orders) @ [100, 10, 1]
    assert len(set(np.asarray(unordered)[at].tolist())) == 1
    assert len(set(np.asarray(ordered)[at].tolist())) == 2


def test_both_parts_are_there_and_all_classes_trained_in_every_slot():
    trained = np.asarray(TUPLES)[~np.asarray(HashedTuples(3, key=KEY).is_held_out(TUPLES))]
    assert 0 < len(trained) < 1000
    assert all(set(trained[:, slot]) == set(range(10)) for slot in range(3))


def test_more_tuples_than_could_be_listed_are_split_as_well():
    split = HashedTuples(9, key=KEY)
    drawn = jax.random.randint(KEY, (50_000, 9), 0, 10)
    assert split.is_held_out(drawn).mean() == pytest.approx(0.1, abs=0.007)


def test_splits_without_held_out_tuples_or_with_untrained_classes_are_refused():
    with pytest.raises(ValueError, match=r"never be trained in slot 0; take a smaller fraction"):
        HashedTuples(1, fraction=0.3, key=KEY)
    with pytest.raises(ValueError, match=r"none of 2\^1 tuples would be held out"):
        HashedTuples(1, 2, 1e-6, key=KEY)
    with pytest.raises(ValueError, match="must lie between 0 and 1, not 1"):
        HashedTuples(3, fraction=1.0, key=KEY)
