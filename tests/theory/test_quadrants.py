"""Closed forms of the plane with three trained quadrants, against the table and against draws."""

from fractions import Fraction as F

import numpy as np
import pytest

from recombine import splits, theory
from recombine.splits._information import entropy

DRAWS = 400_000


def sample(weights, seed=0):
    """Points and labels, drawn as the distribution is defined."""
    rng = np.random.default_rng(seed)
    p = np.ravel(weights) / np.sum(weights)
    y = np.stack(np.unravel_index(rng.choice(4, size=DRAWS, p=p), (2, 2)), axis=1)
    return y - rng.random((DRAWS, 2)), y


def within_three_errors(values, exact):
    values = np.asarray(values, float)
    assert values.mean() == pytest.approx(float(exact), abs=3 * values.std() / len(values) ** 0.5)


def test_all_values_are_those_of_the_table():
    found = theory.quadrant_values()
    h = entropy([1, 2])
    assert h == pytest.approx(0.9183, abs=5e-5)
    assert found.target_entropy == pytest.approx(h, abs=1e-12)
    assert found.second_information == pytest.approx(h - 2 / 3, abs=1e-12)
    assert found.second_information == pytest.approx(0.2516, abs=5e-5)
    assert found.covariances == (F(2, 9), F(-1, 9))
    assert found.logistic_step == (F(1, 4), F(-1, 12), F(-1, 6))
    assert found.logistic_accuracy == (F(1, 6), F(1, 2))
    assert found.least_squares == (F(24, 35), F(-4, 35), F(3, 7))
    assert found.least_squares_accuracy == (F(13, 16), 1 - F(25, 768))


@pytest.mark.parametrize(
    "weights", [theory.THREE_COMBINATIONS, theory.SECOND_AT_RANDOM, ((1, 2), (3, 4))]
)
def test_values_are_the_means_of_draws_within_three_standard_errors(weights):
    exact = theory.quadrant_values(weights)
    x, y = sample(weights)
    target = y[:, 0]
    centred = target - target.mean()
    for k in (0, 1):
        within_three_errors(centred * x[:, k], exact.covariances[k])
        within_three_errors((target - 0.5) * x[:, k], exact.logistic_step[k])
    within_three_errors(target - 0.5, exact.logistic_step[2])
    for information, signs in (
        (exact.target_entropy, x[:, 0]),
        (exact.second_information, x[:, 1]),
    ):
        seen = np.stack([target, signs > 0], axis=1).astype(int)
        table = splits.table_of_samples(seen, (2, 2))
        ratio = table / np.outer(table.sum(axis=1), table.sum(axis=0))
        terms = np.log2(ratio, where=ratio > 0, out=np.zeros((2, 2)))[tuple(seen.T)]
        error = max(terms.std() / DRAWS**0.5, 1 / DRAWS)
        assert splits.mutual_information(table, 0, 1) == pytest.approx(information, abs=3 * error)


@pytest.mark.parametrize("weights", [theory.THREE_COMBINATIONS, ((1, 2), (3, 4))])
def test_the_optimum_of_squared_errors_has_no_slope_in_draws(weights):
    exact = theory.quadrant_values(weights)
    x, y = sample(weights, seed=1)
    w1, w2, b = map(float, exact.least_squares)
    left = y[:, 0] - w1 * x[:, 0] - w2 * x[:, 1] - b
    for factor in (x[:, 0], x[:, 1], np.ones(DRAWS)):
        within_three_errors(left * factor, 0)


@pytest.mark.parametrize("combination", [(1, 1), (1, 0)])
def test_accuracies_are_those_of_draws(combination):
    exact = theory.quadrant_values()
    x = np.array(combination) - np.random.default_rng(2).random((DRAWS, 2))
    place = {(1, 1): 0, (1, 0): 1}[combination]
    for weights, accuracy, threshold in (
        (exact.logistic_step, exact.logistic_accuracy, 0),
        (exact.least_squares, exact.least_squares_accuracy, 0.5),
    ):
        w1, w2, b = map(float, weights)
        within_three_errors(w1 * x[:, 0] + w2 * x[:, 1] + b > threshold, accuracy[place])


def test_areas_by_hand():
    # The whole square, none of it, half of it by a diagonal, and a corner.
    one = F(1)
    for weights, area in (
        ((one, one, one), 1),
        ((-one, -one, -one), 0),
        ((one, -one, F(0)), F(1, 2)),
        ((one, one, -F(3, 2)), F(1, 8)),
    ):
        assert theory.linear_accuracy(weights).held_out == area


def test_a_second_input_at_random_has_no_part_in_any_of_it():
    found = theory.quadrant_values(theory.SECOND_AT_RANDOM)
    assert found.second_information == pytest.approx(0, abs=1e-12)
    assert found.covariances[1] == found.logistic_step[1] == found.least_squares[1] == 0
    assert found.least_squares_accuracy.held_out == found.least_squares_accuracy.seen


def test_negative_frequencies_are_refused():
    with pytest.raises(ValueError, match="frequencies of 0 or more"):
        theory.quadrant_values(((1, 1), (1, -1)))
