"""Numbers with the digits that are known."""

import math

import pytest

from recombine.lab.rounding import interval, last_digit, number, rounded, signed


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.61234, 0.021, "0.612 ± 0.021"),
        (112.098, 17.3, "112 ± 17"),
        (54321.0, 1234.0, "54300 ± 1200"),
        (0.9999, 0.0001, "0.99990 ± 0.00010"),
        (0.1, 4.0, "0.1 ± 4.0"),
        (5.04332e-10, 6.4e-10, "5.0e-10 ± 6.4e-10"),
        (-0.0001, 0.01, "0.000 ± 0.010"),
        (4.563457, 1e-12, "4.56346"),  # single precision has no more digits
        (4.563457, 0.0, "4.56346"),
        (44651544, 0.0, "44651544"),
        (0.333333, None, "0.3333"),
        (3, None, "3"),
        (0.333333, math.inf, "0.3333"),
        (math.nan, 0.1, "nan"),
        (math.inf, None, "inf"),
    ],
)
def test_a_mean_has_the_digits_that_its_interval_leaves(value, half, text):
    assert interval(value, half) == text
    assert rounded(value, half) == text.partition(" ± ")[0]


def test_differences_have_a_sign():
    assert [signed(v, 0.021) for v in (0.0612, -0.0612, 0.0001)] == ["+0.061", "−0.061", "0"]
    assert signed(-2.5) == "−2.5"


def test_exact_numbers_are_whole_or_have_six_digits():
    assert [number(v) for v in (3.0, 12345678.0, 2 / 3, 1e-9)] == [
        "3", "12345678", "0.666667", "1e-09",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "unit"), [(0.59, 0.01), (4.56346, 1e-5), (992000, 1000), (0.4, 0), (1.0, 0), (0, 0)]
)
def test_the_last_digit_is_told_from_two_digits_on(printed, unit):
    assert last_digit(printed) == pytest.approx(unit)
