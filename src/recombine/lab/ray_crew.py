"""The actors of Ray that carry out trials: what each is given, and what becomes of it."""

import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import checkpoint, lines
from .engine import (
    ROUND_SECONDS,
    Compiling,
    Event,
    Finished,
    Job,
    Progressed,
    Started,
    not_run,
    trim,
)
from .errors import UserError
from .provenance import provenance
from .ray_cluster import first_line, import_ray
from .ray_worker import File, News, RayWorker, Task
from .schedule import Schedule
from .words import duration
from .worker import decode_outcome

MOST_DEATHS = 3
"""How often a trial may lose its worker, with no new checkpoint between, before it has failed."""
BATCH_SECONDS = 0.5
"""How long the trials take, about, that a worker is given at a time."""
COUNT_SECONDS = 10.0
"""How often the cores of the cluster are counted: machines come and go."""


@dataclass
class _Hand:
    """A worker, as seen from here."""

    number: int
    actor: Any
    heard_on: Any
    """What is waited for: that it has started, or its news."""
    ready: bool = False
    shape: str = ""
    jobs: dict[str, Job] = field(default_factory=dict)
    """Those of its batch that have not finished, by trial."""
    size: int = 0
    """How many trials the batch had."""
    since: float = 0.0
    """When it got the batch."""
    pace: float = math.inf
    """Seconds that a trial of its last batch took."""


class Crew:
    """The workers that carry out `jobs`."""

    def __init__(
        self,
        jobs: Sequence[Job],
        most: int | None,
        time_limit: float | None,
        checkpoints: Path | None,
        copies: bool,
    ):
        self._ray = import_ray()
        self._schedule = Schedule((job.trial.shape, job) for job in jobs)
        self._left = len(jobs)
        self._store = jobs[0].store.resolve()
        self._most = most
        self._time_limit = time_limit
        self._shared = checkpoints
        self._arguments = (str(checkpoints) if checkpoints else None, copies)
        # One core each, and no restart by Ray: what a worker had to do is given to any other.
        self._actor = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(RayWorker)
        self._hands: dict[Any, _Hand] = {}
        self._hired = 0
        self._deaths: Counter[str] = Counter()
        self._alone: set[str] = set()
        """Trials that go on alone: their worker died in a batch, and any of it may be the cause."""
        self._false_starts = 0

    def run(self) -> Iterator[Event]:
        counted = looked = -math.inf
        try:
            while self._left:
                now = time.monotonic()
                if now - counted > COUNT_SECONDS:
                    counted, cores = now, self._cores()
                while len(self._hands) < min(cores, self._left):
                    self._hire()
                waited = list(self._hands)
                ready, _ = self._ray.wait(waited, num_returns=1, timeout=ROUND_SECONDS)
                for one in ready:
                    yield from self._listen(self._hands[one])
                if time.monotonic() - looked > ROUND_SECONDS:
                    looked = time.monotonic()
                    yield from self._look_round()
        finally:
            self._end()

    def _cores(self) -> int:
        """How many workers there may be."""
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        return max(1, min(cores, self._most or cores))

    def _hire(self) -> None:
        actor = self._actor.remote(*self._arguments)
        hand = _Hand(self._hired, actor, actor.ready.remote())
        self._hired += 1
        self._hands[hand.heard_on] = hand

    def _listen(self, hand: _Hand) -> Iterator[Event]:
        try:
            if not hand.ready:
                self._ray.get(hand.heard_on)
                hand.ready, self._false_starts = True, 0
                self._give(hand)
                return
            news = self._ray.get(next(hand.heard_on))
        except StopIteration:
            if len(hand.jobs) == hand.size:  # it had no room
                self._dismiss(hand)
                self._return(hand)
                return
            hand.pace = (time.monotonic() - hand.since) / hand.size
            if hand.jobs:
                yield from self._lose(hand, "it ended the thread that carried it out")
            else:
                self._give(hand)
            return
        except self._ray.exceptions.RayError as error:
            yield from self._lose(hand, first_line(error))
            return
        yield from self._receive(hand, news)

    def _give(self, hand: _Hand) -> None:
        """Hand out the waiting trials that suit a worker best; let it go if there are none."""
        del self._hands[hand.heard_on]
        if not self._schedule:
            self._leave([hand])
            return
        others = {other.shape for other in self._hands.values() if other.jobs}
        hand.shape, job = self._schedule.take(hand.shape, others)
        hand.jobs = {job.trial.id: job}
        most = 1 if job.trial.id in self._alone else self._batch_size(hand)
        while len(hand.jobs) < most and self._schedule.waiting(hand.shape):
            _, job = self._schedule.take(hand.shape, ())
            if job.trial.id in self._alone:
                self._schedule.put(hand.shape, job)
                break
            hand.jobs[job.trial.id] = job
        hand.size, hand.since = len(hand.jobs), time.monotonic()
        tasks = [Task(j.trial, j.study, self._files(j)) for j in hand.jobs.values()]
        hand.heard_on = hand.actor.work.options(num_returns="streaming").remote(tasks)
        self._hands[hand.heard_on] = hand

    def _batch_size(self, hand: _Hand) -> int:
        if self._time_limit is not None:  # the time is that of the batch
            return 1
        fair = math.ceil(len(self._schedule) / (2 * (len(self._hands) + 1)))
        return max(1, min(fair, int(BATCH_SECONDS / hand.pace)))

    def _files(self, job: Job) -> list[File]:
        """What a trial goes on from, and the networks that it looks at."""
        patterns = [f"networks/{job.trial.needs}.*"] if job.trial.needs else []
        if self._shared is None:
            patterns.append(f"checkpoints/{job.trial.id}/*/*.ckpt")
        return [
            File(str(path.relative_to(self._store)), path.read_bytes())
            for pattern in patterns
            for path in sorted(self._store.glob(pattern))
        ]

    def _receive(self, hand: _Hand, news: News) -> Iterator[Event]:
        if news.printed:
            with open(self._log, "a", errors="backslashreplace") as log:
                log.write(news.printed)
        for file in news.files:
            path = self._store / file.path
            if file.path.startswith("checkpoints"):
                checkpoint.keep(path, file.content)
                self._deaths[Path(file.path).parts[1]] = 0
            else:
                checkpoint.write_atomically(path, file.content)
                os.utime(path, ns=(file.changed, file.changed))
        for line in news.lines.splitlines():
            message = lines.decode(line)
            job = hand.jobs.get(message.get("trial", ""))
            if job is None:
                continue
            if message["event"] == "started":
                yield Started(job.trial, hand.number)
            elif message["event"] == "compiling":
                yield Compiling(job.trial, message["begins"])
            elif message["event"] == "progress":
                yield Progressed(job.trial, message["step"], message["steps"], message["loss"])
            elif message["event"] == "finished":
                outcome = decode_outcome(message["outcome"])
                # The package that a worker has is a copy of ours, outside of any repository.
                origin = outcome.provenance | {"commit": provenance()["commit"]}
                yield self._finish(hand, job, replace(outcome, provenance=origin))

    def _finish(self, hand: _Hand, job: Job, outcome: Any) -> Finished:
        del hand.jobs[job.trial.id]
        self._left -= 1
        if self._shared is not None and outcome.status == "done":
            shutil.rmtree(self._shared / job.trial.id, ignore_errors=True)
        return Finished(job.trial, outcome)

    def _lose(self, hand: _Hand, reason: str) -> Iterator[Event]:
        """A worker has died: let others have its trials, unless one has cost several workers."""
        self._dismiss(hand)
        if not hand.ready:
            self._false_starts += 1
            if self._false_starts > MOST_DEATHS * max(1, len(self._hands)):
                raise UserError(f"--engine ray: workers do not start: {reason}")
            return
        if hand.size == 1:
            for trial in hand.jobs:
                self._deaths[trial] += 1
        self._alone.update(hand.jobs)
        for job in list(hand.jobs.values()):
            if self._deaths[job.trial.id] >= MOST_DEATHS:
                why = f"its worker died {MOST_DEATHS} times; see worker.log in the store ({reason})"
                yield self._finish(hand, job, not_run(why))
        self._return(hand)

    def _return(self, hand: _Hand) -> None:
        """Let the trials of a worker that is no more wait for another one."""
        for job in hand.jobs.values():
            self._schedule.put(hand.shape, job)

    def _look_round(self) -> Iterator[Event]:
        """See to trials that take too long, and to the log."""
        trim(self._log)
        if self._time_limit is None:
            return
        for hand in list(self._hands.values()):
            if hand.jobs and time.monotonic() - hand.since > self._time_limit:
                self._dismiss(hand)
                (job,) = hand.jobs.values()
                limit = duration(self._time_limit)
                yield self._finish(hand, job, not_run(f"it took longer than its limit of {limit}"))

    @property
    def _log(self) -> Path:
        return self._store / "worker.log"

    def _dismiss(self, hand: _Hand) -> None:
        self._hands.pop(hand.heard_on, None)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(hand.actor)

    def _leave(self, hands: Sequence[_Hand]) -> None:
        """Let workers go that have nothing to do."""
        gone = [hand.actor.leave.remote() for hand in hands]
        if gone:
            self._ray.wait(gone, num_returns=len(gone), timeout=ROUND_SECONDS)
        for hand in hands:
            self._dismiss(hand)

    def _end(self) -> None:
        idle = [hand for hand in self._hands.values() if hand.ready and not hand.jobs]
        with suppress(self._ray.exceptions.RayError):
            self._leave(idle)
        for hand in list(self._hands.values()):
            self._dismiss(hand)
