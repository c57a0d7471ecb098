"""What is said while a run is going on."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from recombine.lab import progress
from recombine.lab.engine import Compiling, Finished, Progressed, Started


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.seconds)
    return now


def said_of(events, clock, *, terminal=False):
    """The lines of a run of four trials, from pairs of seconds and event."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with progress.RunProgress(4, 0, console) as shown:
        for clock.seconds, event in events:
            shown(event)
    return console.file.getvalue().splitlines()


def trial(name):
    return SimpleNamespace(id=name, study="family/study", label="", seed=0)


def finished(name, status="done", reason=""):
    return Finished(trial(name), SimpleNamespace(status=status, reason=reason))


def test_running_trials_count_by_their_share(clock):
    events = [
        (0, Started(trial("a"), 0)),
        (20, Progressed(trial("a"), 10, 100, 0.5)),
        (40, Progressed(trial("a"), 50, 100, 0.4)),
        (80, finished("a")),
        (80, Started(trial("b"), 0)),
        (120, Progressed(trial("b"), 1, 2, None)),
    ]
    assert said_of(events, clock) == [
        "0 of 4 trials in 20 s, about 13 min left",
        "0 of 4 trials in 40 s, about 4 min 40 s left",
        "1 of 4 trials in 80 s, about 4 min left",
        "1 of 4 trials in 2 min, about 3 min 20 s left",
    ]


def test_a_trial_that_compiles_is_said_to(clock):
    events = [
        (0, Started(trial("a"), 0)),
        (1, Compiling(trial("a"), True)),
        (12, Started(trial("b"), 0)),
        (23, Progressed(trial("a"), 1, 2, 0.5)),
        (34, Compiling(trial("b"), True)),
        (45, Compiling(trial("b"), False)),
    ]
    lines = said_of(events, clock)
    assert [line.endswith(", 1 compiling") for line in lines] == [True, False, True, False]


def test_bars_say_when_a_trial_compiles_and_then_what_they_said_before(clock):
    def drawn(*events):
        return "\n".join(said_of([(0, Started(trial("a"), 0)), *events], clock, terminal=True)[-4:])

    begins, ends = (5, Compiling(trial("a"), True)), (6, Compiling(trial("a"), False))
    step = (5.5, Progressed(trial("a"), 1, 2, 0.25))
    assert "compiling" in drawn(begins)
    assert "running" in drawn(begins, ends)
    assert "loss 0.25" in drawn(begins, step)
    assert "loss 0.25" in drawn(begins, step, (6, Compiling(trial("a"), True)), (7, ends[1]))


def test_nothing_is_promised_before_anything_is_done(clock):
    assert said_of([(11, Started(trial("a"), 0))], clock) == ["0 of 4 trials in 11 s"]


def test_what_failed_is_named(clock):
    lines = said_of([(1, Started(trial("a"), 0)), (2, finished("a", "failed", "no data"))], clock)
    assert lines == ["failed: family/study  seed 0: no data"]


def test_bars_show_how_much_time_is_left(clock):
    events = [(0, Started(trial("a"), 0)), (60, Progressed(trial("a"), 1, 2, 0.25))]
    drawn = "\n".join(said_of(events, clock, terminal=True))
    assert "0/4" in drawn
    assert "7 min left" in drawn
    assert "loss 0.25" in drawn


def test_names_with_markup_or_half_a_surrogate_pair_are_shown_as_they_are(clock):
    hostile = SimpleNamespace(id="a", study="family/[/x] \ud800", label="K=[red]", seed=0)
    events = [
        (0, Started(hostile, 0)),
        (1, Finished(hostile, SimpleNamespace(status="failed", reason="[/y] \ud800"))),
    ]
    for terminal in (False, True):
        drawn = re.sub("\x1b.*?m", "", "\n".join(said_of(events, clock, terminal=terminal)))
        assert r"family/[/x] \ud800 K=[red] seed 0: [/y] \ud800" in drawn
        drawn.encode()


def test_bars_are_drawn_by_the_clock_not_by_the_trial(clock, monkeypatch):
    drawn = []
    monkeypatch.setattr(progress.Progress, "refresh", lambda self: drawn.append(clock.seconds))
    events = [(1 + i / 400, Started(trial(str(i)), 0)) for i in range(1000)]
    said_of(events, clock, terminal=True)
    assert 5 <= len(drawn) <= 12
