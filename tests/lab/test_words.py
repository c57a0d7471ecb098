"""Counts and times in words."""

import pytest

from recombine.lab import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.123, "0.12 s"), (75, "75 s"), (185, "3 min 5 s"), (240, "4 min"), (4000, "1 h 6 min")],
)
def test_durations_are_written_in_their_unit(seconds, text):
    assert words.duration(seconds) == text


def test_one_is_not_many():
    assert [words.count(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
