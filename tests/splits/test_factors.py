import numpy as np
import pytest

from recombine import splits

ROWS = [("red", 3), ("blue", 1), ("red", 1), ("red", 3)]


def test_rows_columns_and_arrays_give_the_same_table():
    names = ("colour", "size")
    by_rows = splits.FactorTable.of(ROWS, names)
    by_columns = splits.FactorTable.of(
        {"colour": ["red", "blue", "red", "red"], "size": np.array([3, 1, 1, 3])}
    )
    by_array = splits.FactorTable.of(np.array(ROWS, object), names)
    assert by_rows == by_columns == by_array
    assert splits.FactorTable.of(by_rows) is by_rows
    assert by_rows.combinations == (("red", 3), ("blue", 1), ("red", 1))
    assert by_rows.values == (("red", "blue"), (3, 1))
    assert list(by_rows) == list(by_rows.combinations)


def test_factors_without_names_are_numbered():
    table = splits.FactorTable.of(np.array([[0, 1, 2]]))
    assert table.factors == ("factor 0", "factor 1", "factor 2")
    assert table.combinations == ((0, 1, 2),)
    assert all(isinstance(value, int) for value in table.combinations[0])


def test_codes_have_one_value_of_every_factor_and_padding():
    table = splits.FactorTable.of([("a", 0), ("a", 1), ("a", 2)])
    expected = np.zeros((3, 2, 3), bool)
    expected[:, 0, 0] = True
    expected[:, 1] = np.eye(3, dtype=bool)
    assert np.array_equal(table.codes, expected)
    assert table.of_codes(table.codes[::-1]) == table.combinations[::-1]


def test_values_are_found_in_codes():
    table = splits.FactorTable.of(ROWS, ("colour", "size"))
    layer, module = table.find("size", 1)
    assert np.flatnonzero(table.codes[:, layer, module]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="no factor 'weight'"):
        table.find("weight", 1)
    with pytest.raises(ValueError, match="size is never 7"):
        table.find("size", 7)


@pytest.mark.parametrize(
    ("table", "factors", "mistake"),
    [
        ([], None, "no combinations"),
        ([()], None, "one value of every factor"),
        ([(1, 2), (1,)], None, "one value of every factor"),
        ({"a": [1, 2], "b": [1]}, None, "equally long.*a: 2, b: 1"),
        ([(1, 2)], ("a",), "2 factors need as many different names"),
        ([(1, 2)], ("a", "a"), "different names"),
        (["red disc", "red ring"], None, "'red disc' is no row"),
        ([{"red", "disc"}], None, "is no row"),
        ([{"a": 1, "b": 2}, (1, 2)], None, "is no row"),
        ([{"a": 1, "b": 2}, {"a": 1, "c": 2}], None, r"row 1 has the columns \['a', 'c'\]"),
        ({"a": "xy", "b": "zw"}, None, "column 'a' is 'xy', no sequence"),
        ({"a": [1, None], "b": [1, 2]}, None, "row 1 has no value in the column 'a'"),
        ({"a": [1, float("nan")], "b": [1, 2]}, None, "row 1 has no value in the column 'a'"),
        ({"colour": [1], "b": [1]}, ("color", "b"), "no column 'color': did you mean 'colour'"),
        ("table.doc", None, "its name ends in .csv"),
        ("nowhere.csv", None, "nowhere.csv cannot be read"),
        (7, None, "int is no table"),
    ],
)
def test_a_mistake_is_named(table, factors, mistake):
    with pytest.raises(ValueError, match=mistake):
        splits.FactorTable.of(table, factors)
