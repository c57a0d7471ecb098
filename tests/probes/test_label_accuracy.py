import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes, tasks

SEQUENCES = tasks.LabelledSequences(
    [[1, 2, 0], [2, 0, 0], [1, 1, 2], [2, 2, 0], [1, 0, 0]],
    [2, 1, 3, 2, 1],
    [0, 1, 0, 0, 0],
    ("", "x", "y"),
    2,
)


def first_token(tokens, lengths):
    """Says the class of the first token."""
    return jnp.eye(2)[tokens[:, 0] - 1] * lengths[:, None]


@pytest.mark.parametrize("batch_size", [1, 2, 5, 100])
def test_scores_do_not_depend_on_how_many_are_looked_at_together(batch_size):
    found = probes.class_scores(first_token, SEQUENCES, batch_size=batch_size)
    np.testing.assert_array_equal(found, [[2, 0], [0, 1], [3, 0], [0, 2], [1, 0]])


def test_a_sequence_is_right_if_its_label_has_the_highest_score():
    """The fourth begins with `y`, but is of class 0."""
    found = probes.is_right(first_token, SEQUENCES)
    np.testing.assert_array_equal(found, [True, True, True, False, True])


def test_accuracy_is_by_length():
    """Of the two sequences of two tokens, one begins with `x` and is of class 0."""
    found = probes.accuracy_by_length(first_token, SEQUENCES)
    np.testing.assert_array_equal(found.values, [1, 2, 3])
    np.testing.assert_array_equal(found.accuracy, [1, 0.5, 1])
    np.testing.assert_array_equal(found.counts, [2, 2, 1])


def test_accuracy_is_by_any_number_and_numbers_that_do_not_occur_are_left_out():
    found = probes.accuracy_by(np.array([True, False, True, True]), np.array([7, 3, 3, 7]))
    np.testing.assert_array_equal(found.values, [3, 7])
    np.testing.assert_array_equal(found.accuracy, [0.5, 1])


def test_the_best_guess_is_the_most_frequent_label():
    assert probes.majority_share(SEQUENCES) == 0.8
