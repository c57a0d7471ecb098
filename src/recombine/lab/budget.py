"""How many updates fit into a time: some trials are timed for a few steps, the others follow."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import UserError
from .registry import load
from .settings import from_plain
from .study import Trial
from .trial import Recorder
from .words import count, duration

TIMED_STEPS = 60
"""Steps that are timed, after as many that compile."""
SAFETY = 1.2
"""By how much a trial may take longer than was timed."""
STEPS = tuple(int(first * 10**power) for power in (2, 3, 4) for first in (1, 1.5, 2, 3, 4, 5, 6, 8))
"""Numbers of updates that are planned: the same budget gives the same trials again."""
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Cost:
    """What a trial costs."""

    start: float
    """Seconds before and after its steps, with compiling."""
    step: float
    """Seconds per step."""

    def of(self, steps: int) -> float:
        return self.start + steps * self.step


@dataclass(frozen=True)
class Fit:
    """The updates that fit into a budget."""

    steps: int
    seconds: float
    """What all trials are expected to take."""
    timed: int
    """How many trials were timed."""


class _Timed(Exception):
    """Ends a trial that has been timed."""


class TimingRecorder(Recorder):
    """Takes a few steps of a trial, and ends it."""

    cost: Cost | None = None

    def __init__(self) -> None:
        super().__init__()
        self._started = time.perf_counter()

    def train(self, rule: Any, state: Any, steps: int, **options: Any) -> Any:
        from recombine.learning import train

        times = []
        # More than a hundred steps are compiled as those of a trial are.
        train(
            rule, state, 2 * TIMED_STEPS, every=TIMED_STEPS, chunk=TIMED_STEPS,
            on_chunk=lambda progress: times.append(time.perf_counter()),
        )  # fmt: skip
        step = (times[1] - times[0]) / TIMED_STEPS
        start = times[0] - self._started - TIMED_STEPS * step
        self.cost = Cost(max(start, 0.0), step)
        raise _Timed


def seconds_of(text: str) -> float:
    """A budget such as `30m`, `90s` or `2h` in seconds."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "m")
    try:
        found = float(number) * _UNITS[unit]
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UserError(f"--budget {text!r}: write a time such as 30m, 90s or 2h")
    return found


def timed(reference: str, trial: Trial) -> Cost:
    """What one trial of a study costs; `UserError` if it fails."""
    import jax

    study = load(reference)
    recorder = TimingRecorder()
    try:
        study.trial(from_plain(study.config, trial.config), jax.random.key(trial.seed), recorder)
    except _Timed:
        pass
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{trial.label}: {reason}") from None
    if recorder.cost is None:
        raise UserError(f"{trial.label} takes no steps: it cannot be fitted to a budget")
    return recorder.cost


def fit(
    reference: str,
    trials: Sequence[Trial],
    budget: float,
    *,
    seeds: int,
    workers: int,
    axes: tuple[str, str] = ("model", "task"),
    on_timed: Any = lambda trial, cost: None,
) -> Fit:
    """The most updates with which all trials take no longer than a budget.

    Every value of the first axis is timed with one value of the second, and the reverse; a step of
    another pair is taken to cost in proportion.

    **Arguments:**

    - `trials`: one of every condition.
    - `budget`: in seconds, with the time for timing.
    - `seeds`: how many seeds each condition has.
    - `workers`: how many trials run at a time.
    - `on_timed`: told of every trial that was timed.
    """
    began = time.perf_counter()
    by_place = {tuple(str(t.condition.get(axis)) for axis in axes): t for t in trials}
    first = next(iter(by_place))
    costs: dict[tuple[str, ...], Cost] = {}
    for place, trial in by_place.items():
        if place[0] == first[0] or place[1] == first[1]:
            costs[place] = timed(reference, trial)
            on_timed(trial, costs[place])
    base, timed_trials = costs[first], len(costs)
    for row, column in by_place:
        if (row, column) not in costs:
            one = costs.get((row, first[1]), base)
            other = costs.get((first[0], column), base)
            costs[row, column] = Cost(
                one.start + other.start - base.start, one.step * other.step / base.step
            )
    left = budget - (time.perf_counter() - began)

    def total(steps: int) -> float:
        # Of one condition, seeds share a compiled program.
        once = sum(max(cost.start, 0.0) for cost in costs.values())
        return SAFETY * (once + seeds * sum(c.step * steps for c in costs.values())) / workers

    fitting = [steps for steps in STEPS if total(steps) <= left]
    if not fitting:
        needed = total(STEPS[0]) + budget - left
        raise UserError(
            f"a budget of {duration(budget)} is too small: {count(len(by_place), 'condition')} with"
            f" {count(seeds, 'seed')} take at least {duration(needed)}; raise --budget, or lower"
            " --seeds"
        )
    return Fit(fitting[-1], total(fitting[-1]), timed_trials)
