"""Numbers written with the digits that are known."""

import math
from decimal import Decimal

EXACT_DIGITS = 6
"""Significant digits of a number that is known exactly."""
SINGLE_DIGITS = 4
"""Significant digits of a number that was measured once."""
SMALL, LARGE = -4, 9
"""Powers of ten below and above which numbers are written with an exponent."""


def number(value: float) -> str:
    """A number that is known exactly: six significant digits, and whole numbers in full."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{EXACT_DIGITS}g}"


def rounded(value: float, half: float | None = None) -> str:
    """A mean, up to the second digit of its uncertainty: `rounded(0.61234, 0.021)` is `0.612`.

    **Arguments:**

    - `half`: half of its interval: 0 if it is exact, None if it is not known.
    """
    value = float(value)
    if not math.isfinite(value):
        return f"{value:g}"
    if half is None or not math.isfinite(half):
        return number(value) if value.is_integer() else f"{value:.{SINGLE_DIGITS}g}"
    if half == 0:
        return number(value)
    return _written(value, _places(value, half), max(abs(value), half))


def interval(value: float, half: float | None = None) -> str:
    """A mean with half of its interval, `0.612 ± 0.021`; alone if it has none."""
    if not half or not math.isfinite(value) or not math.isfinite(half):
        return rounded(value, half)
    if half < abs(value) * 10.0**-EXACT_DIGITS:
        return number(value)
    last = max(_places(value, half), -math.floor(math.log10(half)))
    return f"{rounded(value, half)} ± {_written(half, last, max(abs(value), half))}"


def signed(value: float, half: float | None = None) -> str:
    """A difference with its sign: `+0.012`, `−0.3`, `0`."""
    text = rounded(value, half)
    if not math.isfinite(value) or not float(text):
        return "0" if math.isfinite(value) else text
    return f"−{text[1:]}" if text.startswith("-") else f"+{text}"


def last_digit(value: float) -> float:
    """One unit of the last digit of a number that is printed with two digits or more, else 0.

    0.01 for 0.59; 1,000 for 992,000; 0 for 0.4, of which further digits, all 0, may be left out.
    """
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    return 10.0**exponent if isinstance(exponent, int) and len(digits) > 1 else 0.0


def _places(value: float, half: float) -> int:
    """Decimal places up to the second digit of `half`, but no more digits than exact ones have."""
    two = 1 - math.floor(math.log10(half))
    most = EXACT_DIGITS - 1 - math.floor(math.log10(abs(value))) if value else two
    return min(two, most)


def _written(value: float, last: int, scale: float) -> str:
    """A number with so many decimal places, with an exponent if the larger number `scale` has."""
    if value and not SMALL <= math.floor(math.log10(scale)) <= LARGE:
        digits = math.floor(math.log10(abs(value))) + last
        return f"{value:.{digits}e}" if digits >= 0 else "0"
    text = f"{round(value, last):.{max(last, 0)}f}"
    return text if float(text) else text.removeprefix("-")
