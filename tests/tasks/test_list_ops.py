"""ListOps: values and dependency depths by a plain interpreter, and by pruning."""

from collections import Counter
from statistics import median

import numpy as np
import pytest

from recombine import tasks

SMALL = tasks.ListOps(depths=(1, 3), valid_depths=(4, 4), deeper_depths=(5, 6))
SAMPLERS = {
    "by level": SMALL.sets(train=900, iid=90, tests=100),
    "by rejection": tasks.ListOps(
        depths=(1, 2), valid_depths=(3, 3), deeper_depths=(3, 4), by_level=False
    ).sets(train=600, iid=20, tests=20),
}


def parse(words):
    """A list as its operator and arguments, a digit as a number."""
    word = words.pop(0)
    if not word.startswith("["):
        return int(word)
    arguments = []
    while words[0] != "]":
        arguments.append(parse(words))
    words.pop(0)
    return word[1:], arguments


def value(tree):
    if isinstance(tree, int):
        return tree
    operator, arguments = tree
    of = {"MIN": min, "MAX": max, "SM": lambda x: sum(x) % 10, "MED": lambda x: int(median(x))}
    return of[operator]([value(argument) for argument in arguments])


def deciding(tree):
    """The places of the arguments on which the value depends."""
    operator, values = tree[0], [value(argument) for argument in tree[1]]
    count = len(values)
    if operator == "SM":
        return range(count)
    if operator == "MED":
        order = sorted(range(count), key=lambda place: values[place])
        return order[(count - 1) // 2 : count // 2 + 1]
    return [values.index(value(tree))]


def depth(tree):
    if isinstance(tree, int):
        return 0
    return 1 + max(depth(tree[1][place]) for place in deciding(tree))


def pruned(tree):
    """The list with all arguments that do not decide as plain digits."""
    if isinstance(tree, int):
        return tree
    kept, (operator, arguments) = deciding(tree), tree
    return operator, [pruned(a) if i in kept else value(a) for i, a in enumerate(arguments)]


def height(tree):
    return 0 if isinstance(tree, int) else 1 + max(map(height, tree[1]))


def texts(items):
    rows = zip(np.asarray(items.tokens).tolist(), np.asarray(items.lengths).tolist(), strict=True)
    return [" ".join(items.vocabulary[token] for token in row[:length]) for row, length in rows]


def trees(items):
    return [parse(text.split()) for text in texts(items)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_labels_are_the_values_and_texts_are_short_and_different(sampler):
    for items in SAMPLERS[sampler].values():
        found = texts(items)
        assert [value(tree) for tree in trees(items)] == np.asarray(items.labels).tolist()
        assert len(set(found)) == len(found)
        # Three for an operation, one for a digit.
        assert max(len(text.split()) + text.count("[") for text in found) <= 50
        arguments = {len(tree[1]) for tree in trees(items)}
        assert arguments <= {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("sampler", "name", "counts"),
    [
        ("by level", "train", {1: 300, 2: 300, 3: 300}),
        ("by level", "iid", {1: 30, 2: 30, 3: 30}),
        ("by level", "depth_valid", {4: 100}),
        ("by level", "deeper", {5: 50, 6: 50}),
        ("by rejection", "train", {1: 300, 2: 300}),
        ("by rejection", "depth_valid", {3: 20}),
        ("by rejection", "deeper", {3: 10, 4: 10}),
    ],
)
def test_sets_have_equally_many_lists_of_their_dependency_depths(sampler, name, counts):
    found = trees(SAMPLERS[sampler][name])
    assert Counter(map(depth, found)) == counts
    assert max(map(height, found)) <= max(counts)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_what_does_not_decide_can_be_pruned_down_to_the_depth(sampler):
    for tree in trees(SAMPLERS[sampler]["train"]):
        rest = pruned(tree)
        assert value(rest) == value(tree)
        assert height(rest) == depth(tree) == depth(rest)


def test_training_and_tests_share_no_list():
    sets = SAMPLERS["by level"]
    train, valid, iid = (set(texts(sets[name])) for name in ("train", "iid_valid", "iid"))
    assert not train & valid
    assert not train & iid
    assert not valid & iid


def test_training_and_tests_are_equally_long():
    task = tasks.ListOps(
        ("MIN", "MAX", "SM"), 5, 3, depths=(1, 2), valid_depths=(3, 3), deeper_depths=(4, 4)
    )
    sets = task.sets(train=30_000, iid=3000, tests=10)
    train, iid = (np.asarray(sets[name].lengths) for name in ("train", "iid"))
    # There are 450 lists of digits alone: most are found before others are.
    assert abs(train.mean() - iid.mean()) < 4 * train.std() / len(iid) ** 0.5


@pytest.mark.parametrize(
    ("by_level", "counts", "places"),
    [
        # Published: 2 to 4 fresh arguments, and the nested list anywhere but at the end.
        (False, {3, 4, 5}, {0, 1, 2, 3}),
        (True, {2, 3, 4, 5}, {0, 1, 2, 3, 4}),
    ],
)
def test_lists_are_nested_among_fresh_arguments(by_level, counts, places):
    """If no fresh argument is an operation, a list of depth 2 has one in it."""
    task = tasks.ListOps(
        nested=0.0, depths=(2, 2), valid_depths=(2, 2), deeper_depths=(2, 2), by_level=by_level
    )
    found = trees(task.sets(train=500, iid=20, tests=20)["train"])
    inside = [[place for place, a in enumerate(tree[1]) if isinstance(a, tuple)] for tree in found]
    assert {len(nested) for nested in inside} == {1}
    assert {nested[0] for nested in inside} == places
    at_the_end = [nested[0] == len(tree[1]) - 1 for nested, tree in zip(inside, found, strict=True)]
    assert any(at_the_end) == by_level
    assert {len(tree[1]) for tree in found} == counts


def test_lists_are_as_long_as_they_may_be():
    lists = [text for items in SAMPLERS["by level"].values() for text in texts(items)]
    assert max(len(text.split()) + text.count("[") for text in lists) == 50


def test_lists_are_in_random_order():
    depths = [depth(tree) for tree in trees(SAMPLERS["by level"]["train"])]
    assert set(depths[:50]) == set(depths[-50:]) == {1, 2, 3}


@pytest.mark.parametrize("by_level", [True, False])
def test_another_seed_gives_other_lists(by_level):
    task = tasks.ListOps(
        depths=(1, 2), valid_depths=(2, 2), deeper_depths=(2, 3), by_level=by_level
    )
    first, second, again = (
        texts(task.sets(train=50, iid=10, tests=10, seed=s)["deeper"]) for s in (0, 1, 0)
    )
    assert not set(first) & set(second)
    assert first == again


def test_a_list_that_does_not_decide_adds_no_depth():
    items = SMALL.read(["[MAX 2 [SM 7 8 ] 4 ]", "[MAX 2 [SM 7 8 ] 9 ]"])
    assert items.labels.tolist() == [5, 9]
    assert SMALL.depths_of(items).tolist() == [2, 1]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_lists_are_read_back_with_their_values_and_depths(sampler):
    for items in SAMPLERS[sampler].values():
        again = SMALL.read(texts(items))
        for name in ("tokens", "lengths", "labels"):
            np.testing.assert_array_equal(getattr(again, name), getattr(items, name))
        depths = [depth(tree) for tree in trees(items)]
        assert SMALL.depths_of(items).tolist() == depths
    assert SMALL.depths_of(items.framed()).tolist() == depths


def test_what_is_no_list_is_not_read():
    with pytest.raises(ValueError, match="not words of these lists: 11"):
        SMALL.read(["[MIN 1 11 ]"])
    for text in ("[MIN 1 ]", "1 2 ]"):
        with pytest.raises(ValueError, match="2 to 5 arguments"):
            SMALL.read([text])
    for text in ("[MIN 1 2", "3", "[MIN 1 2 ] 4"):
        with pytest.raises(ValueError, match="every text is one list"):
            SMALL.read([text])


def test_other_operators_are_possible_and_impossible_lists_are_refused():
    task = tasks.ListOps(
        ("MIN", "MAX", "SM"), 5, 3, depths=(1, 2), valid_depths=(3, 3), deeper_depths=(4, 4)
    )
    sets = task.sets(train=100, iid=10, tests=10, seed=3)
    assert sets["train"].vocabulary == ("", "[MIN", "[MAX", "[SM", "]", *"01234")
    assert sets["train"].classes == 5
    for items in sets.values():
        assert np.asarray(items.labels).max() < 5
        assert {len(tree[1]) for tree in trees(items)} <= {2, 3}
    with pytest.raises(ValueError, match="no list of length 20"):
        tasks.ListOps(longest=20)
    with pytest.raises(ValueError, match="2 to 7 arguments"):
        tasks.ListOps(most_arguments=1)
    with pytest.raises(ValueError, match="needs 3 arguments; use by_level=True"):
        tasks.ListOps(most_arguments=2, by_level=False)
    with pytest.raises(ValueError, match="hardly"):
        tasks.ListOps(
            ("MIN",), 2, 2, longest=9, depths=(1, 1), valid_depths=(2, 2), deeper_depths=(2, 2)
        ).sets(train=500)
