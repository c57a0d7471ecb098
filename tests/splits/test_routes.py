import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import splits


@st.composite
def sizes(draw):
    M = draw(st.integers(1, 12))
    return M, draw(st.integers(0, M))


seeds = st.integers(0, 2**31 - 1).map(jax.random.key)


def test_ring_of_four_trains_offsets_minus_one_to_two():
    mask = np.asarray(splits.ring_mask(7, 4))
    for i in range(7):
        assert set(np.flatnonzero(mask[i])) == {(i + o) % 7 for o in (-1, 0, 1, 2)}
    assert mask.mean() == pytest.approx(0.5714, abs=1e-4)


@pytest.mark.parametrize(
    ("K", "offsets"), [(1, {0}), (2, {0, 1}), (3, {6, 0, 1}), (5, {5, 6, 0, 1, 2})]
)
def test_ring_offsets_are_centred_with_the_odd_one_ahead(K, offsets):
    assert set(np.flatnonzero(np.asarray(splits.ring_mask(7, K))[0])) == offsets


@given(sizes(), seeds)
@settings(max_examples=30, deadline=None)
def test_regular_families_train_K_routes_for_every_domain(size, key):
    M, K = size
    for mask in (
        splits.ring_mask(M, K),
        splits.permuted_ring_mask(M, K, key=key),
        splits.random_regular_mask(M, K, key=key),
    ):
        mask = np.asarray(mask)
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask.sum(0), np.full(M, K))
        np.testing.assert_array_equal(mask.sum(1), np.full(M, K))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_permuted_ring_is_a_ring_with_its_columns_in_another_order(key):
    mask = np.asarray(splits.permuted_ring_mask(8, 3, key=key))
    ring = np.asarray(splits.ring_mask(8, 3))
    assert sorted(map(tuple, mask.T)) == sorted(map(tuple, ring.T))


def test_random_regular_masks_are_uniform():
    # There are 90 binary 4 x 4 matrices with all row and column sums 2.
    keys = jax.random.split(jax.random.key(0), 720)
    masks = np.stack([np.asarray(splits.random_regular_mask(4, 2, key=key)) for key in keys])
    _, counts = np.unique(masks.reshape(len(masks), -1), axis=0, return_counts=True)
    assert len(counts) == 90
    chi_square = np.sum((counts - 8) ** 2 / 8)
    assert 45 < chi_square < 145  # 89 degrees of freedom: mean 89, sd 13.3


def test_random_masks_are_deterministic_in_their_key():
    one = splits.random_regular_mask(9, 4, key=jax.random.key(5))
    np.testing.assert_array_equal(one, splits.random_regular_mask(9, 4, key=jax.random.key(5)))
    assert not np.array_equal(one, splits.random_regular_mask(9, 4, key=jax.random.key(6)))


def test_diagonal_and_full_masks():
    np.testing.assert_array_equal(splits.diagonal_mask(3), np.eye(3, dtype=bool))
    np.testing.assert_array_equal(splits.diagonal_mask(3, 2), np.diag([True, True, False]))
    assert np.all(np.asarray(splits.full_mask(4)))
    assert splits.full_mask(4).shape == (4, 4)


@pytest.mark.parametrize("K", [-1, 5])
def test_more_routes_than_domains_are_refused(K):
    for make in (splits.ring_mask, splits.diagonal_mask):
        with pytest.raises(ValueError, match="between 0 and M = 4"):
            make(4, K)
    with pytest.raises(ValueError, match="between 0 and M = 4"):
        splits.random_regular_mask(4, K, key=jax.random.key(0))
