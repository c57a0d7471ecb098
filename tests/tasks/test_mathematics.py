"""Questions about numbers: their answers by exact arithmetic, and how large numbers are."""

import re
from fractions import Fraction
from random import Random

import pytest

from recombine import tasks
from recombine.tasks._mathematics import (
    _DIFFERENCES,
    _DISTANCES,
    _PLACES,
    _SUMS,
    add_or_sub_question,
    place_value_question,
)

PLACES = tasks.Mathematics("place_value").pairs(train=300, iid=50, ood=50)
SUMS = tasks.Mathematics("add_or_sub").pairs(train=600, iid=50, ood=50)
NUMBER = r"(-?\d+(?:\.\d+)?)"


def exact(question):
    """The answer to a sum or a difference, by fractions."""
    for template in (*_DISTANCES, *_DIFFERENCES, *_SUMS):
        pattern = re.escape(template).replace(r"\{p\}", NUMBER).replace(r"\{q\}", NUMBER)
        if match := re.fullmatch(pattern, question):
            one, other = map(Fraction, match.groups())
            if template in _DISTANCES:
                return abs(one - other)
            if template in _SUMS:
                return one + other
            first_is_p = template.index("{p}") < template.index("{q}")
            return one - other if first_is_p else other - one
    raise AssertionError(question)


def test_sums_and_differences_are_exact():
    for question, answer in [pair for part in SUMS.values() for pair in part]:
        assert Fraction(answer) == exact(question)
        assert "E" not in answer
        assert not re.search(r"\.\d*0$", answer)
        assert answer != "-0"
        assert len(question) <= 160
        assert len(answer) <= 30


def test_all_templates_occur():
    rng = Random(0)
    shapes = {re.sub(NUMBER, "N", add_or_sub_question(8.0, rng)[0]) for _ in range(1500)}
    templates = (*_SUMS, *_DIFFERENCES, *_DISTANCES)
    assert {re.sub(r"\{.\}", "N", template) for template in templates} <= shapes | {"NN"}


def test_digits_are_those_at_their_places():
    for question, answer in [pair for part in PLACES.values() for pair in part]:
        place, number = re.fullmatch(r"What is the (.+) digit of (\d+)\?", question).groups()
        assert answer == number[-1 - _PLACES.index(place)]


def test_every_place_has_the_published_name():
    asked = {place_value_question(4.0, Random(i))[0].split(" digit")[0] for i in range(300)}
    names = "units", "tens", "hundreds", "thousands"
    assert {f"What is the {name}" for name in names} <= asked
    assert _PLACES[4:7] == ("ten thousands", "hundred thousands", "millions")


def test_numbers_of_the_test_are_larger_than_those_of_training():
    def digits(part):
        return [len(re.search(r"\d+", question)[0]) for question, _ in PLACES[part]]

    assert max(digits("train")) <= 11
    assert max(digits("iid")) <= 9
    assert sum(n == 12 for n in digits("ood")) > 30
    assert max(digits("ood")) <= 13


def test_questions_differ_and_depend_on_the_seed():
    questions = [question for part in SUMS.values() for question, _ in part]
    assert len(set(questions)) == len(questions)
    task = tasks.Mathematics("add_or_sub")
    one, same, other = (task.pairs(train=9, iid=2, ood=2, seed=s) for s in (1, 1, 2))
    assert one == same != other
    assert [len(part) for part in one.values()] == [9, 2, 2]


def test_inputs_are_characters():
    found = tasks.Mathematics("place_value", (3.0, 4.0), (4.0, 4.0), (5.0, 6.0)).translations(
        train=30, iid=5, ood=5
    )
    assert found.words == found.symbols
    assert all(len(word) == 1 for word in found.words.words)
    assert found.longest("ood")[1] == 1


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="unknown module 'mul': place_value or add_or_sub"):
        tasks.Mathematics("mul")
    with pytest.raises(ValueError, match=r"ood_entropy=\(9, 8\) must rise"):
        tasks.Mathematics("place_value", ood_entropy=(9.0, 8.0))
    with pytest.raises(ValueError, match="there are not 500 questions of entropy 1"):
        tasks.Mathematics("place_value", (1.0, 1.0)).pairs(train=1500, iid=1, ood=1)
