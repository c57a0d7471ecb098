"""What predictions tell of an input that they should ignore."""

import jax
import numpy as np
import pytest

from recombine import probes
from recombine.probes._leakage import table_leakage

leakage = jax.jit(probes.leakage, static_argnums=1)
table_leakage = jax.jit(table_leakage)


def slow_leakage(table, firsts, seconds):
    """The sum of divergences, term by term."""
    firsts, seconds = firsts / firsts.sum(), seconds / seconds.sum()
    total = 0.0
    for p1, rows in zip(firsts, table, strict=True):
        mixed = sum(p2 * row for p2, row in zip(seconds, rows, strict=True))
        for p2, row in zip(seconds, rows, strict=True):
            terms = [p * np.log2(p / q) for p, q in zip(row, mixed, strict=True) if p > 0]
            total += p1 * p2 * sum(terms)
    return total


@pytest.fixture
def digits():
    """100 first labels, and 100 partners of each with all ten classes equally often."""
    rng = np.random.default_rng(0)
    first = rng.integers(10, size=(100, 1))
    second = np.stack([rng.permutation(np.repeat(np.arange(10), 10)) for _ in range(100)])
    return np.broadcast_to(first, second.shape).astype(np.int32), second.astype(np.int32)


def test_a_model_of_the_first_input_alone_leaks_nothing_at_all(digits):
    first, _ = digits
    assert leakage(first, 10) == 0


def test_a_model_of_the_second_input_alone_leaks_log2_of_the_classes(digits):
    _, second = digits
    assert leakage(second, 10) == pytest.approx(np.log2(10), abs=1e-5)


def test_a_model_that_takes_turns_leaks_one_bit(digits):
    first, second = digits
    assert leakage((first + second % 2) % 10, 10) == pytest.approx(1, abs=1e-6)


def test_rows_count_alike_by_hand():
    answers = np.array([[3, 3, 3, 3], [0, 1, 0, 1], [0, 1, 2, 3], [5, 5, 5, 1]], np.int32)
    quarter = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    expected = (0 + 1 + 2 + quarter) / 4
    assert leakage(np.tile(answers, (25, 25)), 10) == pytest.approx(expected, abs=1e-6)


def test_the_table_form_is_the_sum_of_divergences_of_its_definition(x64):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(4) / 2, size=(3, 5))
    for firsts, seconds in ((rng.random(3), rng.random(5)), (np.ones(3), np.ones(5))):
        found = table_leakage(table, firsts=firsts, seconds=seconds)
        assert found == pytest.approx(slow_leakage(table, firsts, seconds), abs=1e-12)


def test_a_correlated_second_input_does_not_count_as_leakage(x64):
    # Ŷ = X₁: in whatever way X₂ goes with X₁ in training, nothing leaks.
    table = np.broadcast_to(np.eye(3, 4)[:, None], (3, 5, 4))
    assert table_leakage(table, firsts=np.ones(3), seconds=np.ones(5)) == 0


def test_equal_rows_leak_nothing_and_never_less_than_nothing(x64):
    rows = np.random.default_rng(1).dirichlet(np.ones(4), size=(3, 1))
    table = np.broadcast_to(rows, (3, 5, 4))
    found = table_leakage(table, firsts=np.ones(3), seconds=np.ones(5))
    assert 0 <= found < 1e-12
