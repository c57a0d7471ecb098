import numpy as np
import pytest

from recombine import probes


def one_by_one(columns, steps=6, channels=4):
    """Gates [steps, columns, channels]: a column is open at its step only, all others are shut."""
    gates = np.full((steps, len(columns), channels), 0.05)
    for column, step in enumerate(columns):
        if step is not None:
            gates[step, column] = [1, 1, 1, 0.2]
    return gates


def test_networks_that_use_a_third_of_their_channels_open_at_half_of_that():
    few = np.zeros((3, 2, 6))
    few[1:, 0, :2], few[2:, 1, :2] = 1, 1
    assert probes.half_open(few) == pytest.approx(1 / 6)
    np.testing.assert_array_equal(probes.opening_steps(few), [3, 3])
    np.testing.assert_array_equal(probes.opening_steps(few, level=1 / 6), [1, 2])


def test_a_column_opens_when_its_mean_gate_first_exceeds_a_half():
    gates = one_by_one([2, 0, None])
    gates[4, 0] = 1
    gates[1, 2, :2] = 1, 0.9  # a mean of 0.5
    np.testing.assert_array_equal(probes.opening_steps(gates), [2, 0, 6])
    np.testing.assert_array_equal(probes.opening_steps(gates, level=0.9), [4, 6, 6])


def test_items_of_a_batch_are_looked_at_by_themselves():
    batch = np.stack([one_by_one([2, 0]), one_by_one([1, 5])], axis=1)
    np.testing.assert_array_equal(probes.opening_steps(batch), [[2, 0], [1, 5]])


def test_columns_that_open_along_the_computation_have_correlation_1():
    words = ["B", "c", "b", "a", "3", "E"]
    distances = probes.application_distances(words, "3", "abc")
    np.testing.assert_array_equal(distances, [np.nan, 3, 2, 1, np.nan, np.nan])
    opening = probes.opening_steps(one_by_one([5, 3, 1, 0, 4, None]))
    assert probes.opening_order(opening, distances) == pytest.approx(1)
    assert probes.opening_order(-opening, distances) == pytest.approx(-1)


def test_the_correlation_is_of_ranks_and_a_column_that_never_opens_is_the_last():
    """Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4 have the correlation 4.5 / √(4.5 · 5)."""
    opening = probes.opening_steps(one_by_one([0, 1, 1, None]))
    found = probes.opening_order(opening, np.array([1.0, 2, 3, 50]))
    assert found == pytest.approx(4.5 / np.sqrt(4.5 * 5))


@pytest.mark.parametrize("columns", [[None] * 3, [0] * 3, [0]])
def test_without_an_order_there_is_no_correlation(columns):
    opening = probes.opening_steps(one_by_one(columns))
    assert np.isnan(probes.opening_order(opening, np.arange(len(columns))))


def test_distances_do_not_depend_on_the_direction_of_reading():
    np.testing.assert_array_equal(
        probes.application_distances(["101", "d", "a"], ("100", "101"), "ad"), [np.nan, 1, 2]
    )
    with pytest.raises(ValueError, match="one symbol, not 2: 3 a 3"):
        probes.application_distances(["3", "a", "3"], "3", "a")


@pytest.mark.parametrize(
    ("text", "heights"),
    [
        ("[MAX 2 [MIN 4 7 ] ]", {0: 2, 2: 1}),
        ("B [SM [MED [MIN 1 [MAX 2 4 ] ] 7 ] 5 [MED 8 5 ] ] E", {1: 4, 2: 3, 3: 2, 5: 1, 13: 1}),
        ("( ( 4 * 7 ) + 2 )", {0: 2, 1: 1}),
        ("7", {}),
    ],
)
def test_heights_are_of_nested_brackets(text, heights):
    found = probes.subtree_heights(text.split())
    assert {i: h for i, h in enumerate(found) if np.isfinite(h)} == heights


@pytest.mark.parametrize(
    ("text", "message"), [("[MAX 1 2", "is not closed"), ("1 ]", "was not opened")]
)
def test_brackets_that_do_not_match_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        probes.subtree_heights(text.split())
