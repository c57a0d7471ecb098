"""PCFG SET: what functions do, and which commands its generator makes."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from recombine import tasks
from recombine.tasks._pcfg_functions import BINARY, FUNCTIONS, UNARY
from recombine.tasks._pcfg_set import HELD_OUT_PAIRS
from recombine.tasks._pcfg_trees import (
    TreeSize,
    _exactly,
    draw_size,
    draw_tree,
    published_sizes,
)

STRING = "A1 B2 C3"
SMALL = tasks.PCFGSet(letters=5, indices=2, trained=3, longest=5)


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (f"copy {STRING}", STRING),
        (f"reverse {STRING}", "C3 B2 A1"),
        (f"shift {STRING}", "B2 C3 A1"),
        (f"echo {STRING}", "A1 B2 C3 C3"),
        (f"swap_first_last {STRING}", "C3 B2 A1"),
        ("swap_first_last A1 B2 C3 D4", "D4 B2 C3 A1"),
        (f"repeat {STRING}", f"{STRING} {STRING}"),
        (f"append {STRING} , D4", f"{STRING} D4"),
        (f"prepend {STRING} , D4", f"D4 {STRING}"),
        (f"remove_first {STRING} , D4", "D4"),
        (f"remove_second {STRING} , D4", STRING),
        ("echo append A1 B2 , reverse C3 D4", "A1 B2 D4 C3 C3"),
        ("append append A1 , B1 , remove_first C1 , repeat D1", "A1 B1 D1 D1"),
        ("swap_first_last A1", "A1"),
    ],
)
def test_commands_have_the_published_values(command, value):
    assert tasks.pcfg_value(command) == value


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("append A1", "has no second argument of 'append'"),
        ("reverse", "lacks an argument before token 2"),
        ("reverse A1 , B1", "goes on after its end, with ','"),
        ("append A1 , , B1", "lacks an argument before token 4"),
        ("", "lacks an argument before token 1"),
    ],
)
def test_what_is_no_command_is_refused(command, message):
    with pytest.raises(ValueError, match=message):
        tasks.pcfg_value(command)


def size_of(tree):
    """Depth, functions, and functions of two arguments of a tree."""
    if not tree:
        return TreeSize(0, 0, 0)
    below = [size_of(part) for part in tree]
    return TreeSize(
        1 + max(one.depth for one in below),
        1 + sum(one.functions for one in below),
        (len(tree) == 2) + sum(one.binary for one in below),
    )


def all_trees(depth):
    """Every tree of at most this depth."""
    if depth == 0:
        return [()]
    below = all_trees(depth - 1)
    return [(), *[(x,) for x in below], *[(x, y) for x in below for y in below]]


def test_trees_are_counted_right():
    counts = Counter(size_of(tree) for tree in all_trees(3))
    for depth in range(4):
        table = _exactly(depth)
        found = {TreeSize(depth, int(n), int(b)): int(table[n, b]) for n, b in np.argwhere(table)}
        assert found == {size: n for size, n in counts.items() if size.depth == depth}


def test_all_trees_of_a_size_are_equally_likely():
    rng, size = np.random.default_rng(0), TreeSize(3, 4, 2)
    drawn = Counter(draw_tree(size, rng) for _ in range(4000))
    trees = {tree for tree in all_trees(3) if size_of(tree) == size}
    assert set(drawn) == trees
    assert max(drawn.values()) < 1.5 * 4000 / len(trees)


def test_sizes_are_as_published():
    sizes = published_sizes()
    assert abs(sum(sizes.values()) - 1) < 1e-12
    more_than_eight = sum(p for (_, n), p in sizes.items() if n > 8)
    assert abs(more_than_eight - 11_333 / 92_343) < 0.005  # of the whole published set
    rng = np.random.default_rng(0)
    for depth, functions in [(1, 1), (2, 3), (5, 7), (13, 22)]:
        size = draw_size(depth, functions, rng)
        assert size[:2] == (depth, functions)
        assert size_of(draw_tree(size, rng)) == size


def functions_of(command):
    return [token for token in command.split() if token in FUNCTIONS]


def test_productivity_has_more_functions_in_its_test():
    found = SMALL.pairs("productivity", train=300, iid=40, ood=60)
    assert {name: len(part) for name, part in found.items()} == {"train": 300, "iid": 40, "ood": 60}
    for name, part in found.items():
        counts = [len(functions_of(command)) for command, _ in part]
        low, high = (4, 5) if name == "ood" else (1, 3)
        assert low <= min(counts) <= max(counts) <= high
        assert all(tasks.pcfg_value(command) == value for command, value in part)
    commands = [command for part in found.values() for command, _ in part]
    assert len(set(commands)) == len(commands)


def test_systematicity_has_pairs_of_functions_that_are_never_trained():
    found = tasks.PCFGSet().pairs("systematicity", train=300, iid=30, ood=60)

    def apart(command):
        return any(pair in HELD_OUT_PAIRS for pair in pairwise(command.split()))

    assert all(apart(command) for command, _ in found["ood"])
    assert not any(apart(command) for name in ("train", "iid") for command, _ in found[name])
    functions = Counter(f for command, _ in found["train"] for f in functions_of(command))
    assert set(functions) == {*UNARY, *BINARY}


def test_strings_have_two_to_five_letters_and_occur_once():
    found = tasks.PCFGSet().pairs("iid", train=200, iid=20, ood=0, seed=1)
    assert list(found) == ["train", "iid"]
    strings = []
    for command, _ in found["train"] + found["iid"]:
        bare = ["," if token in FUNCTIONS else token for token in command.split()]
        strings += [s.strip() for s in " ".join(bare).split(",") if s.strip()]
    assert {len(s.split()) for s in strings} == {2, 3, 4, 5}
    assert len(set(strings)) == len(strings)


def test_the_vocabulary_has_535_words():
    assert len(tasks.PCFGSet().vocabulary().words) == 535
    found = SMALL.translations(train=50, iid=10, ood=0)
    assert found.words == found.symbols == SMALL.vocabulary()
    assert len(found.words.words) == 5 * 2 + 10 + 1


def test_the_same_seed_makes_the_same_commands():
    one, same, other = (SMALL.pairs(train=20, iid=5, ood=0, seed=s) for s in (3, 3, 4))
    assert one == same != other


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"functions": ("reverse", "turn")}, "unknown functions: turn"),
        ({"functions": ("append",)}, "must be a function of one argument"),
        ({"trained": 8, "longest": 8}, "trained=8 and longest=8"),
        ({"letters": 27}, "letters=27"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        tasks.PCFGSet(**settings)


def test_a_split_that_functions_do_not_allow_is_refused():
    with pytest.raises(ValueError, match="not enough commands"):
        tasks.PCFGSet(1, 1, ("copy",), 1, 2).pairs("systematicity", train=1, iid=0, ood=1)
