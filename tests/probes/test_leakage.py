"""What predictions tell of an input that they should ignore."""

import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes


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
    return jnp.asarray(np.broadcast_to(first, second.shape)), jnp.asarray(second)


def test_a_model_of_the_first_input_alone_leaks_nothing_at_all(digits):
    first, _ = digits
    assert probes.leakage(first, 10) == 0


def test_a_model_of_the_second_input_alone_leaks_log2_of_the_classes(digits):
    _, second = digits
    assert probes.leakage(second, 10) == pytest.approx(np.log2(10), abs=1e-5)


def test_a_model_that_takes_turns_leaks_one_bit(digits):
    first, second = digits
    assert probes.leakage((first + second % 2) % 10, 10) == pytest.approx(1, abs=1e-6)


def test_rows_count_alike_by_hand():
    answers = jnp.array([[3, 3, 3, 3], [0, 1, 0, 1], [0, 1, 2, 3], [5, 5, 5, 1]])
    quarter = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    expected = (0 + 1 + 2 + quarter) / 4
    assert probes.leakage(answers, 6) == pytest.approx(expected, abs=1e-6)


def test_the_table_form_is_the_sum_of_divergences_of_its_definition(x64):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(4) / 2, size=(3, 5))
    firsts, seconds = rng.random(3), rng.random(5)
    found = probes.table_leakage(
        jnp.asarray(table), firsts=jnp.asarray(firsts), seconds=jnp.asarray(seconds)
    )
    assert found == pytest.approx(slow_leakage(table, firsts, seconds), abs=1e-12)
    uniform = slow_leakage(table, np.ones(3), np.ones(5))
    assert probes.table_leakage(jnp.asarray(table)) == pytest.approx(uniform, abs=1e-12)


def test_a_table_of_certain_answers_leaks_what_its_answers_leak(digits):
    first, second = digits
    answers = jnp.where(second < 4, first, second)
    table = jnp.eye(10)[answers]
    assert probes.table_leakage(table) == pytest.approx(float(probes.leakage(answers, 10)))


def test_a_correlated_second_input_does_not_count_as_leakage():
    # Ŷ = X₁; in training X₂ = X₁, so that Ŷ and X₂ share a bit. Nothing leaks.
    table = jnp.eye(2)[jnp.array([[0, 0], [1, 1]])]
    assert probes.table_leakage(table) == 0


def test_a_prediction_of_equal_rows_leaks_nothing_and_never_less_than_nothing():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(7), size=(20, 1)).astype(np.float32)
    found = probes.table_leakage(jnp.asarray(np.broadcast_to(rows, (20, 9, 7))))
    assert 0 <= found < 1e-6
