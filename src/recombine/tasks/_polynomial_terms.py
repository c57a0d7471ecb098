"""Polynomials with whole coefficients, as their terms, and how they are written."""

from collections.abc import Mapping, Sequence
from random import Random

Powers = tuple[int, ...]
Polynomial = Mapping[Powers, int]
"""Coefficients by the powers of all variables; 0 is no coefficient."""


def added(terms: Sequence[tuple[Powers, int]]) -> dict[Powers, int]:
    """The sum of terms, without those that cancel."""
    found: dict[Powers, int] = {}
    for powers, coefficient in terms:
        found[powers] = found.get(powers, 0) + coefficient
    return {powers: c for powers, c in found.items() if c}


def derivative(polynomial: Polynomial, axis: int, order: int = 1) -> dict[Powers, int]:
    """The derivative by one variable, some times."""
    found = dict(polynomial)
    for _ in range(order):
        found = {
            (*powers[:axis], powers[axis] - 1, *powers[axis + 1 :]): c * powers[axis]
            for powers, c in found.items()
            if powers[axis]
        }
    return found


def written_terms(terms: Sequence[tuple[Powers, int]], names: Sequence[str]) -> str:
    """Terms one after another, as `-3*x**2 + y - 4`."""
    text = ""
    for powers, coefficient in terms:
        factors = [
            name if power == 1 else f"{name}**{power}"
            for name, power in zip(names, powers, strict=True)
            if power
        ]
        size = abs(coefficient)
        product = "*".join([str(size)] * (size != 1 or not factors) + factors)
        if not text:
            text = f"-{product}" if coefficient < 0 else product
        else:
            text += f" {'-' if coefficient < 0 else '+'} {product}"
    return text or "0"


def written_polynomial(polynomial: Polynomial, names: Sequence[str]) -> str:
    """A polynomial by falling powers."""
    return written_terms(sorted(polynomial.items(), reverse=True), names)


def split_number(number: int, parts: int, size: int, rng: Random) -> list[int]:
    """A number as a sum of numbers that are not 0, of about `size` and less.

    With one part it is the number; 0 cannot have one part alone.
    """
    if parts == 1:
        return [number]
    while True:
        found = [nonzero(size, rng) for _ in range(parts - 1)]
        if last := number - sum(found):
            return [*found, last]


def nonzero(largest: int, rng: Random) -> int:
    """A number between −largest and largest that is not 0."""
    return rng.choice((-1, 1)) * rng.randint(1, max(1, largest))
