"""Probes of factors, on activity and answers whose structure is known."""

import numpy as np
import pytest

from recombine import probes

SIZE = 5
GRID = np.stack([np.repeat(range(SIZE), SIZE), np.tile(range(SIZE), SIZE)], axis=1)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_sums_of_random_codes_are_additive_and_random_activity_is_not():
    codes = rng().normal(size=(2, SIZE, 30))
    H = codes[0][GRID[:, 0]] + codes[1][GRID[:, 1]]
    trained = np.abs(GRID[:, 0] - GRID[:, 1]) < 3
    found = probes.factor_codes(H, GRID, trained)
    assert found.additive == pytest.approx(1)
    assert found.additive_new == pytest.approx(1)
    assert found.sizes.sum() == pytest.approx(1)
    assert found.parallel == pytest.approx([1, 1])
    noise = probes.factor_codes(rng(1).normal(size=(25, 4000)), GRID, trained)
    assert noise.additive == pytest.approx(noise.additive_by_chance, abs=0.02)
    assert noise.additive_by_chance == pytest.approx(8 / 24)
    assert noise.additive_new < 0
    assert noise.parallel == pytest.approx([0, 0], abs=0.05)


def test_overlaps_are_those_of_the_spans():
    H = np.zeros((25, 6))
    H[:, 0], H[:, 1] = GRID[:, 0], GRID[:, 1]
    assert probes.factor_codes(H, GRID).overlaps == pytest.approx(np.eye(2))
    H[:, 1] = GRID[:, 1] / np.sqrt(2)
    H[:, 0] += GRID[:, 1] / np.sqrt(2)  # at 45 degrees
    found = probes.factor_codes(H, GRID)
    assert found.overlaps == pytest.approx(np.array([[1, 0.5], [0.5, 1]]))
    assert found.overlaps_by_chance == pytest.approx(np.full((2, 2), 1 / 6))


def test_a_code_of_combinations_is_read_out_of_familiar_ones_only():
    repeated = np.repeat(GRID, 8, axis=0)
    trained = (repeated.sum(axis=1) % 5) > 0
    by_heart = np.eye(25)[repeated @ [SIZE, 1]]
    found = probes.factor_decodability(by_heart, repeated, trained, rng=rng())
    assert found.familiar.min() > 0.8
    assert found.new.max() < 0.5
    apart = np.eye(SIZE)[repeated].reshape(len(repeated), -1)
    found = probes.factor_decodability(apart, repeated, trained, rng=rng())
    assert found.new.tolist() == [1, 1]
    assert found.guessing == pytest.approx([0.2, 0.2])


def test_answers_at_random_depend_on_nothing_and_right_ones_on_all_that_there_is():
    rows = np.repeat(GRID, 6, axis=0)
    found = [
        probes.factor_dependence(rng(s).integers(0, SIZE, len(rows)), rows, [1], rng=rng(s))
        for s in range(10)
    ]
    assert np.mean([one.bits for one in found]) > 0.3
    assert np.mean([one.told for one in found]) < 0.1
    right = probes.factor_dependence(rows[:, 1], rows, [1], rng=rng())
    assert right.told == pytest.approx(np.log2(SIZE))
    assert right.by_chance > 0.3
    other = probes.factor_dependence(rows[:, 1], rows, [0], rng=rng())
    assert other.told == 0


def test_both_factors_of_an_exclusive_or_are_needed():
    rows = np.stack([np.repeat([0, 1], 2), np.tile([0, 1], 2)], axis=1)
    answers = rows.sum(axis=1) % 2
    for given, bits in ((None, 1.0), ((), 0.0)):
        found = probes.factor_dependence(answers, rows, [0], given, rng=rng())
        assert found.bits == pytest.approx(bits, abs=1e-9)
    assert probes.factor_dependence(answers, rows, [0, 1], (), rng=rng()).told == pytest.approx(1)
