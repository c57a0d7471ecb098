"""The search for sample complexity, on losses whose crossings are known."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.probes import sample_search


@given(
    crossing=st.floats(0.5, 21.5), slope=st.floats(0.05, 3), tolerance=st.sampled_from([0.3, 0.05])
)
def test_a_power_law_is_crossed_within_the_tolerance(crossing, slope, tolerance):
    # Losses of a real number of samples: rounding matters below n = 10 only.
    A, target = 2 ** (crossing * slope), 1.0
    found = sample_search(lambda n: A * n**-slope, target, tolerance=tolerance)
    assert found.censored in ("no", "always")
    if crossing > 4:
        assert found.censored == "no"
        assert abs(math.log2(found.n) - crossing) <= tolerance + 0.1 * (crossing < 7)
    assert len(found.trace) <= 18


@given(crossing=st.floats(-5, 30), noise=st.integers(0, 10_000))
def test_the_bracket_never_widens_whatever_the_losses(crossing, noise):
    def loss(n):
        return 2.0 ** (crossing - math.log2(n)) + math.sin(noise * n)

    found = sample_search(loss, 1.0)
    widths = [step.high - step.low for step in found.trace]
    assert all(b <= a for a, b in pairwise(widths))
    assert all(1 <= step.n <= 2**22 for step in found.trace)
    assert len(found.trace) <= 18


def test_the_steps_are_those_of_a_search_by_hand():
    found = sample_search(lambda n: 2.0**13.1 / n, 1.0)
    # 12 is too few, 14 enough; then 13, 13.5, 13.25.
    assert [step.n for step in found.trace] == [4096, 16384, 8192, round(2**13.5), round(2**13.25)]
    assert found.trace[-1][2:] == (13, 13.25)
    assert found.n == 2**13.125
    assert found.censored == "no"
    assert found.reached


def test_a_target_that_is_never_reached_is_censored_at_the_cap():
    found = sample_search(lambda n: 2.0, 1.0)
    assert [step.n for step in found.trace] == [2**c for c in (12, 14, 16, 18, 20, 22)]
    assert found.censored == "never"
    assert not found.reached
    assert found.n == 2**22


def test_the_cap_is_tried_even_if_no_stride_ends_there():
    found = sample_search(lambda n: 0.0 if n == 8192 else 2.0, 1.0, largest=13.0)
    assert found.censored == "no"
    assert found.trace[1].n == 8192


def test_a_target_that_is_always_reached_is_censored_at_the_smallest():
    found = sample_search(lambda n: 0.0, 1.0)
    assert found.censored == "always"
    assert found.reached
    assert found.n == found.trace[-1].n == 1
    floored = sample_search(lambda n: 0.0, 1.0, smallest=7.0)
    assert floored.censored == "always"
    assert 2**7 < floored.n < 2**7.3


def test_with_a_peak_some_crossing_is_found_and_all_of_them_are_in_the_trace():
    def loss(n):  # below 1, a peak at 2^11, and below 1 from 2^12.6 on
        return 0.5 + 2 * math.exp(-((math.log2(n) - 11) ** 2))

    found = sample_search(loss, 1.0)
    crossings = [11 - math.sqrt(math.log(4)), 11 + math.sqrt(math.log(4))]
    assert min(abs(math.log2(found.n) - c) for c in crossings) < 0.3
    assert found.trace == tuple(step for step in found.trace if step.loss == loss(step.n))


def test_losses_that_are_not_numbers_reach_nothing():
    assert sample_search(lambda n: math.nan, 1.0).censored == "never"


def test_trainings_are_no_more_than_allowed():
    found = sample_search(lambda n: 2.0**13.1 / n, 1.0, evaluations=3, tolerance=1e-9)
    assert len(found.trace) == 3
    assert found.censored == "no"


@pytest.mark.parametrize(
    "options",
    [{"start": 23.0}, {"start": 1.0, "smallest": 2.0}, {"evaluations": 0}, {"tolerance": 0.0},
     {"stride": 0.0}],
)  # fmt: skip
def test_impossible_searches_are_refused(options):
    with pytest.raises(ValueError, match="must"):
        sample_search(lambda n: 1.0, 1.0, **options)
