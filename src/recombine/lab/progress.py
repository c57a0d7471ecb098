"""Live progress of a run: bars on a terminal, otherwise a line every ten seconds."""

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.text import Text

from .engine import Compiling, Event, Finished, Progressed, Started
from .words import duration, printable

PLAIN_SECONDS = 10.0
DRAW_SECONDS = 0.25


class _TimeLeft(ProgressColumn):
    """The time left until all trials are finished."""

    def __init__(self, left: Callable[[], float | None]):
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        left = self._left() if task.fields.get("overall") else None
        return Text(f"{duration(left)} left" if left else "", style="cyan")


class _Bars(Progress):
    """Bars that are drawn by the clock, not for every trial that comes and goes."""

    _drawn = 0.0

    def refresh(self) -> None:
        if time.monotonic() - self._drawn > DRAW_SECONDS:
            self._drawn = time.monotonic()
            super().refresh()


class RunProgress:
    """Shows the events of a run; use it as a context manager and pass it as `on_event`."""

    def __init__(self, total: int, skipped: int, console: Console):
        self._console = console
        self._total, self._done, self._failed = total, 0, 0
        self._started = self._told = time.monotonic()
        self._rows: dict[str, TaskID] = {}
        self._shares: dict[str, float] = {}
        self._compiling: set[str] = set()
        self._notes: dict[str, str] = {}
        self._bars: Progress | None = None
        if console.is_terminal:
            self._bars = _Bars(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}", style="dim"),
                _TimeLeft(self._left),
                console=console,
                transient=True,
                refresh_per_second=1 / DRAW_SECONDS,
            )
            note = f"{skipped} done before" if skipped else ""
            self._overall = self._bars.add_task(
                "[bold]trials", total=total, note=note, overall=True
            )

    def __enter__(self) -> "RunProgress":
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars:
            self._bars.stop()

    def _left(self) -> float | None:
        """Seconds left, if the remaining trials take as long as the finished ones did."""
        done = self._done + sum(self._shares.values())
        passed = time.monotonic() - self._started
        return passed / done * (self._total - done) if done else None

    def __call__(self, event: Event) -> None:
        self._compiling.discard(event.trial.id)
        if isinstance(event, Progressed):
            self._shares[event.trial.id] = event.step / max(event.steps, 1)
        elif isinstance(event, Compiling):
            if event.begins:
                self._compiling.add(event.trial.id)
        elif isinstance(event, Finished):
            self._shares.pop(event.trial.id, None)
            self._done += 1
            if event.outcome.status != "done":
                self._failed += 1
                where = " ".join((event.trial.study, event.trial.label, f"seed {event.trial.seed}"))
                text = f"{event.outcome.status}: {where}: {event.outcome.reason}"
                self._console.print(printable(text), style="red", markup=False, soft_wrap=True)
        if self._bars:
            self._show(event, self._bars)
        elif time.monotonic() - self._told > PLAIN_SECONDS or self._done == self._total:
            self._told = time.monotonic()
            passed, left = self._told - self._started, self._left()
            tail = f", about {duration(left)} left" if left else ""
            tail += f", {len(self._compiling)} compiling" if self._compiling else ""
            self._console.print(
                f"{self._done} of {self._total} trials in {duration(passed)}{tail}", highlight=False
            )

    def _show(self, event: Event, bars: Progress) -> None:
        trial = event.trial
        if isinstance(event, Started):
            label = f" [dim]{escape(trial.label)}[/]" if trial.label else ""
            name = printable(f"{escape(trial.study)}{label} seed {trial.seed}")
            if trial.id in self._rows:  # its worker died: it starts again
                bars.remove_task(self._rows.pop(trial.id))
            self._rows[trial.id] = bars.add_task(name, total=None, note="starting")
        elif isinstance(event, Compiling):
            note = "compiling" if event.begins else self._notes.get(trial.id, "running")
            bars.update(self._rows[trial.id], note=note)
        elif isinstance(event, Progressed):
            note = "" if event.loss is None else f"loss {event.loss:.4g}"
            self._notes[trial.id] = note
            bars.update(self._rows[trial.id], completed=event.step, total=event.steps, note=note)
        else:
            bars.remove_task(self._rows.pop(trial.id))
            self._notes.pop(trial.id, None)
            note = f"{self._failed} failed" if self._failed else ""
            bars.update(self._overall, completed=self._done, note=note)
