"""Masks are true for what may be read, and combine."""

import jax.numpy as jnp
import numpy as np

from recombine import models


def test_a_padding_mask_is_true_within_the_lengths():
    mask = models.padding_mask(jnp.array([2, 0, 3]), 3)
    np.testing.assert_array_equal(mask[:, 0], [[1, 1, 0], [0, 0, 0], [1, 1, 1]])


def test_a_causal_mask_hides_what_comes_after_targets_that_are_the_last_sources():
    np.testing.assert_array_equal(models.causal_mask(3, 3), np.tri(3))
    np.testing.assert_array_equal(models.causal_mask(2, 4), [[1, 1, 1, 0], [1, 1, 1, 1]])


def test_masks_combine_to_one_of_every_item_target_and_source():
    both = models.causal_mask(2, 2) & models.padding_mask(jnp.array([1, 2]), 2)
    np.testing.assert_array_equal(both, [[[1, 0], [1, 0]], [[1, 0], [1, 1]]])
