"""Sentences and words that are right."""

import jax.numpy as jnp
import numpy as np

from recombine import probes

OUTPUTS = jnp.array([[1, 2, 0, 0], [3, 0, 0, 0], [2, 2, 2, 0]])
LENGTHS = jnp.array([3, 2, 4])


def test_a_sentence_is_right_with_its_end_and_whatever_follows():
    predictions = jnp.array([[1, 2, 0, 5], [3, 3, 0, 0], [2, 2, 2, 0]])
    matches = probes.sentence_matches(predictions, OUTPUTS, LENGTHS)
    np.testing.assert_array_equal(matches, [True, False, True])


def test_one_wrong_word_makes_a_sentence_wrong_and_costs_one_word():
    predictions = jnp.array([[1, 1, 0, 0], [3, 0, 9, 9], [2, 2, 2, 1]])
    matches = probes.sentence_matches(predictions, OUTPUTS, LENGTHS)
    np.testing.assert_array_equal(matches, [False, True, False])
    np.testing.assert_allclose(probes.word_accuracy(predictions, OUTPUTS, LENGTHS), 7 / 9)
