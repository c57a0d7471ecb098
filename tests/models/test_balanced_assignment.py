"""The exact assignment has equal loads and the best sum of scores."""

import itertools

import jax
import numpy as np

from recombine.models import balanced_assignment

KEY = jax.random.key(3)


def test_it_is_the_best_of_all_assignments_of_four_tokens_to_two_experts():
    for key in jax.random.split(KEY, 20):
        z = np.asarray(jax.random.normal(key, (4, 2)))
        best = max(
            (c for c in itertools.product((0, 1), repeat=4) if sum(c) == 2),
            key=lambda c: z[np.arange(4), list(c)].sum(),
        )
        np.testing.assert_array_equal(balanced_assignment(jax.numpy.asarray(z)), best)


def test_it_is_at_least_as_good_as_random_ones_with_equal_loads():
    z = jax.random.normal(KEY, (60, 6))
    chosen = np.asarray(jax.jit(balanced_assignment)(z))
    np.testing.assert_array_equal(np.bincount(chosen), 10)
    generator, seats = np.random.default_rng(0), np.repeat(np.arange(6), 10)
    ours = np.asarray(z)[np.arange(60), chosen].sum()
    others = [np.asarray(z)[np.arange(60), generator.permutation(seats)].sum() for _ in range(50)]
    assert ours > max(others)


def test_tokens_that_cannot_be_shared_out_fill_experts_up_to_their_share():
    chosen = np.asarray(balanced_assignment(jax.random.normal(KEY, (10, 4))))
    assert np.bincount(chosen, minlength=4).max() <= 3
    assert balanced_assignment(jax.random.normal(KEY, (0, 4))).shape == (0,)
