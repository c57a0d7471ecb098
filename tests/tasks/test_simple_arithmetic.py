"""Simple arithmetic: sizes, depths, and values by Python's own evaluation."""

import re

import numpy as np
import pytest

from recombine import tasks

TASK = tasks.SimpleArithmetic()
SETS = TASK.sets(train=1000, iid=100, tests=100)


def texts(items):
    rows = zip(np.asarray(items.tokens).tolist(), np.asarray(items.lengths).tolist(), strict=True)
    return ["".join(items.vocabulary[token] for token in row[:length]) for row, length in rows]


def depth(text):
    """The deepest bracket."""
    now = deepest = 0
    for character in text:
        now += (character == "(") - (character == ")")
        deepest = max(deepest, now)
    return deepest


@pytest.mark.parametrize("name", SETS)
def test_values_and_depths_are_those_of_the_text(name):
    items = SETS[name]
    found = texts(items)
    labels = np.asarray(items.labels)
    assert [eval(text) % 10 for text in found] == labels.tolist()
    np.testing.assert_array_equal(TASK.depths_of(items), [depth(text) for text in found])
    assert len(set(found)) == len(found)
    assert max(map(len, found)) <= 50
    np.testing.assert_array_equal(items.lengths, [len(text) for text in found])


def test_sets_have_equally_many_expressions_of_their_depths():
    counts = {name: np.bincount(TASK.depths_of(items)).tolist() for name, items in SETS.items()}
    assert counts["train"] == [0, 200, 250, 250, 250, 250]
    assert counts["iid"] == counts["iid_valid"] == [0, 0, 25, 25, 25, 25]
    assert counts["depth_valid"] == [0] * 6 + [100]
    assert counts["deeper"] == [0] * 7 + [50, 50]
    train, valid, iid = (set(texts(SETS[name])) for name in ("train", "iid_valid", "iid"))
    assert not train & valid
    assert not train & iid
    assert not valid & iid
    assert {text for text in train if depth(text) == 1} == {
        f"({a}{operator}{b})" for operator in "+*" for a in range(10) for b in range(10)
    }


def test_zero_is_the_most_frequent_value():
    """Always saying it is right in 27 to 32 % of tests, which sampling may miss by 3 points."""
    values = np.bincount(TASK.sets(train=1000, iid=100, tests=1000)["deeper"].labels) / 1000
    assert values.argmax() == 0
    assert 0.24 < values[0] < 0.35


def test_expressions_grow_by_becoming_right_arguments():
    """If no argument is an operation, expressions of depth 2 are chains to the right."""
    task = tasks.SimpleArithmetic(
        depths=(2, 2), valid_depths=(2, 2), deeper_depths=(2, 2), nested=0.0, deeper_nested=0.9
    )
    sets = task.sets(train=500, iid=50, tests=100)
    chains = re.compile(r"\(\d[+*]\(\d[+*]\d\)\)")
    for name in ("train", "iid", "iid_valid"):
        assert all(chains.fullmatch(text) for text in texts(sets[name]) if depth(text) > 1)
    # Nearly every argument is an operation in the other sets.
    for name in ("depth_valid", "deeper"):
        assert np.mean([text.count("(") == 3 for text in texts(sets[name])]) > 0.6


def test_expressions_are_as_long_as_they_may_be():
    task = tasks.SimpleArithmetic(
        longest=17, depths=(3, 3), valid_depths=(3, 3), deeper_depths=(3, 3)
    )
    sets = task.sets(train=300, iid=10, tests=10)
    assert max(map(len, texts(sets["train"]))) == 17


def test_another_seed_gives_other_expressions():
    sizes = {"train": 50, "iid": 10, "tests": 10}
    first, second, again = (texts(TASK.sets(**sizes, seed=s)["deeper"]) for s in (0, 1, 0))
    assert not set(first) & set(second)
    assert first == again


def test_depths_with_few_expressions_leave_room_for_deeper_ones():
    task = tasks.SimpleArithmetic(2, depths=(1, 3), valid_depths=(3, 3), deeper_depths=(3, 3))
    # Of depth 1 there are 2 * 2 * 2 expressions, of depth 2 there are 2 * (10 * 10 - 2 * 2).
    sets = task.sets(train=300, iid=10, tests=10)
    depths = sum(np.bincount(task.depths_of(sets[n])) for n in ("train", "iid_valid", "iid"))
    assert depths.tolist() == [0, 5, 142, 173]
    with pytest.raises(ValueError, match="there are not 1020 expressions of depth 2"):
        tasks.SimpleArithmetic(2, depths=(2, 2)).sets(train=1000, iid=10)


def test_other_sizes_are_possible_and_impossible_ones_are_refused():
    task = tasks.SimpleArithmetic(5, depths=(1, 3), valid_depths=(4, 4), deeper_depths=(5, 5))
    sets = task.sets(train=60, iid=9, tests=10, seed=1)
    assert np.bincount(task.depths_of(sets["train"])).tolist() == [0, 20, 20, 20]
    found = texts(sets["deeper"])
    assert [eval(text) % 5 for text in found] == np.asarray(sets["deeper"].labels).tolist()
    with pytest.raises(ValueError, match="no expression of 20 tokens"):
        tasks.SimpleArithmetic(longest=20)
    with pytest.raises(ValueError, match="2 digits"):
        tasks.SimpleArithmetic(digits=1)
