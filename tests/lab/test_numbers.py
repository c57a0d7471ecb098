"""Our numbers beside the papers'."""

import numpy as np
import pytest

from recombine.lab.numbers import numbers
from recombine.lab.reference import Beside, Reference
from recombine.lab.results import Record, Results


def paper(value, uncertainty=None):
    return Reference("table-1", "", "", "", "", value, uncertainty, "", "12", "")


def results(values, preset="laptop"):
    """One trial of every seed and of both directions."""
    records = [
        Record(f"{seed}{direction}", {}, {"direction": direction}, seed, {"accuracy": value}, 0, 0,
               None, None)
        for seed, pair in enumerate(values)
        for direction, value in zip(("forward", "backward"), pair, strict=True)
    ]  # fmt: skip
    return Results("family/study", preset, {}, tuple(records))


def beside(value, **where):
    return Beside("accuracy", paper(value), lambda r: r.metric("accuracy", **where))


VALUES = [(0.60, 0.50), (0.62, 0.54), (0.61, 0.52)]


def test_seeds_counts_seeds_not_trials():
    (of_both,) = numbers([beside(0.5)], results(VALUES))
    assert of_both.seeds == 3
    means = np.mean(VALUES, axis=1)
    assert of_both.mean == pytest.approx(means.mean())
    # Student's t with two degrees of freedom, by hand
    assert of_both.half == pytest.approx(4.302653 * means.std(ddof=1) / np.sqrt(3), rel=1e-6)
    (of_one,) = numbers([beside(0.5, direction="forward")], results(VALUES))
    assert (of_one.seeds, of_one.ours_text) == (3, "0.610 ± 0.025")


@pytest.mark.parametrize(
    ("printed", "inside", "difference"),
    [
        (0.6, True, "+0.010"),
        (0.59, True, "+0.02"),
        (0.58, False, "+0.03"),
        (0.7, False, "−0.090"),
    ],
)
def test_the_paper_is_inside_our_interval_or_not(printed, inside, difference):
    (found,) = numbers([beside(printed, direction="forward")], results(VALUES))
    assert found.paper_inside is inside
    assert found.difference_text == difference


def test_a_number_without_spread_is_the_papers_if_its_digits_agree():
    def exact(value, printed):
        (found,) = numbers([beside(printed)], results([(value, value)] * 3))
        return found.paper_inside, found.difference_text

    assert exact(0.7071067, 0.7071067811865476) == (True, "0")
    assert exact(332551, 333000) == (True, "−449")
    assert exact(3.16213, 3.1622776601683795) == (False, "−0.000147660")
    assert exact(0.35, 0.4)[0] is False


def test_one_seed_has_no_interval():
    (found,) = numbers([beside(0.7)], results(VALUES[:1]))
    assert (found.seeds, found.half, found.paper_inside) == (1, None, None)
    assert found.ours_text == "0.55"


def test_at_preset_smoke_nothing_is_held_against_a_paper():
    assert numbers([beside(0.6)], results(VALUES, "smoke")) == []


def test_a_number_that_cannot_be_computed_does_not_hide_the_others():
    rows = [beside(0.5, direction="sideways"), beside(0.5, direction="forward")]
    assert [n.seeds for n in numbers(rows, results(VALUES))] == [3, 0]
