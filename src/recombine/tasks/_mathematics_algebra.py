"""Four modules of the Mathematics data set: equations, derivatives, sorting, collecting terms."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random

from ._mathematics import Pair, _integer, _number, written
from ._polynomial_terms import (
    Powers,
    added,
    derivative,
    nonzero,
    split_number,
    written_polynomial,
    written_terms,
)

LONGEST_QUESTION, LONGEST_ANSWER = 160, 30
_LETTERS = "abcdfghjklmnopqrstuvwxyz"
_ORDINALS = ("first", "second", "third")
_SOLVE = ("Solve {left} = {right} for {x}.",)
_FIRST_DERIVATIVE = (
    "Differentiate {p} with respect to {x}.", "Differentiate {p} wrt {x}.",
    "What is the derivative of {p} wrt {x}?", "Find the first derivative of {p} wrt {x}.",
    "What is the first derivative of {p} wrt {x}?",
)  # fmt: skip
_DERIVATIVE = (
    "What is the {nth} derivative of {p} wrt {x}?", "Find the {nth} derivative of {p} wrt {x}.",
    "What is the {nth} derivative of {p} with respect to {x}?",
)  # fmt: skip
_SORT = ("Sort {values} in {order} order.", "Put {values} in {order} order.")
_COLLECT = ("Collect the terms in {p}.",)


def _fits(question: str, answer: str) -> bool:
    return len(question) <= LONGEST_QUESTION and len(answer) <= LONGEST_ANSWER


def _largest(entropy: float) -> int:
    """The largest number of about so many digits, of either sign."""
    return math.ceil(10**entropy / 2)


def _shares(entropy: float, weights: Sequence[float], rng: Random) -> list[float]:
    """Entropy that is split at random, by a Dirichlet distribution, each part at least 1."""
    drawn = [rng.gammavariate(weight, 1) for weight in weights]
    return [max(1.0, entropy * one / sum(drawn)) for one in drawn]


def linear_1d_question(entropy: float, rng: Random) -> Pair:
    """An equation in one variable, whose solution is whole.

    ```python
    linear_1d_question(4.0, Random(0))  # a question such as "Solve 12*b - 3 = 9*b for b.", "1"
    ```
    """
    while True:
        name = rng.choice(_LETTERS)
        solution = _integer(max(1.0, entropy / 4), rng)
        rest = max(1.0, entropy - max(1.0, entropy / 4))
        of_coefficient = rest * rng.uniform(1 / 3, 2 / 3)
        slope = nonzero(_largest(of_coefficient), rng)
        # slope · x + offset = 0, with both as sums of terms on either side.
        numbers = {1: slope, 0: -slope * solution}
        terms = _expanded(numbers, 1, math.floor(1 + entropy / 2), rest - of_coefficient, rng)
        sides: tuple[list[tuple[Powers, int]], list[tuple[Powers, int]]] = ([], [])
        for powers, coefficient in terms:
            side = rng.randrange(2)
            sides[side].append((powers, -coefficient if side else coefficient))
        left, right = (written_terms(side, [name]) for side in sides)
        question = rng.choice(_SOLVE).format(left=left, right=right, x=name)
        if _fits(question, str(solution)):
            return question, str(solution)


def _expanded(
    numbers: dict[int, int], spare: int, most: int, entropy: float, rng: Random
) -> list[tuple[Powers, int]]:
    """Coefficients by power, each as several terms, in random order.

    **Arguments:**

    - `spare`: the fewest terms beyond those that are not 0.
    - `most`: the most terms in all, if it is not fewer than these.
    """
    present = [power for power, number in numbers.items() if number]
    least = len(present) + spare
    total = rng.randint(least, max(least, most))
    parts = dict.fromkeys(present, 1)
    for _ in range(total - len(present)):
        power = rng.choice(sorted(numbers))
        # What is 0 needs two terms, or none.
        parts[power] = parts.get(power, 1) + 1
    size = _largest(max(1.0, entropy))
    terms: list[tuple[Powers, int]] = [
        ((power,), term)
        for power, count in parts.items()
        for term in split_number(numbers[power], count, size, rng)
    ]
    rng.shuffle(terms)
    return terms


def collect_question(entropy: float, rng: Random) -> Pair:
    """A polynomial in one variable, of degree 1 to 3, with several terms of one power.

    ```python
    collect_question(3.0, Random(0))  # a question such as "Collect the terms in 3*h - 7*h + 2."
    ```
    """
    while True:
        name, degree = rng.choice(_LETTERS), rng.randint(1, 3)
        of_value, of_expansion = _shares(entropy, (2.0, 3.0), rng)
        powers = [degree, *(power for power in range(degree) if rng.random() < 0.5)]
        each = _shares(of_value, [1.0] * len(powers), rng)
        numbers = dict.fromkeys(range(degree + 1), 0)
        numbers |= {p: nonzero(_largest(e), rng) for p, e in zip(powers, each, strict=True)}
        least = len(powers) + 2
        terms = _expanded(numbers, 2, least + math.ceil(of_expansion / 2), of_expansion / 2, rng)
        answer = written_polynomial(added(terms), [name])
        question = rng.choice(_COLLECT).format(p=written_terms(terms, [name]))
        if _fits(question, answer):
            return question, answer


def differentiate_question(entropy: float, rng: Random) -> Pair:
    """A derivative of a polynomial in one to four variables, by one of them, once to three times.

    ```python
    differentiate_question(4.0, Random(1))  # "Find the first derivative of 3*x**2 - 1 wrt x.", ...
    ```
    """
    while True:
        names = rng.sample(_LETTERS, rng.randint(1, 4))
        axis, order = rng.randrange(len(names)), rng.randint(1, 3)
        count = rng.randint(1, 1 + math.ceil(entropy / 4))
        each = _shares(entropy, [1.0] * count, rng)

        def powers(lowest: int, highest: int, names=names, axis=axis) -> Powers:
            drawn = [rng.randint(0, 3) for _ in names]
            drawn[axis] = rng.randint(lowest, highest)
            return tuple(drawn)

        terms = [(powers(order, order + 3), nonzero(_largest(e), rng)) for e in each]
        # Some terms vanish.
        size = _largest(max(1.0, entropy / 2))
        vanish = rng.randint(0, 2)
        terms += [(powers(0, order - 1), nonzero(size, rng)) for _ in range(vanish)]
        polynomial = added(terms)
        shown = list(polynomial.items())
        rng.shuffle(shown)
        answer = written_polynomial(derivative(polynomial, axis, order), names)
        templates = _DERIVATIVE if order > 1 else _FIRST_DERIVATIVE
        question = rng.choice(templates).format(
            p=written_terms(shown, names), x=names[axis], nth=_ORDINALS[order - 1]
        )
        if _fits(question, answer) and answer != "0":
            return question, answer


def sort_question(entropy: float, rng: Random) -> Pair:
    """Three or more different numbers, to be put in order.

    Half of the questions have whole numbers alone; others have decimals and fractions, too.
    """
    while True:
        count = rng.randint(3, 3 + math.floor(entropy / 2))
        whole = rng.random() < 0.5
        kinds = [_whole] if whole else [_whole, _decimal, _rational]
        values = [rng.choice(kinds)(e, rng) for e in _shares(entropy, [1.0] * count, rng)]
        by_text = dict(values)
        if len({value for _, value in values}) < count:
            continue
        order = rng.choice(("ascending", "descending", "increasing", "decreasing"))
        falls = order in ("descending", "decreasing")
        ranked = sorted(by_text, key=lambda text: by_text[text], reverse=falls)
        question = rng.choice(_SORT).format(values=", ".join(t for t, _ in values), order=order)
        answer = ", ".join(ranked)
        if _fits(question, answer):
            return question, answer


Value = tuple[str, Fraction]


def _whole(entropy: float, rng: Random) -> Value:
    number = _integer(entropy, rng)
    return str(number), Fraction(number)


def _decimal(entropy: float, rng: Random) -> Value:
    number: Decimal = _number(entropy, rng)
    return written(number), Fraction(number)


def _rational(entropy: float, rng: Random) -> Value:
    of_numerator = rng.uniform(0, entropy)
    while True:
        numerator = _integer(max(1.0, of_numerator), rng)
        denominator = rng.randint(2, max(2, math.ceil(10 ** max(1.0, entropy - of_numerator))))
        if numerator and math.gcd(numerator, denominator) == 1:
            return f"{numerator}/{denominator}", Fraction(numerator, denominator)
