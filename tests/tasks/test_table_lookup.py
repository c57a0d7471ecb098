"""Table lookup: the published sets, and what their items come to."""

import functools

import jax
import numpy as np
import pytest
from rows import Table

from recombine import tasks
from recombine.tasks._table_lookup import _reserved, _tables

KEY = jax.random.key(0)
TASK = tasks.TableLookup()
SETS = Table(
    {
        name: lambda name=name: drawn_sets()[name]
        for name in ("train", "iid_valid", "iid", "depth_valid", "longer", "reserved")
    }
)


@functools.cache
def drawn_sets():
    return TASK.sets()


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
    sizes = {name: len(items) for name, items in drawn_sets().items()}
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
    assert np.bincount([*map(len, _reserved(rng, 9, 5))]).tolist() == [1, 3, 21, 183, 200, 200]


def test_the_tables_are_permutations_drawn_as_published():
    rng = np.random.RandomState(0x12345678)
    expected = np.stack([rng.permutation(8) for _ in range(11)])
    np.testing.assert_array_equal(TASK.lookup.tables, expected)
    np.testing.assert_array_equal(np.sort(expected, axis=1), np.tile(np.arange(8), (11, 1)))
    images = np.take_along_axis(expected, np.asarray(TASK.lookup.inverses), axis=1)
    np.testing.assert_array_equal(images, np.tile(np.arange(8), (11, 1)))


class PublishedGenerator:
    """The published generator, call by call, up to the items of trained lengths."""

    def __init__(self):
        self.rng = np.random.RandomState(0x12345678)
        self.tables = [self.rng.permutation(8) for _ in range(11)]
        self.reserved = set()
        for length in range(6):
            full = len(self.reserved) + min(200, 0.25 * 9**length)
            while len(self.reserved) < full:
                self.reserved.add(tuple(self.rng.randint(9, size=length)))

    def trained_item(self):
        """Five functions, cut to two or more, until they are not reserved; then a symbol."""
        while True:
            functions = tuple(self.rng.randint(9, size=5)[: self.rng.randint(2, 6)])
            if functions not in self.reserved:
                return self.rng.randint(8), functions

    def item_with_a_function_that_is_trained_alone(self, function):
        """The function `j` (9) stands anywhere; or `k` (10), and then in place of any `j` too."""
        symbol, functions = self.rng.randint(8), self.rng.randint(10, size=5)
        functions = functions[: self.rng.randint(2, 6)]
        functions[functions == 9] = function
        functions[self.rng.randint(len(functions))] = function
        return symbol, tuple(functions)

    def longer_item(self, shortest, longest):
        symbol, functions = self.rng.randint(8), self.rng.randint(9, size=longest)
        return symbol, tuple(functions[: self.rng.randint(shortest, longest + 1)])

    def texts(self, count, draw, *arguments):
        """Different items, written backward, each with its label."""
        found = {}
        while len(found) < count:
            symbol, functions = draw(*arguments)
            text = " ".join([*("abcdefghijk"[f] for f in functions), f"{symbol:03b}"])
            for function in functions[::-1]:
                symbol = self.tables[function][symbol]
            found[text] = int(symbol)
        return found


def labelled_texts(items):
    rows = zip(np.asarray(items.tokens).tolist(), np.asarray(items.lengths).tolist(), strict=True)
    written = (" ".join(items.vocabulary[token] for token in row[:n]) for row, n in rows)
    return dict(zip(written, np.asarray(items.labels).tolist(), strict=True))


def test_the_first_published_items_are_applied_from_the_end_of_their_lists():
    """Backward, a list is written as it was drawn: the last function stands by the symbol."""
    items = tasks.joined([SETS[name] for name in ("train", "iid", "iid_valid")])
    found = labelled_texts(items)
    # Its list is g, b, g, c, d: d(0) = 4, c(4) = 0, g(0) = 5, b(5) = 0, g(0) = 5.
    assert found["g b g c d 000"] == 5
    # The lists f, g, g: g(0) = 5, g(5) = 6, f(6) = 7; and h, e: e(4) = 0, h(0) = 2.
    assert (found["f g g 000"], found["h e 100"]) == (7, 2)
    assert "d c g b g 000" not in found
    assert SETS["longer"].text(0) == "a c i f f h e f f 011"
    forward = tasks.TableLookup(forward=True).sets()
    assert forward["longer"].text(0) == "011 f f e h f f i c a"
    assert forward["longer"].labels[0] == SETS["longer"].labels[0] == 2


def test_all_items_are_those_of_the_published_generator():
    generator = PublishedGenerator()
    published = generator.texts(61_136, generator.trained_item)
    # The first 568 items of training are single functions.
    composed = [SETS["train"][568:], SETS["iid"], SETS["iid_valid"]]
    assert labelled_texts(tasks.joined(composed)) == published
    for function, count in ((9, 1000), (10, 3000)):
        generator.texts(count, generator.item_with_a_function_that_is_trained_alone, function)
    for name, lengths in (("depth_valid", (6, 8)), ("longer", (9, 10))):
        expected = generator.texts(1000, generator.longer_item, *lengths)
        assert list(labelled_texts(SETS[name]).items()) == list(expected.items())


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


def test_trained_and_tested_compositions_are_equally_long():
    """Short compositions are found first, so that sets in the order of drawing would differ."""
    train, valid, iid = (
        np.bincount(SETS[name].lengths[first:] - 1, minlength=6) / (len(SETS[name]) - first)
        for name, first in (("train", 568), ("iid_valid", 0), ("iid", 0))
    )
    np.testing.assert_allclose(valid, train, atol=0.03)
    np.testing.assert_allclose(iid, train, atol=0.03)


def test_functions_that_are_trained_alone_are_never_composed():
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


def test_one_function_in_a_frame_has_four_tokens():
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


def test_fresh_symbols_lengths_and_functions_are_uniform_and_independent():
    task = tasks.TableLookup(4, 5, 0, 3, (4, 4), (5, 5))
    drawn = [
        (symbol, len(functions), functions[0], functions[-1])
        for symbol, functions, _ in parse(task, task.sample(20_000, (2, 3), key=KEY))
    ]
    cells, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(cells) == 4 * 2 * 5 * 5
    # 100 expected in each cell: five standard deviations either way.
    assert counts.min() > 50
    assert counts.max() < 150


def test_another_seed_gives_other_tables_and_other_items():
    one, other = tasks.TableLookup(), tasks.TableLookup(seed=1)
    assert (np.asarray(one.lookup.tables) != np.asarray(other.lookup.tables)).any()
    assert texts(TASK.sets(seed=1)["longer"]) != texts(SETS["longer"])


def test_reserved_compositions_are_on_all_symbols():
    symbols = np.bincount([symbol for symbol, _, _ in parse(TASK, SETS["reserved"])])
    assert len(symbols) == 8
    # 604 / 8 = 75.5 expected of each: five standard deviations either way.
    assert symbols.min() > 75 - 41
    assert symbols.max() < 76 + 41


def test_functions_beyond_the_letters_have_names_of_their_own():
    lookup = tasks.LookupTables(np.tile([1, 0], (54, 1)), ("0", "1"))
    assert lookup.functions[25:27] == ("z", "A")
    assert lookup.functions[51:] == ("Z", "f52", "f53")


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
