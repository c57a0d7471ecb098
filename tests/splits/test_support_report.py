from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import splits

FACTORS = ("colour", "shape")
TRAIN = [("red", "disc"), ("red", "ring"), ("blue", "star")]


@st.composite
def tables(draw, most=3):
    """Trained combinations, and tested ones that may have values of their own."""
    sizes = draw(st.lists(st.integers(1, most), min_size=2, max_size=3))
    every = list(product(*map(range, sizes)))
    train = draw(st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True))
    test = draw(st.lists(st.sampled_from(every), min_size=0, max_size=4, unique=True))
    return train, test


def parts(rows):
    """Values that rows join: merge sets until none overlap."""
    found = []
    for row in rows:
        joined = set(enumerate(row))
        apart = [part for part in found if not part & joined]
        found = [*apart, joined.union(*(part for part in found if part & joined))]
    return found


def is_sum_of(combination, rows):
    """Whether least squares finds weights of the rows that give the combination's values."""
    values = sorted({value for row in [*rows, combination] for value in enumerate(row)})
    codes = np.array([[v in set(enumerate(row)) for v in values] for row in rows], float)
    target = np.array([v in set(enumerate(combination)) for v in values], float)
    weights = np.linalg.lstsq(codes.T, target)[0]
    return np.abs(weights @ codes - target).max() < 1e-9


@settings(deadline=None)
@given(tables())
def test_every_tested_combination_is_placed_by_the_parts_of_its_values(tables):
    train, test = tables
    report = splits.support_report(train, test or None)
    joined = parts(train)
    for combination in test:
        homes = {
            next((n for n, part in enumerate(joined) if value in part), None)
            for value in enumerate(combination)
        }
        place = "new" if None in homes else "within" if len(homes) == 1 else "across"
        if combination in train:
            place = "trained"
        elif place == "within" and not is_sum_of(combination, train):
            place = "undetermined"
        assert report.judge(combination) == place
        for other in ("within", "undetermined", "across", "new"):
            assert (combination in getattr(report, other)) == (place == other)
    assert report.connected == (len(joined) == 1)
    assert len(report.components) == len(joined)
    tested_values = {value for row in test for value in enumerate(row)}
    assert len(report.unseen) == len(tested_values - set().union(*joined))


@settings(max_examples=40, deadline=None)
@given(tables())
def test_what_to_add_is_enough_and_nothing_smaller_is(tables):
    train, test = tables
    report = splits.support_report(train, test or None)
    added = report.to_add
    after = splits.support_report([*train, *added], test or None)
    assert after.compositional
    assert after.connected
    assert after.to_add == ()
    needed = {value for row in train + test for value in enumerate(row)}
    every = list(product(*(sorted({v for g, v in needed if g == f}) for f in range(len(train[0])))))
    assert set(added) <= set(every)
    if added:
        for fewer in combinations(every, len(added) - 1):
            joined = parts([*train, *fewer])
            assert len(joined) > 1 or joined[0] != needed


@settings(max_examples=50, deadline=None)
@given(tables())
def test_what_to_determine_is_enough_and_counts_the_missing_dimensions(tables):
    train, test = tables
    report = splits.support_report(train, test or None)
    added = report.to_determine
    assert added[: len(report.to_add)] == report.to_add
    after = splits.support_report([*train, *added], test or None)
    assert after.supports_recombination
    assert after.undetermined == after.across == after.new == ()
    values = sorted({value for row in train + test for value in enumerate(row)})
    codes = np.array([[v in set(enumerate(row)) for v in values] for row in train], float)
    dimensions = len(values) - len(train[0]) + 1
    assert len(added) == dimensions - np.linalg.matrix_rank(codes)
    assert all(is_sum_of(row, [*train, *added]) for row in product(*after.trained.values))


@settings(deadline=None)
@given(tables())
def test_with_two_factors_what_is_joined_is_determined(tables):
    train, test = ([row[:2] for row in rows] for rows in tables)
    report = splits.support_report(train, test or None)
    assert report.undetermined == ()
    assert report.to_determine == report.to_add
    assert report.determined == (report.connected and report.compositional)


def test_a_value_that_joins_two_parts_but_occurs_nowhere_else_leaves_them_undetermined():
    report = splits.support_report(
        [("a", 0, "x"), ("b", 1, "y"), ("a", 2, "y")], [("a", 0, "y"), ("b", 1, "x")]
    )
    assert report.compositional
    assert report.connected
    assert not report.determined
    assert not report.supports_recombination
    assert report.undetermined == (("a", 0, "y"), ("b", 1, "x"))
    assert "cannot be relied on" in report.describe()
    assert "effects that cannot be told apart: (a, 0, y), (b, 1, x)" in report.describe()


def test_many_new_values_are_served_with_as_few_combinations_as_possible():
    train = [(0, 0, 0), (1, 1, 1), (2, 2, 2)]
    test = [(v, 0, 0) for v in range(3, 8)] + [(0, v, 0) for v in range(3, 5)]
    added = splits.support_report(train, test).to_add
    # Two parts and seven values to join, two by each combination of three.
    assert len(added) == 5
    assert splits.support_report([*train, *added], test).connected


def test_values_combinations_and_parts_are_named():
    test = [("blue", "disc"), ("green", "disc"), ("red", "ring"), ("red", "star")]
    report = splits.support_report(TRAIN, test, factors=FACTORS)
    assert not report.supports_recombination
    assert not report.compositional
    assert not report.connected
    assert report.unseen == (("colour", "green"),)
    assert report.components == ((("red",), ("disc", "ring")), (("blue",), ("star",)))
    assert report.across == (("blue", "disc"), ("red", "star"))
    assert report.new == (("green", "disc"),)
    assert report.within == ()
    assert str(report) == report.describe()
    assert report.describe().splitlines() == [
        "3 of 6 combinations are trained (2 colour x 3 shape). They cannot be relied on to support"
        " new ones.",
        " NOT S1 values that never occur in training: colour green",
        " NOT S2 trained combinations form 2 components that share no value: colour red, shape disc"
        " | ring; colour blue, shape star",
        "     to train and connect all values, also train: "
        + ", ".join(f"({c}, {s})" for c, s in report.to_add),
        " NOT S3 the effects of some values cannot be told apart",
        " NOT S4 0 of 3 new combinations that are tested are supported (0% of their rows)",
        "     1 of 4 rows of the test are trained, too",
        "     values of several components: (blue, disc), (red, star)",
        "     a value that is not trained: (green, disc)",
    ]


def test_a_connected_table_supports_all_its_combinations():
    report = splits.support_report({"colour": [0, 0, 1], "shape": [0, 1, 1]})
    assert report.supports_recombination
    assert report.to_add == ()
    assert report.judge((1, 0)) == "within"
    assert report.judge((1, 1)) == "trained"
    assert report.describe().splitlines() == [
        "3 of 4 combinations are trained (2 colour x 2 shape). They can support new ones.",
        "  ok S1 every value occurs in training",
        "  ok S2 trained combinations connect all trained values",
        "  ok S3 the effects of all values can be told apart",
        "  ok S4 1 of 1 other combinations of these values lie within one component",
    ]


@settings(deadline=None)
@given(tables())
def test_without_tested_combinations_all_others_are_counted(tables):
    train, _ = tables
    report = splits.support_report(train)
    others = list(product(*report.trained.values))
    within = sum(report.judge(other) in ("within", "undetermined") for other in others)
    last = report.describe().splitlines()[-1]
    assert f"S4 {within} of {len(others) - len(train)} other" in last
    assert last.startswith("  ok") == (within == len(others) - len(train))


def test_long_lists_are_cut_short():
    report = splits.support_report([(i, i) for i in range(20)])
    assert "and 12 more" in report.describe()
    assert max(map(len, report.describe().splitlines())) < 300


def test_columns_may_come_in_any_order():
    report = splits.support_report(
        {"colour": ["red", "blue"], "shape": ["disc", "disc"]},
        {"shape": ["disc"], "colour": ["red"]},
    )
    assert report.new == report.across == report.within == ()


def test_the_split_of_a_table_agrees_with_its_report():
    table = splits.FactorTable.of(np.array(list(product(range(3), range(4)))))
    split = splits.module_hold_out(table.codes, module=1, layers=0)
    report = splits.support_report(table.of_codes(split.train), table.of_codes(split.held_out))
    assert report.compositional == split.compositional
    assert report.connected == split.connected_across_layers
    assert report.unseen == (("factor 0", 1),)
    assert len(report.new) == 4


@pytest.mark.parametrize(
    ("train", "test", "mistake"),
    [
        ([(1,), (2,)], None, "one factor alone"),
        ({"a": [1], "b": [1]}, {"a": [1], "c": [1]}, "different factors"),
        ([(1, 2)], [(1, 2, 3)], "3 factors need as many different names"),
    ],
)
def test_a_mistake_is_named(train, test, mistake):
    with pytest.raises(ValueError, match=mistake):
        splits.support_report(train, test)


def test_an_answer_does_not_depend_on_the_form_of_the_table(tmp_path):
    import polars

    records = [{"colour": c, "shape": s, "label": str(n)} for n, (c, s) in enumerate(TRAIN)]
    frame = polars.DataFrame(records)
    frame.write_csv(tmp_path / "train.csv")
    frame.write_parquet(tmp_path / "train.parquet")
    forms = [records, frame, str(tmp_path / "train.csv"), tmp_path / "train.parquet"]
    for form in forms:
        report = splits.support_report(form, [("blue", "disc")], factors=FACTORS)
        assert not report.supports_recombination
        assert report.components == ((("red",), ("disc", "ring")), (("blue",), ("star",)))
        assert report.across == (("blue", "disc"),)


def test_rows_of_the_test_that_are_trained_are_counted_apart():
    train = [("a", 0), ("a", 1), ("b", 0)]
    report = splits.support_report(train, [("a", 0), ("a", 0), ("b", 1), ("c", 1), ("c", 1)])
    assert (report.repeated, report.tested_rows) == (2, 5)
    assert report.supported_share == 1 / 3
    assert "2 of 5 rows of the test are trained, too" in report.describe()
    only = splits.support_report(train, train)
    assert only.supported_share is None
    assert only.describe().splitlines()[-1] == (
        " NOT S4 all tested combinations are trained: none is new"
    )


def test_values_that_are_new_are_not_said_to_be_connected():
    train = [("a", 0), ("a", 1), ("b", 0)]
    text = splits.support_report(train, [("c", 1)]).describe()
    assert "connect all trained values\n     to train and connect all values" in text


def test_a_combination_to_judge_has_all_factors():
    with pytest.raises(ValueError, match="one value of each"):
        splits.support_report(TRAIN).judge(("red",))
