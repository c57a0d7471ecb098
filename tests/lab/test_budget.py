"""A budget becomes a number of updates."""

from dataclasses import dataclass

import pytest

from recombine.lab import UserError, budget
from recombine.lab.registry import load


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("90s", 90), ("2h", 7200), ("5", 300), ("0.5m", 30)]
)
def test_a_budget_is_a_time(text, seconds):
    assert budget.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-3m", "0", "soon", "infm", "nan"])
def test_a_budget_that_is_no_time_is_refused(text):
    with pytest.raises(UserError, match="write a time such as 30m"):
        budget.seconds_of(text)


def test_a_trial_is_timed_for_a_few_steps_and_ended():
    (trial,) = load("compare/images").trials("smoke", overrides={"task": "hint"})
    cost = budget.timed("compare/images", trial)
    assert cost.start > cost.step > 0


@dataclass
class Place:
    condition: dict


def planned(monkeypatch, costs, seconds, **options):
    """The fit of trials whose costs are given by model and task."""
    seen = []

    def timed(reference, trial):
        seen.append(tuple(trial.condition.values()))
        return costs[seen[-1]]

    monkeypatch.setattr(budget, "timed", timed)
    trials = [Place({"model": model, "task": task}) for model, task in costs]
    found = budget.fit("a study", trials, seconds, **({"seeds": 1, "workers": 1} | options))
    return found, seen


def test_the_most_updates_that_fit_are_planned(monkeypatch):
    # A step of b costs three of a, a step of y two of x: b on y six, which is not timed.
    steps = {("a", "x"): 1e-3, ("a", "y"): 2e-3, ("b", "x"): 3e-3, ("b", "y"): None}
    costs = {place: step and budget.Cost(1.0, step) for place, step in steps.items()}
    found, seen = planned(monkeypatch, costs, 100.0)
    assert ("b", "y") not in seen
    assert found.timed == 3
    # 1.2 (4 + 12e-3 n) <= 100
    assert found.steps == max(n for n in budget.STEPS if 1.2 * (4 + 12e-3 * n) <= 99.9)
    twice, _ = planned(monkeypatch, costs, 100.0, seeds=2)
    assert twice.steps == max(n for n in budget.STEPS if 1.2 * (4 + 24e-3 * n) <= 99.9)
    assert planned(monkeypatch, costs, 100.0, seeds=2, workers=2)[0].steps >= found.steps


def test_a_budget_that_is_too_small_says_what_is_needed(monkeypatch):
    costs = {("a", "x"): budget.Cost(50.0, 1.0)}
    with pytest.raises(
        UserError, match="a budget of 60 s is too small: 1 condition with 1 seed"
    ) as said:
        planned(monkeypatch, costs, 60.0)
    assert "\n" not in str(said.value)


def test_planned_updates_are_multiples_of_ten():
    assert all(steps % 10 == 0 for steps in budget.STEPS)
    assert list(budget.STEPS) == sorted(set(budget.STEPS))
