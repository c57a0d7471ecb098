"""Answers that an input to be ignored suggests."""

import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes


@pytest.fixture
def held_out():
    """Every label with the eight second labels that are never trained with it."""
    offsets = np.arange(2, 10)
    y = np.repeat(np.arange(10), 8)
    return y, (y + np.tile(offsets, 10)) % 10


def test_a_right_answer_to_a_new_combination_is_never_a_shortcut(held_out):
    y, second = held_out
    assert probes.shortcut_rate(jnp.asarray(y), jnp.asarray(second), 10) == 0


@pytest.mark.parametrize("offset", [0, 1])
def test_answering_by_the_rule_of_training_is_always_a_shortcut(held_out, offset):
    _, second = held_out
    copied = jnp.asarray((second - offset) % 10)
    assert probes.shortcut_rate(copied, jnp.asarray(second), 10) == 1


def test_of_random_errors_two_in_nine_are_shortcuts(held_out):
    y, second = held_out
    wrong = (y[:, None] + np.arange(1, 10)).ravel() % 10
    found = probes.shortcut_rate(jnp.asarray(wrong), jnp.asarray(np.repeat(second, 9)), 10)
    assert found == pytest.approx(2 / 9)


def test_labels_wrap_round_by_hand():
    found = probes.shortcut_rate(jnp.array([4, 3, 5, 9, 8]), jnp.array([4, 4, 4, 0, 0]), 10)
    assert found == pytest.approx(3 / 5)
