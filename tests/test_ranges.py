"""What settings may be."""

import math
from dataclasses import dataclass
from typing import Annotated

import pytest

from recombine._ranges import (
    Above,
    AtLeast,
    AtMost,
    Below,
    Count,
    Fraction,
    NotNegative,
    OrInfinite,
    Positive,
    Share,
    Whole,
    annotated_types,
    check_range,
    check_ranges,
)


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Count, [1, 7], [0, -1, 2**31]),
        (Whole, [0, 2**31 - 1], [-1]),
        (Positive, [1e-30, 3], [0, -1e-30, math.inf]),
        (NotNegative, [0, 2.5], [-0.1, math.nan]),
        (Share, [0, 1], [-0.1, 1.1]),
        (Fraction, [0, 0.99], [-0.1, 1]),
        (float, [-1e30, 0], [math.nan, math.inf, -math.inf]),
        (int, [-(2**31) + 1], [-(2**31)]),
        (Annotated[float, AtLeast(-1), AtMost(1)], [-1, 1], [-1.1, 1.1]),
        (Annotated[float, Above(2), Below(3)], [2.5], [2, 3]),
        (Annotated[float, Above(0), OrInfinite()], [math.inf], [-math.inf, math.nan]),
        (Count | None, [None, 1], [0]),
        (tuple[Count, ...], [(), (1, 2)], [(1, 0)]),
        (tuple[Count, Whole], [(1, 0)], [(0, 1)]),
        (bool, [False, True], []),
        (str, ["", "0"], []),
    ],
)
def test_a_range_takes_its_own_numbers_and_no_others(hint, good, bad):
    for value in good:
        check_range("it", value, hint)
    for value in bad:
        with pytest.raises(ValueError, match=r"^it=.* is (not|too|less|more)"):
            check_range("it", value, hint)


@dataclass(frozen=True)
class Config:
    layers: Count = 2
    rate: Positive | None = None


@dataclass(frozen=True)
class Deeper(Config):
    layers: int = 20
    rate: Annotated[float, AtLeast(0)] = 0.0


def test_another_default_keeps_the_range_and_another_range_replaces_it():
    assert annotated_types(Deeper)["layers"] == Count
    with pytest.raises(ValueError, match="layers=-3 is less than 1"):
        check_ranges(Deeper(layers=-3))
    check_ranges(Deeper())
    with pytest.raises(ValueError, match=r"rate=0\.0 is not above 0"):
        check_ranges(Config(rate=0.0))
