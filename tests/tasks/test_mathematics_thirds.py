"""Questions of five modules, by difficulty; answers are found again by other means."""

import re
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from recombine import tasks
from recombine.tasks._mathematics_algebra import (
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    collect_question,
    differentiate_question,
    linear_1d_question,
    sort_question,
)
from recombine.tasks._mathematics_thirds import _MODULES
from recombine.tasks._polynomial_terms import derivative, split_number

FOUND = {
    name: tasks.MathematicsThirds(name).pairs(train=270, test=30)
    for name in tasks.MATHEMATICS_MODULES
}


def value(text, numbers):
    """The value of a polynomial, term by term, by exact arithmetic."""
    total = Fraction(0)
    for sign, term in re.findall(r"(^-|^|[+-] )([^ ]+)", text):
        product = Fraction(-1 if "-" in sign else 1)
        for factor in re.split(r"(?<!\*)\*(?!\*)", term):
            base, _, power = factor.partition("**")
            one = numbers[base] if base.isalpha() else Fraction(base)
            product *= one ** int(power or 1)
        total += product
    return total


def all_pairs(name):
    return [pair for part in FOUND[name].values() for pair in part]


def test_values_of_terms():
    numbers = {"x": Fraction(2), "y": Fraction(3)}
    assert value("-3*x**2*y + y - 4", numbers) == -36 + 3 - 4
    assert value("x", numbers) == 2
    assert value("0", numbers) == 0


@pytest.mark.parametrize("name", tasks.MATHEMATICS_MODULES)
def test_no_question_occurs_twice_and_all_are_short(name):
    questions = [question for question, _ in all_pairs(name)]
    assert len(set(questions)) == len(questions) == 300
    assert [len(FOUND[name][part]) for part in ("easy", "easy_test", "hard")] == [90, 10, 90]
    if name != "add_or_sub":
        assert max(map(len, questions)) <= LONGEST_QUESTION
        assert max(len(answer) for _, answer in all_pairs(name)) <= LONGEST_ANSWER


@pytest.mark.parametrize("name", tasks.MATHEMATICS_MODULES)
def test_hard_questions_have_more_digits(name):
    def digits(part):
        return sum(c.isdigit() for question, _ in FOUND[name][part] for c in question)

    assert digits("easy") < digits("medium") < digits("hard")


def test_solutions_solve_their_equations():
    for question, answer in all_pairs("linear_1d"):
        left, right, name = re.fullmatch(r"Solve (.*) = (.*) for (.)\.", question).groups()
        numbers = {name: Fraction(answer)}
        assert value(left, numbers) == value(right, numbers)
        other = {name: Fraction(answer) + 1}
        assert value(left, other) != value(right, other), "there is one solution"


def test_collected_terms_have_the_same_values_and_one_term_per_power():
    for question, answer in all_pairs("collect"):
        text = re.fullmatch(r"Collect the terms in (.*)\.", question).group(1)
        name = re.search("[a-z]", text).group()
        assert all(
            value(text, {name: Fraction(x)}) == value(answer, {name: Fraction(x)})
            for x in range(-2, 3)
        )
        powers = re.findall(r"[a-z](?:\*\*\d)?|(?<![*\d])\d+(?!\d*\*)", answer)
        assert len(set(powers)) == len(powers)


def test_derivatives_are_those_of_interpolated_differences():
    orders = {"second": 2, "third": 3}
    for question, answer in all_pairs("differentiate"):
        found = re.search(r" (?:of )?(\S.*?) (?:wrt|with respect to) (.)[.?]$", question)
        text, name = found.group(1).rpartition(" of ")[2], found.group(2)
        text = text.removeprefix("Differentiate ")
        order = next((n for word, n in orders.items() if word in question), 1)
        others = {c: Fraction(3) for c in set(re.findall("[a-z]", text + answer))}
        # A polynomial of degree 6 or less in one variable is known from seven values.
        at = [value(text, others | {name: Fraction(x)}) for x in range(7)]
        assert slope_at(at, order, 2) == value(answer, others | {name: Fraction(2)}), question


def slope_at(values, order, place):
    """A derivative of the polynomial through `values` at 0, 1, 2, ..."""
    coefficients = [Fraction(0)] * len(values)
    for i, one in enumerate(values):
        basis = [Fraction(one)]
        for j in range(len(values)):
            if j != i:
                shifted = [Fraction(0), *basis]
                scaled = [*(-j * c for c in basis), Fraction(0)]
                basis = [(a + b) / (i - j) for a, b in zip(shifted, scaled, strict=True)]
        coefficients = [a + b for a, b in zip(coefficients, basis, strict=True)]
    for _ in range(order):
        coefficients = [n * c for n, c in enumerate(coefficients)][1:]
    return sum(c * place**n for n, c in enumerate(coefficients))


def test_sorted_numbers_are_in_order():
    for question, answer in all_pairs("sort"):
        values = re.fullmatch(r"(?:Sort|Put) (.*) in (\w+) order\.", question)
        assert sorted(values.group(1).split(", ")) == sorted(answer.split(", "))
        numbers = [Fraction(text) for text in answer.split(", ")]
        falls = values.group(2) in ("descending", "decreasing")
        assert all((a > b) == falls and a != b for a, b in pairwise(numbers))


def test_derivatives_of_terms():
    polynomial = {(3, 1): 2, (0, 2): 5, (1, 0): 7}
    assert derivative(polynomial, 0) == {(2, 1): 6, (0, 0): 7}
    assert derivative(polynomial, 1, 2) == {(0, 0): 10}


@pytest.mark.parametrize("number", [0, 5, -300])
def test_parts_of_a_number_sum_to_it_and_are_not_0(number):
    for count in (2, 3, 5):
        parts = split_number(number, count, 9, Random(0))
        assert sum(parts) == number
        assert len(parts) == count
        assert all(parts)


@pytest.mark.parametrize(
    "ask", [linear_1d_question, differentiate_question, collect_question, sort_question]
)
def test_questions_are_the_same_for_one_seed(ask):
    assert ask(4.0, Random(3)) == ask(4.0, Random(3))


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="unknown module 'sum'"):
        tasks.MathematicsThirds("sum")
    with pytest.raises(ValueError, match="must rise"):
        tasks.MathematicsThirds("sort", (5.0, 3.0))


def test_a_module_that_runs_out_of_questions_is_named(monkeypatch):
    same = (lambda entropy, rng: ("1 + 1", "2"), (4.0, 16.0))
    monkeypatch.setitem(_MODULES, "add_or_sub", same)
    with pytest.raises(ValueError, match="there are not 2 easy questions; use fewer"):
        tasks.MathematicsThirds("add_or_sub").pairs(train=3, test=3)
