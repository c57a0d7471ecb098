from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import splits
from recombine.splits._masks import halves_masks, ring_masks


def words(masks):
    return ["".join(map(str, np.flatnonzero(mask))) for mask in masks]


@settings(deadline=None)
@given(M=st.integers(1, 7), data=st.data())
def test_masks_are_those_that_brute_force_finds(M, data):
    K = data.draw(st.integers(1, M))
    every = {bits for bits in product([False, True], repeat=M) if 1 <= sum(bits) <= K}
    masks = splits.up_to_k_hot_masks(M, K)
    assert len(masks) == len(every)
    assert {tuple(mask) for mask in masks.tolist()} == every
    exact = splits.k_hot_masks(M, K)
    assert {tuple(mask) for mask in exact.tolist()} == {b for b in every if sum(b) == K}


def test_masks_come_in_the_order_of_their_sets():
    assert words(splits.up_to_k_hot_masks(3, 3)) == ["0", "1", "2", "01", "02", "12", "012"]


def test_sets_are_named_by_words_or_numbers():
    masks = splits.masks_of(["01", (1, 12), [5]], 13)
    assert masks.dtype == bool
    assert [np.flatnonzero(mask).tolist() for mask in masks] == [[0, 1], [1, 12], [5]]


@pytest.mark.parametrize(
    ("M", "K", "layers", "count"),
    [
        *((4, 1, 2, 16), (4, 2, 2, 100), (4, 4, 2, 225)),
        *((6, 1, 2, 36), (6, 2, 2, 441), (6, 4, 2, 3136)),
        *((8, 1, 2, 64), (8, 2, 2, 1296), (8, 4, 2, 26244), (8, 8, 2, 65025)),
        *((16, 2, 2, 18496), (8, 3, 1, 92), (3, 2, 3, 216)),
    ],
)
def test_the_number_of_codes_is_that_of_their_enumeration(M, K, layers, count):
    assert splits.count_codes(M, K, layers) == count
    codes = splits.layered_codes(splits.up_to_k_hot_masks(M, K), layers)
    assert codes.shape == (count, layers, M)
    ones = codes.sum(-1)
    assert ones.min() == 1
    assert ones.max() == K
    assert len(np.unique(codes.reshape(count, -1), axis=0)) == count


def test_the_last_layer_of_codes_varies_fastest():
    masks = splits.k_hot_masks(3, 1)
    expected = [list(pair) for pair in product(masks.tolist(), repeat=2)]
    assert splits.layered_codes(masks, 2).tolist() == expected


def test_ring_masks_are_single_modules_and_neighbours_up_to_two_apart():
    masks = ring_masks(8)
    expected = {frozenset({i, (i + d) % 8}) for i in range(8) for d in range(3)}
    assert len(masks) == 24
    assert {frozenset(np.flatnonzero(mask).tolist()) for mask in masks} == expected


def test_halves_masks_never_mix_the_halves():
    masks = halves_masks(8)
    assert words(masks) == [
        *"01234567",
        *["01", "02", "03", "12", "13", "23", "45", "46", "47", "56", "57", "67"],
    ]


@pytest.mark.parametrize("M", range(1, 8))
def test_ring_masks_of_few_modules_are_distinct(M):
    masks = ring_masks(M, min(2, M))
    assert len(np.unique(masks, axis=0)) == len(masks)
    assert splits.connected_support(masks) or M == 1


@pytest.mark.parametrize(
    ("make", "mistake"),
    [
        (lambda: splits.k_hot_masks(4, 5), "between 1 and all 4 modules, not 5"),
        (lambda: splits.k_hot_masks(4, 0), "not 0"),
        (lambda: splits.up_to_k_hot_masks(0, 1), "at least one module"),
        (lambda: splits.count_codes(4, 5), "not 5"),
        (lambda: splits.count_codes(4, 2, 0), "at least one layer"),
        (lambda: splits.masks_of(["04"], 4), "module 4 is not among modules 0 to 3"),
        (lambda: splits.masks_of([(-1,)], 4), "module -1"),
        (lambda: splits.masks_of([], 4), "no sets"),
        (lambda: splits.masks_of(["0", ""], 4), "empty"),
        (lambda: halves_masks(7), "even"),
        (lambda: splits.layered_codes(np.zeros((0, 3), bool), 2), "no masks"),
        (lambda: splits.layered_codes(splits.k_hot_masks(3, 1), 0), "at least one layer"),
        (lambda: splits.layered_codes(splits.up_to_k_hot_masks(16, 5), 2), "HashedCodes"),
    ],
)
def test_a_mistake_is_named(make, mistake):
    with pytest.raises(ValueError, match=mistake):
        make()
