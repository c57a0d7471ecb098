"""Table lookup: the published sets, and what their items come to."""

import jax
import numpy as np
import pytest

from recombine import tasks
from recombine.tasks._table_lookup import _pool, _reserved, _tables

KEY = jax.random.key(0)
TASK = tasks.TableLookup()
SETS = TASK.sets()


def parse(task, items, places=None):
    """The symbol and the functions of items, in the order of application."""
    lookup, labels = task.lookup, np.asarray(items.labels).tolist()
    for place in range(len(items)) if places is None else places:
        words = items.text(int(place)).split()
        symbol, *functions = words if lookup.forward else words[::-1]
        numbers = tuple(lookup.functions.index(name) for name in functions)
        yield lookup.symbols.index(symbol), numbers, labels[place]


def texts(items):
    return [bytes(row) for row in np.asarray(items.tokens).astype(np.uint8)]


def test_the_sets_have_their_published_sizes():
    sizes = {name: len(items) for name, items in SETS.items()}
    assert sizes == {
        "train": 53_704,
        "iid_valid": 4000,
        "iid": 4000,
        "depth_valid": 1000,
        "longer": 1000,
        "reserved": 604,
    }
    pool = np.concatenate([SETS[name].lengths - 1 for name in ("train", "iid_valid", "iid")])
    # All 11 functions alone, and two of them 30 times more.
    assert np.bincount(pool).tolist() == [0, 88 + 480, 480, 4350, 24_010, 32_296]


def test_some_compositions_of_every_length_are_reserved():
    rng = np.random.RandomState(0x12345678)
    _tables(rng, 11, 8)
    counts = (_reserved(rng, 9, 5) >= 0).sum(axis=1)
    assert np.bincount(counts).tolist() == [1, 3, 21, 183, 200, 200]


def test_the_tables_are_permutations_drawn_as_published():
    rng = np.random.RandomState(0x12345678)
    expected = np.stack([rng.permutation(8) for _ in range(11)])
    np.testing.assert_array_equal(TASK.lookup.tables, expected)
    np.testing.assert_array_equal(np.sort(expected, axis=1), np.tile(np.arange(8), (11, 1)))
    images = np.take_along_axis(expected, np.asarray(TASK.lookup.inverses), axis=1)
    np.testing.assert_array_equal(images, np.tile(np.arange(8), (11, 1)))


def test_items_are_those_of_single_calls_of_the_generator():
    reserved = _reserved(np.random.RandomState(1), 5, 4)
    left_out = {tuple(row[row >= 0].tolist()) for row in reserved}
    drawn, rng = {}, np.random.RandomState(3)
    while len(drawn) < 700:
        while True:
            functions = rng.randint(5, size=4)[: rng.randint(2, 5)]
            if tuple(functions.tolist()) not in left_out:
                break
        drawn[rng.randint(6), tuple(functions.tolist())] = None
    fast = _pool(np.random.RandomState(3), 700, 5, 4, 6, reserved)
    assert [(row[0], tuple(row[1:][row[1:] >= 0].tolist())) for row in fast] == list(drawn)


@pytest.mark.parametrize("name", SETS)
def test_labels_are_what_the_functions_come_to_one_by_one(name):
    tables = np.asarray(TASK.lookup.tables).tolist()
    places = np.linspace(0, len(SETS[name]) - 1, 300).astype(int)
    for symbol, functions, label in parse(TASK, SETS[name], places):
        for function in functions:
            symbol = tables[function][symbol]
        assert symbol == label


def test_sets_do_not_share_items_and_tests_are_longer_than_training():
    train, iid, valid = (set(texts(SETS[name])) for name in ("train", "iid", "iid_valid"))
    assert (len(iid), len(valid)) == (4000, 4000)
    assert not train & iid
    assert not train & valid
    assert not iid & valid
    assert len(train) == 53_704 - 480
    functions = {name: np.asarray(items.lengths) - 1 for name, items in SETS.items()}
    assert set(functions["depth_valid"]) == {6, 7, 8}
    assert set(functions["longer"]) == {9, 10}
    assert all(len(set(texts(SETS[name]))) == 1000 for name in ("depth_valid", "longer"))


def test_functions_that_are_taught_alone_are_never_composed():
    for name, items in SETS.items():
        tokens, lengths = np.asarray(items.tokens), np.asarray(items.lengths)
        assert not (tokens[lengths > 2] > 1 + 8 + 8).any(), name
    compositions = {f for _, f, _ in parse(TASK, SETS["reserved"])}
    assert len(compositions) == 604
    # The first 568 items of training are single functions.
    for name, first, last in (("train", 568, 2500), ("iid", 0, 4000), ("iid_valid", 0, 4000)):
        assert not compositions & {f for _, f, _ in parse(TASK, SETS[name], range(first, last))}


def test_forward_and_backward_are_the_same_items_read_from_the_other_end():
    back, forth = (tasks.TableLookup(4, 5, 1, 3, (4, 4), (5, 6), forward=f) for f in (False, True))
    ours, theirs, others = back.sets(tests=99), forth.sets(tests=99), back.sets(tests=99, seed=5)
    for one, other in zip(ours.values(), theirs.values(), strict=True):
        assert list(parse(back, one)) == list(parse(forth, other))
    assert ours["longer"].text(0).split() == theirs["longer"].text(0).split()[::-1]
    assert texts(ours["longer"]) != texts(others["longer"])


def test_a_frame_of_one_function_has_four_tokens():
    assert SETS["train"].text(0) == "a 000"
    assert SETS["train"].framed().text(0) == "B a 000 E"


@pytest.mark.parametrize(("forward", "lengths"), [(False, None), (True, (6, 7))])
def test_fresh_items_are_right_and_of_all_lengths(forward, lengths):
    task = tasks.TableLookup(4, 8, 0, forward=forward)
    tables = np.asarray(task.lookup.tables).tolist()
    batch = jax.jit(lambda key: task.sample(200, lengths, key=key))(KEY)
    shortest, longest = lengths or (1, 5)
    assert batch.tokens.shape == (200, longest + 1)
    assert set(np.asarray(batch.lengths) - 1) == set(range(shortest, longest + 1))
    for symbol, functions, label in parse(task, batch):
        for function in functions:
            symbol = tables[function][symbol]
        assert symbol == label


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tasks.TableLookup(symbols=1), "two symbols"),
        (lambda: tasks.TableLookup(valid_lengths=(5, 8)), "lengths must grow"),
        (lambda: TASK.sets(train=10**6), "too few"),
        (lambda: tasks.TableLookup(2, 2, 0, 3, (4, 4), (5, 5)).sets(), "only 32 longer items"),
    ],
)
def test_impossible_tasks_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
