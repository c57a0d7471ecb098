from itertools import product

import equinox as eqx
import jax
import numpy as np
import pytest

from recombine import splits

KEY = jax.random.key(3)


@eqx.filter_jit
def draw(codes, size, key):
    return codes.draw(size, key=key)


def numbers(codes):
    """Every code as one number."""
    flat = np.asarray(codes).reshape(len(codes), -1)
    return flat @ (1 << np.arange(flat.shape[1]))


def slow_hash(salt, code):
    """The same hash with Python's numbers."""
    word = salt
    for mask in code:
        word ^= sum(1 << m for m, used in enumerate(mask) if used)
        word = ((word ^ word >> 16) * 0x85EBCA6B) % 2**32
        word = ((word ^ word >> 13) * 0xC2B2AE35) % 2**32
        word ^= word >> 16
    return word


def test_listed_codes_are_drawn_equally_often():
    listed = splits.ListedCodes(splits.connected_split().train)
    drawn = draw(listed, 24_000, KEY)
    assert drawn.shape == (24_000, 1, 8)
    found, counts = np.unique(numbers(drawn), return_counts=True)
    assert set(found) == set(numbers(listed.codes))
    # The standard deviation of a count is about 31.
    assert abs(counts - 1000).max() < 5 * 31


def test_masks_are_codes_of_one_layer():
    masks = splits.k_hot_masks(3, 1)
    assert draw(splits.ListedCodes(masks), 5, KEY).shape == (5, 1, 3)


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="none of them empty"):
        splits.ListedCodes(np.zeros((0, 1, 3), bool))


@pytest.mark.parametrize("held_out", [False, True])
def test_hashed_codes_are_drawn_equally_often_from_their_part_alone(held_out):
    hashed = splits.HashedCodes(5, 2, 2, 0.3, held_out, key=KEY)
    every = splits.layered_codes(splits.up_to_k_hot_masks(5, 2), 2)
    salt = int(hashed.salt)
    expected = np.array([(slow_hash(salt, code) >> 8) < 0.3 * 2**24 for code in every])
    assert np.array_equal(hashed.is_held_out(every), expected)
    part = every[expected == held_out]
    drawn = draw(hashed, 40_000, KEY)
    found, counts = np.unique(numbers(drawn), return_counts=True)
    assert set(found) == set(numbers(part))
    mean = 40_000 / len(part)
    assert abs(counts - mean).max() < 5 * np.sqrt(mean)


def test_about_the_given_fraction_of_hashed_codes_is_held_out():
    every = splits.layered_codes(splits.up_to_k_hot_masks(8, 3), 2)
    for seed, fraction in product(range(3), (0.1, 0.25, 0.7)):
        hashed = splits.HashedCodes(8, 3, 2, fraction, key=jax.random.key(seed))
        held_out = np.asarray(hashed.is_held_out(every))
        # Five standard deviations of a coin tossed 92^2 times.
        assert abs(held_out.mean() - fraction) < 5 * np.sqrt(fraction * (1 - fraction)) / 92


def test_the_parts_of_a_hashed_split_are_counterparts():
    trained = splits.HashedCodes(16, 4, 2, key=KEY)
    held_out = trained.counterpart()
    one, other = draw(trained, 500, KEY), draw(held_out, 500, KEY)
    assert one.shape == other.shape == (500, 2, 16)
    assert not trained.is_held_out(one).any()
    assert held_out.is_held_out(other).all()
    for codes in (one, other):
        assert codes.sum(-1).min() >= 1
        assert codes.sum(-1).max() == 4
        assert codes.any(0).all()
    assert held_out.counterpart().held_out == trained.held_out


def test_a_hashed_split_depends_on_its_key():
    every = splits.layered_codes(splits.up_to_k_hot_masks(6, 2), 2)
    first, again, other = (
        np.asarray(splits.HashedCodes(6, 2, 2, key=jax.random.key(s)).is_held_out(every))
        for s in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_hashed_split_is_the_same_with_64_bit_numbers():
    every = splits.layered_codes(splits.up_to_k_hot_masks(6, 2), 2)
    single = splits.HashedCodes(6, 2, 2, key=KEY)
    with jax.enable_x64(True):
        double = splits.HashedCodes(6, 2, 2, key=KEY)
        assert np.array_equal(double.is_held_out(every), single.is_held_out(every))
        assert double.draw(3, key=KEY).shape == (3, 2, 6)


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        ((33, 2), "at most 32 modules"),
        ((8, 9), "between 1 and all 8 modules"),
        ((8, 2, 0), "at least one layer"),
        ((8, 2, 1, 0.0), "between 0 and 1"),
        ((2, 1, 1, 0.001), "all 2 codes would be on one side"),
    ],
)
def test_a_mistake_is_named(arguments, mistake):
    with pytest.raises(ValueError, match=mistake):
        splits.HashedCodes(*arguments, key=KEY)
