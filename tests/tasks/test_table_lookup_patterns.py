"""CTL++: counts, patterns, restricted symbols."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from recombine import tasks
from recombine.tasks._table_lookup_patterns import overlap_symbols

Patterns = tasks.TableLookupPatterns


def rows_of(task, items):
    """Items as tuples of the symbol and the functions, in the order of application."""
    tokens, symbols = np.asarray(items.tokens), len(task.lookup.symbols)
    for row, length in zip(tokens.tolist(), np.asarray(items.lengths).tolist(), strict=True):
        *functions, symbol = row[:length]
        yield (symbol - 1, *(f - 1 - symbols for f in reversed(functions)))


def group_of(task):
    return {f: name for name, members in task.trained.groups.items() for f in members}


def legal(task, graph, row):
    """Whether a graph allows an item, looked up edge by edge."""
    tables, symbol, names = np.asarray(task.lookup.tables), row[0], group_of(task)
    before = "IN"
    for function in row[1:]:
        fits = [
            edge.allowed is None or edge.allowed[graph.groups[edge.target].index(function), symbol]
            for edge in graph.edges
            if (edge.source, edge.target) == (before, names[function])
        ]
        if not any(fits):
            return False
        before, symbol = names[function], tables[function, symbol]
    return any((edge.source, edge.target) == (before, "OUT") for edge in graph.edges)


def lengths(items):
    return np.bincount(np.asarray(items.lengths) - 1).tolist()


STAGED = Patterns.staged(4, 1, 4, 12, longest=4)
STAGED_SETS = STAGED.sets(train=500, iid=100, ood=80, diagnostics=True)


def test_sets_have_their_published_sizes():
    task = Patterns.alternating()
    tables = np.asarray(task.lookup.tables)
    expected = [0, *(2 * 16**n * 8 for n in range(1, 7))]
    assert task.trained.counts(tables, 6).tolist() == expected
    assert task.tested.counts(tables, 6).tolist() == expected
    sets = task.sets()
    train, iid = np.array(lengths(sets["train"])), np.array(lengths(sets["iid"]))
    assert train[1] == 256
    assert (train + iid)[2:].tolist() == [2048, 32_768, 88_686, 88_685, 88_685]
    assert iid.sum() == 1000
    assert lengths(sets["ood"]) == [0, 0, 200, 200, 200, 200, 200]
    released = Patterns.repeating(include_singles=False, include_all_pairs=True).sets()
    train, iid = np.array(lengths(released["train"])), np.array(lengths(released["iid"]))
    assert (train + iid).tolist() == [0, 0, 4096, 32_768, 88_728, 88_728, 88_728]
    assert iid[2] == 0


def test_right_to_left_text_means_the_last_function_first():
    lookup = Patterns.alternating().lookup
    a, b, c = np.asarray(lookup.tables)[:3]
    item = lookup.write_rows(np.array([[3, 0, 1, 2]]))
    assert item.text(0) == "c b a 3"
    assert item.labels[0] == c[b[a[3]]]
    assert lookup.functions == tuple("abcdefghijklmnopqrstuvwxyzABCDEF")
    assert len(lookup.vocabulary) == 1 + 40
    assert len({tuple(table) for table in np.asarray(lookup.tables).tolist()}) == 32
    assert (np.sort(lookup.tables, axis=1) == np.arange(8)).all()


@pytest.mark.parametrize("variant", ["alternating", "repeating"])
def test_patterns_of_tests_are_never_trained_and_labels_are_right(variant):
    task = getattr(Patterns, variant)(4, 12, longest=4)
    sets, names = task.sets(train=None, diagnostics=True), group_of(task)
    tables = np.asarray(task.lookup.tables).tolist()
    assert len(sets["train"]) == 5240
    assert lengths(sets["ood"]) == [0, 0, 288, 356, 356]
    found = {}
    for name, items in sets.items():
        found[name] = list(rows_of(task, items))
        assert len(set(found[name])) == len(found[name])
        for (symbol, *functions), label in zip(
            found[name], np.asarray(items.labels).tolist(), strict=True
        ):
            for function in functions:
                symbol = tables[function][symbol]
            assert symbol == label
    alternates = variant == "alternating"
    for name, same in (("train", not alternates), ("iid", not alternates), ("ood", alternates)):
        pairs = (pair for _, *functions in found[name] for pair in pairwise(functions))
        assert all((names[one] == names[other]) == same for one, other in pairs)
    assert not set(found["train"]) & set(found["iid"])
    singles = {row for row in found["train"] if len(row) == 2}
    assert singles == set(product(range(4), range(12)))
    assert len(found["pairs"]) == 288
    assert len(found["all_pairs"]) == 4 * 12 * 12


@pytest.mark.parametrize("graph", [STAGED.trained, STAGED.tested, STAGED.diagnostics["overlap"]])
def test_counts_and_lists_are_those_of_an_exhaustive_search(graph):
    tables = np.asarray(STAGED.lookup.tables)
    counts = graph.counts(tables, 3).tolist()
    for length in (1, 2, 3):
        every = product(range(4), *[range(12)] * length)
        expected = {row for row in every if legal(STAGED, graph, row)}
        assert counts[length] == len(expected)
        assert set(map(tuple, graph.items(tables, length).tolist())) == expected


def test_drawn_items_are_uniform_at_every_choice():
    tables = np.asarray(STAGED.lookup.tables)
    drawn = STAGED.trained.draw(tables, 2, np.random.default_rng(0), 40_000)
    rows, times = np.unique(drawn, axis=0, return_counts=True)
    allowed = {}
    for symbol, first, second in rows:
        allowed.setdefault((symbol, first), set()).add(second)
    expected = [len(drawn) / (4 * 4 * len(allowed[s, f])) for s, f, _ in rows]
    np.testing.assert_allclose(times, expected, rtol=0.2)


@pytest.mark.parametrize("overlap", [4, 8, 12, 16])
@pytest.mark.parametrize(
    ("shared", "sizes"), [(2, (5, 5)), (3, (6, 5)), (4, (6, 6)), (5, (7, 6)), (6, (7, 7))]
)
def test_shared_symbols_cover_all_and_the_others_are_on_one_side(overlap, shared, sizes):
    after_a, after_b = overlap_symbols(overlap, 8, shared, np.random.default_rng(0))
    assert (after_a | after_b).all()
    assert ((after_a & after_b).sum(axis=1) == shared).all()
    assert (after_a.sum(axis=1) == sizes[0]).all()
    assert (after_b.sum(axis=1) == sizes[1]).all()
    around = -(-8 // shared)
    for start in range(0, overlap - around + 1, around):
        assert (after_a & after_b)[start : start + around].any(axis=0).all()


def test_shared_symbols_are_in_a_new_order_after_every_pass():
    after_a, after_b = overlap_symbols(40, 8, 2, np.random.default_rng(0))
    pairs = {tuple(np.flatnonzero(both)) for both in after_a & after_b}
    # Four pairs per pass; with one order there would be no others.
    assert len(pairs) > 12


@pytest.mark.parametrize("make", [Patterns.alternating, Patterns.repeating])
def test_another_seed_gives_other_functions_and_other_items(make):
    one, other = make(8, 12, longest=3), make(8, 12, longest=3, seed=1)
    assert (np.asarray(one.lookup.tables) != np.asarray(other.lookup.tables)).any()
    first, second, again = (
        set(rows_of(one, one.sets(train=500, iid=50, ood=50, seed=seed)["train"]))
        for seed in (0, 1, 0)
    )
    assert first != second
    assert first == again


def test_another_seed_gives_other_stages():
    one, other = Patterns.staged(12, 2), Patterns.staged(12, 2, seed=1)
    assert (np.asarray(one.lookup.tables) != np.asarray(other.lookup.tables)).any()
    allowed, others = (
        [edge.allowed for edge in task.trained.edges if edge.allowed is not None]
        for task in (one, other)
    )
    assert any((a != b).any() for a, b in zip(allowed, others, strict=True))


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: Patterns.alternating(4, 12, longest=3, **options),
        lambda **options: Patterns.repeating(4, 12, longest=3, **options),
        lambda **options: Patterns.staged(4, 1, 4, 12, longest=4, **options),
    ],
    ids=["alternating", "repeating", "staged"],
)
def test_forward_items_are_the_same_read_from_the_other_end(make):
    back, forth = (
        make(forward=forward).sets(train=200, iid=20, ood=20) for forward in (False, True)
    )
    for name, items in back.items():
        backward = [items.text(place).split() for place in range(20)]
        assert [forth[name].text(place).split()[::-1] for place in range(20)] == backward
        np.testing.assert_array_equal(items.labels, forth[name].labels)


@pytest.mark.parametrize("make", [Patterns.alternating, Patterns.repeating])
def test_pairs_are_those_that_training_allows(make):
    task = make(4, 12, longest=3)
    pairs = set(rows_of(task, task.sets(train=200, iid=20, ood=20, diagnostics=True)["pairs"]))
    every = set(product(range(4), range(12), range(12)))
    assert pairs == {row for row in every if legal(task, task.trained, row)}


def test_tests_of_trained_patterns_have_all_lengths_of_the_pool():
    sets = Patterns.alternating(longest=4).sets(train=20_000, iid=1000, ood=10)
    train, iid = (np.array(lengths(sets[name])[2:]) for name in ("train", "iid"))
    np.testing.assert_allclose(iid / 1000, train / train.sum(), atol=0.08)


def test_two_edges_to_a_group_allow_what_either_allows():
    some = np.array([[True, False, False], [False, False, True]])
    groups = {"a": (0,), "b": (1, 2)}
    tables = np.array([[0, 1, 2]] * 3)
    begin = [tasks.Edge("IN", "a"), tasks.Edge("b", "OUT")]
    for edges in permutations([tasks.Edge("a", "b", some), tasks.Edge("a", "b", ~some)]):
        graph = tasks.SamplingGraph(groups, (*begin, *edges))
        assert graph.counts(tables, 2).tolist() == [0, 0, 3 * 2]


def test_a_symbol_that_is_left_over_goes_to_either_side():
    after_a, after_b = overlap_symbols(64, 8, 7, np.random.default_rng(0))
    assert (after_a.sum(axis=1) + after_b.sum(axis=1) == 8 + 7).all()
    assert 16 < (after_a.sum(axis=1) == 8).sum() < 48


@pytest.mark.parametrize(("overlap", "shared", "pairs"), [(4, 2, 1064), (16, 6, 1152)])
def test_stages_have_the_counts_of_their_formulas(overlap, shared, pairs):
    task = Patterns.staged(overlap, shared)
    tables, group = np.asarray(task.lookup.tables), (32 - overlap) // 4
    assert task.trained.counts(tables, 3).tolist() == [0, 0, pairs, 0]
    ood = [8 * (2 * group**2) ** n for n in range(1, 4)]
    assert task.tested.counts(tables, 6)[2::2].tolist() == ood
    drawn = task.tested.different(tables, range(2, 7), 1000, np.random.default_rng(0))
    expected = [0, 0, 256, 0, 372, 0, 372] if overlap == 16 else [0, 0, 334, 0, 333, 0, 333]
    assert np.bincount((drawn >= 0).sum(axis=1) - 1).tolist() == expected


PUBLISHED_ORDER = (
    11, 15, 30, 21, 0, 10, 22, 20, 16, 23, 29, 6, 13, 19, 4, 1, 3, 27, 7, 31, 8, 25, 5, 24, 9, 26,
    28, 17, 12, 18, 14, 2,
)  # fmt: skip
"""The published functions among those that its generator draws: the order of a set of tuples."""


def test_the_published_count_of_stages_is_an_estimate_and_ours_is_exact():
    rng = np.random.RandomState(0)
    drawn = np.stack([rng.permutation(8) for _ in range(32)])
    tables = drawn[list(PUBLISHED_ORDER)]
    # With two shared symbols the only random choice is their order, after every four functions.
    graph = Patterns.staged(4, 2).trained
    exact, estimate = graph.counts(tables, 6), graph.estimated_counts(tables, 6)
    assert exact[4] == 141_505 == len(graph.items(tables, 4))
    # Two pairs, each of 2 * 7 * 7 ways to eight symbols or 2 * 4 * 7 ways to five symbols.
    pairs = 2 * 7 * 7 * 8 + 2 * 4 * 7 * 5
    ways = 2 * 7 * 7 + 2 * 4 * 7
    assert estimate.tolist() == [0, 0, pairs, 0, ways * pairs, 0, ways**2 * pairs]
    assert estimate[4] == 163_856


@pytest.mark.parametrize(
    ("estimate_counts", "drawn"), [(True, [532, 81_928]), (False, [532, 70_749])]
)
def test_training_has_half_of_the_items_that_are_counted(estimate_counts, drawn):
    task = Patterns.staged(4, 2, longest=4, estimate_counts=estimate_counts)
    sets = task.sets(train=None, iid=1000, ood=10)
    together = np.array(lengths(sets["train"])) + np.array(lengths(sets["iid"]))
    assert together[2::2].tolist() == drawn


def test_without_restricted_edges_the_estimate_is_exact():
    tables = np.asarray(STAGED.lookup.tables)
    for graph in (STAGED.tested, STAGED.diagnostics["any"], Patterns.repeating(4, 12).trained):
        np.testing.assert_array_equal(graph.estimated_counts(tables, 5), graph.counts(tables, 5))


def test_no_more_items_are_drawn_than_exist_where_the_estimate_is_higher():
    tables = np.asarray(STAGED.lookup.tables)
    exact, estimate = STAGED.trained.counts(tables, 4), STAGED.trained.estimated_counts(tables, 4)
    assert estimate[4] > exact[4]
    rng = np.random.default_rng(0)
    rows = STAGED.trained.different(tables, range(4, 5), None, rng, estimate_counts=True)
    assert len(rows) == exact[4]


def test_staged_items_keep_to_their_graphs():
    rows = {name: list(rows_of(STAGED, items)) for name, items in STAGED_SETS.items()}
    for name in ("train", "iid", "pairs"):
        assert all(legal(STAGED, STAGED.trained, row) for row in rows[name])
    assert all(legal(STAGED, STAGED.tested, row) for row in rows["ood"])
    overlap = set(STAGED.trained.groups["o"])
    assert not any(overlap & set(row[1:]) for row in rows["ood"])
    assert {len(row) - 1 for row in rows["train"] + rows["ood"]} == {2, 4}
    pairs, unseen = set(rows["pairs"]), set(rows["unseen_pairs"])
    assert set(rows["all_pairs"]) == pairs | unseen
    assert not pairs & unseen
    assert set(rows["unseen_symbol_pairs"]) == {r for r in unseen if r[2] in overlap}
    assert {row for row in rows["train"] if len(row) == 3} <= pairs
    for _, *functions in rows["one_group"]:
        assert len({group_of(STAGED)[f] for f in functions}) == 1


def test_stages_are_trained_apart_and_tested_crossed():
    second = {"train": set(), "ood": set()}
    for name, pairs in second.items():
        for _, *functions in rows_of(STAGED, STAGED_SETS[name]):
            names = [group_of(STAGED)[function] for function in functions]
            pairs |= set(zip(names[::2], names[1::2], strict=True))
    assert second["train"] == {("a1", "a2"), ("b1", "b2"), ("a1", "o"), ("b1", "o")}
    assert second["ood"] == {("a1", "b2"), ("b1", "a2")}


def test_arrows_are_the_edges_that_are_sampled():
    sets = {"train": STAGED_SETS["train"], "test": STAGED_SETS["ood"]}
    seen, names = {"train": set(), "test": set()}, group_of(STAGED)
    for name, items in sets.items():
        for _, *functions in rows_of(STAGED, items):
            seen[name] |= set(pairwise(["IN", *(names[f] for f in functions), "OUT"]))
    arrows = STAGED.arrows()
    assert {(s, t) for s, t, place in arrows if place in ("both", "train")} == seen["train"]
    assert {(s, t) for s, t, place in arrows if place in ("both", "test")} == seen["test"]
    assert len(arrows) == len(seen["train"] | seen["test"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Patterns.alternating(4, 11), "even number"),
        (lambda: Patterns.alternating(3, 12), "use more symbols"),
        (lambda: Patterns.staged(5, 2), "multiple of 4"),
        (lambda: Patterns.staged(4, 9), "between 1 and 8"),
        (lambda: Patterns.alternating(4, 12, longest=3).sets(), "can be drawn"),
        (lambda: Patterns.alternating(4, 4, longest=2).sets(train=None), "too few for iid"),
    ],
)
def test_impossible_tasks_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
