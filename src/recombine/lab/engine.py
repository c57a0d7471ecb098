"""Engines carry out trials. `LocalEngine` is a pool of processes on this machine."""

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from .._folders import cache_folder
from . import lines
from .outcome import Outcome
from .provenance import provenance
from .schedule import Schedule
from .study import Trial
from .words import duration
from .worker import decode_outcome

ROUND_SECONDS = 0.5
"""How often workers and their log are looked at, whether or not anything is heard of them."""
START_SECONDS = 60.0
"""How long a worker may take to start, on top of a trial's time limit."""
LOG_BYTES = 16 << 20
"""How large the workers' log may be from one look to the next; its end is kept."""


@dataclass(frozen=True)
class Job:
    """A trial to carry out, with its study and store."""

    trial: Trial
    study: str
    """A registered name or a file, as [`recombine.lab.registry.load`][] takes it."""
    store: Path


@dataclass(frozen=True)
class Started:
    trial: Trial
    worker: int


@dataclass(frozen=True)
class Compiling:
    """A program of a trial begins to be compiled, or is compiled."""

    trial: Trial
    begins: bool


@dataclass(frozen=True)
class Progressed:
    trial: Trial
    step: int
    steps: int
    loss: float | None


@dataclass(frozen=True)
class Finished:
    trial: Trial
    outcome: Outcome


Event = Started | Compiling | Progressed | Finished


class Engine(Protocol):
    """Carries out jobs, in any order, and yields events."""

    @property
    def workers(self) -> int:
        """The number of trials carried out at the same time."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Event]:
        """Carry out `jobs`. Every job yields one `Finished`, also if it fails."""


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


WORKER_FLAGS = (
    "--xla_cpu_multi_thread_eigen=false",
    # A trial's setup is many small programs that run once: compiling them well costs ten times as
    # much as compiling them quickly. The training loop asks for full optimisation by itself.
    "--xla_backend_optimization_level=1",
)


def worker_environment() -> dict[str, str]:
    """One thread per worker: the numbers do not depend on how many workers there are."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {
        "XLA_FLAGS": " ".join(filter(None, (*WORKER_FLAGS, flags))),
        "NPROC": "1",  # the size of XLA's thread pool
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _environment() -> dict[str, str]:
    cache = {"JAX_COMPILATION_CACHE_DIR": str(cache_folder() / "xla")}
    return os.environ | worker_environment() | cache


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen
    channel: socket.socket
    job: Job | None = None
    shape: str = ""
    ready: bool = False
    since: float = field(default_factory=time.monotonic)
    """When it started; once it is ready, when it got its job."""
    arrived: lines.Lines = field(default_factory=lines.Lines)

    def stop(self, patience: float = 0) -> int:
        """End the process and those that it started; its exit code, which may be its own."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def receive(self, wait: bool = True) -> bytes:
        """What has arrived. Empty at the end, or where nothing has arrived and `wait` is false."""
        try:
            return self.channel.recv(1 << 18, 0 if wait else socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionResetError):
            return b""

    def rest(self) -> Iterator[dict[str, Any]]:
        """The messages that a stopped worker has left."""
        while data := self.receive(wait=False):
            yield from map(lines.decode, self.arrived.feed(data))


class LocalEngine:
    """A pool of processes with one thread each.

    Trials of one shape go to one worker one after another, so that their program is compiled
    once; a worker with none left of its shape takes from the others'.

    **Arguments:**

    - `workers`: how many; by default one per core.
    - `time_limit`: seconds that a trial may take before it is ended and recorded as failed.
    """

    def __init__(self, workers: int | None = None, time_limit: float | None = None):
        self._workers = workers or available_cores()
        self._time_limit = time_limit

    @property
    def workers(self) -> int:
        return self._workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Event]:
        return _Pool(jobs, self._time_limit).run(self._workers) if jobs else iter(())


class _Pool:
    """The workers that carry out `jobs`."""

    def __init__(self, jobs: Sequence[Job], time_limit: float | None):
        self._schedule = Schedule((job.trial.shape, job) for job in jobs)
        self._store = jobs[0].store.resolve()
        self._time_limit = time_limit
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()

    def run(self, workers: int) -> Iterator[Event]:
        try:
            for number in range(min(workers, len(self._schedule))):
                yield self._hire(number)
            looked = time.monotonic()
            while any(worker.job for worker in self._workers.values()):
                for key, _ in self._selector.select(ROUND_SECONDS):
                    yield from self._listen(key.data)
                if time.monotonic() - looked > ROUND_SECONDS:
                    yield from self._look_round()
                    looked = time.monotonic()
        finally:
            for worker in self._workers.values():
                worker.stop()
                worker.channel.close()
            self._selector.close()
            trim(self._log)

    @property
    def _log(self) -> Path:
        return self._store / "worker.log"

    def _hire(self, number: int) -> Started:
        """Start a worker and give it a job."""
        ours, theirs = socket.socketpair()
        # Jobs and events have a channel of their own: whatever prints goes to the log.
        with theirs, open(self._log, "ab") as log:
            process = subprocess.Popen(
                # -P: modules come from the environment, not from whatever folder this is.
                [sys.executable, "-P", "-m", "recombine.lab.worker",
                 str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                env=_environment(),
                # Ctrl-C goes to the engine, which stops its workers cleanly.
                start_new_session=True,
            )  # fmt: skip
        worker = self._workers[number] = _Worker(number, process, ours)
        self._selector.register(ours, selectors.EVENT_READ, worker)
        return self._give(worker)

    def _give(self, worker: _Worker) -> Started:
        """Hand `worker` the waiting job that suits it best."""
        taken = {w.shape for w in self._workers.values() if w.job is not None and w is not worker}
        worker.shape, job = self._schedule.take(worker.shape, taken)
        worker.job = job
        if worker.ready:
            worker.since = time.monotonic()
        message = {
            "trial": {f.name: getattr(job.trial, f.name) for f in fields(job.trial)},
            "study": job.study,
            "store": str(self._store),
        }
        with suppress(BrokenPipeError, ConnectionResetError):  # its end is heard on the channel
            worker.channel.sendall(lines.encode(message))
        return Started(job.trial, worker.number)

    def _listen(self, worker: _Worker) -> Iterator[Event]:
        data = worker.receive()
        if not data:
            yield from self._replace(worker, patience=5)
        for line in worker.arrived.feed(data):
            message, job = lines.decode(line), worker.job
            if message.get("event") == "ready":
                worker.ready, worker.since = True, time.monotonic()
            elif job is None or message.get("trial") != job.trial.id:
                continue  # of nothing that it was asked for
            elif message["event"] == "compiling":
                yield Compiling(job.trial, message["begins"])
            elif message["event"] == "progress":
                yield Progressed(job.trial, message["step"], message["steps"], message["loss"])
            elif message["event"] == "finished":
                worker.job = None
                # The next job goes out first: the worker need not wait for the store.
                following = self._give(worker) if self._schedule else None
                yield Finished(job.trial, decode_outcome(message["outcome"]))
                if following:
                    yield following

    def _look_round(self) -> Iterator[Event]:
        """See to workers that say nothing: late, or ended while a child holds their channel."""
        trim(self._log)
        for worker in list(self._workers.values()):
            if worker.process.poll() is not None:
                yield from self._replace(worker)
            elif self._time_limit is not None and worker.job is not None:
                grace = 0 if worker.ready else START_SECONDS
                if time.monotonic() - worker.since > self._time_limit + grace:
                    limit = duration(self._time_limit)
                    yield from self._replace(worker, f"it took longer than its limit of {limit}")

    def _replace(self, worker: _Worker, reason: str = "", patience: float = 0) -> Iterator[Event]:
        """End `worker`, say what became of its job, and put another in its place."""
        self._selector.unregister(worker.channel)
        del self._workers[worker.number]
        code = worker.stop(patience)
        if worker.job is not None:
            trial, outcome = worker.job.trial, not_run(reason or _ending(code))
            for message in worker.rest():
                if message.get("event") == "finished" and message.get("trial") == trial.id:
                    outcome = decode_outcome(message["outcome"])
            yield Finished(trial, outcome)
        worker.channel.close()
        if self._schedule:
            yield self._hire(worker.number)


def trim(log: Path) -> None:
    """Keep the end of a log that is too long. What is being written to it meanwhile may be lost."""
    with suppress(OSError), open(log, "r+b") as file:
        if file.seek(0, os.SEEK_END) > LOG_BYTES:
            file.seek(-LOG_BYTES // 2, os.SEEK_END)
            end = file.read(LOG_BYTES // 2)
            file.seek(0)
            file.write(b"(the beginning was left out)\n" + end)
            file.truncate()


def _ending(code: int) -> str:
    try:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    except ValueError:  # signals beyond the first 31 have no names
        how = f"signal {-code}"
    return f"the worker process ended by {how}; see worker.log in the store"


def not_run(reason: str) -> Outcome:
    """The outcome of a trial that did not come to an end of its own."""
    return Outcome("failed", reason, {}, {}, None, 0, 0.0, 0.0, provenance())


def _ray_engine(*arguments: Any, **options: Any) -> Engine:
    from .ray_engine import RayEngine  # Ray is an extra, and takes a while to load

    return RayEngine(*arguments, **options)


ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine, "ray": _ray_engine}
"""Each takes the number of workers and a time limit; some have options of their own."""
