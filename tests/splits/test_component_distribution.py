"""Splits by definition: which ask for new combinations of known components?"""

import itertools

import numpy as np
import pytest

from recombine import splits, theory

VERBS = ("walk", "run", "look", "jump")


def pairs(offsets):
    """A label with those that are so many classes on."""
    return [(y, (y + offset) % 10) for y in range(10) for offset in offsets]


def commands():
    """Commands of a verb and what is around it."""
    turns = ("", " left", " right", " twice", " around left", " opposite right thrice")
    return list(itertools.product(VERBS, turns))


def jump_alone(command):
    return command[0] != "jump" or command[1] == ""


TASKS = {
    "paired labels": (pairs(range(2)), pairs(range(10)), pairs(range(2, 10))),
    "add jump": (
        [c for c in commands() if jump_alone(c)],
        commands(),
        [c for c in commands() if not jump_alone(c)],
    ),
    "three quadrants": (
        [(0, 0), (0, 1), (1, 0)],
        list(itertools.product((0, 1), repeat=2)),
        [(1, 1)],
    ),
}


@pytest.mark.parametrize("task", TASKS)
def test_setting_a_asks_for_new_combinations_of_known_values_and_setting_b_does_not(task):
    a, b, test = TASKS[task]
    assert splits.is_compositional_split(a, test)
    assert not splits.is_compositional_split(b, test)
    assert set(splits.ComponentDistribution.of(b, test).trained_tests) == set(test)


def test_masked_commands_are_tested_on_what_is_trained():
    masked = [(verb, turn) for verb, turn in commands() if verb != "jump"]
    assert not splits.is_compositional_split(masked, [c for c in masked if c[1]])


def test_a_value_that_is_never_trained_is_named():
    split = splits.ComponentDistribution.of(
        [("red", "disc"), ("blue", "ring")], [("green", "disc"), ("red", "ring")]
    )
    assert split.unseen == (("factor 0", "green"),)
    assert not split.compositional
    assert split.trained_tests == ()


def test_rows_count_as_often_as_they_occur():
    split = splits.ComponentDistribution.of(
        {"colour": ["red", "red", "blue"], "shape": ["disc", "disc", "disc"]},
        {"shape": ["disc"], "colour": ["blue"]},
    )
    assert split.factors == ("colour", "shape")
    assert split.values == (("red", "blue"), ("disc",))
    assert np.allclose(split.train, [[2 / 3], [1 / 3]])
    assert np.allclose(split.test, [[0], [1]])
    assert split.trained_tests == (("blue", "disc"),)


def test_information_between_labels_is_that_of_the_settings():
    a, b, test = TASKS["paired labels"]
    informative = splits.ComponentDistribution.of(a, test)
    assert informative.train_information(0, 1) == pytest.approx(np.log2(10) - 1)
    assert informative.test_information(0, 1) == pytest.approx(np.log2(10) - 3)
    random = splits.ComponentDistribution.of(b, test)
    assert random.train_information(0, 1) == pytest.approx(0, abs=1e-12)
    toy = splits.ComponentDistribution.of(*TASKS["three quadrants"][::2])
    known = theory.quadrant_values().second_information
    assert toy.train_information(0, 1) == pytest.approx(known)


def test_the_support_of_a_split_is_that_of_its_combinations():
    a, _, test = TASKS["paired labels"]
    split = splits.ComponentDistribution.of(a, test, factors=("first", "second"))
    report = split.support
    assert report.supports_recombination
    assert len(report.within) == 80
    assert report.trained.factors == ("first", "second")


def test_tables_of_different_factors_are_refused():
    with pytest.raises(ValueError, match="different factors"):
        splits.ComponentDistribution.of({"a": [0], "b": [1]}, {"a": [0], "c": [1]})
    with pytest.raises(ValueError, match="no combinations"):
        splits.is_compositional_split([(0, 1)], [])
