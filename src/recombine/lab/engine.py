"""Engines carry out trials. `LocalEngine` is a pool of processes on this machine."""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from .._folders import cache_folder
from .provenance import provenance
from .store import Outcome
from .study import Trial
from .worker import decode_outcome


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
class Progressed:
    trial: Trial
    step: int
    steps: int
    loss: float | None


@dataclass(frozen=True)
class Finished:
    trial: Trial
    outcome: Outcome


Event = Started | Progressed | Finished


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


def _environment() -> dict[str, str]:
    """One thread a worker: the numbers do not depend on how many workers there are."""
    flags = os.environ.get("XLA_FLAGS", "")
    ours = {
        "XLA_FLAGS": " ".join(filter(None, (*WORKER_FLAGS, flags))),
        "NPROC": "1",  # the size of XLA's thread pool
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder() / "xla"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return os.environ | ours


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen
    job: Job | None = None
    shape: str = ""
    unread: bytes = b""

    def stop(self, patience: float = 0) -> int:
        """Wait for the process to end, kill it if it does not, and return its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # a job that it never read
                pipe.close()
        return code


class LocalEngine:
    """A pool of processes with one thread each.

    Trials of one shape go to one worker one after another, so that their program is compiled
    once; a worker that has none left of its shape takes trials of other shapes.
    """

    def __init__(self, workers: int | None = None):
        self._workers = workers or available_cores()

    @property
    def workers(self) -> int:
        return self._workers

    def run(self, jobs: Sequence[Job]) -> Iterator[Event]:
        pending = list(jobs)
        if not pending:
            return
        log = pending[0].store / "worker.log"
        pool = [self._start(i, log) for i in range(min(self._workers, len(pending)))]
        selector = selectors.DefaultSelector()
        for worker in pool:
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        busy = 0
        try:
            for worker in pool:
                yield self._give(worker, pending, pool)
                busy += 1
            while busy:
                for key, _ in selector.select():
                    worker = key.data
                    data = os.read(key.fd, 1 << 20)
                    if not data:
                        selector.unregister(key.fileobj)
                        code = worker.stop(patience=5)
                        if worker.job is not None:
                            yield Finished(worker.job.trial, _died(code))
                            busy -= 1
                        if pending:
                            fresh = pool[worker.number] = self._start(worker.number, log)
                            selector.register(fresh.process.stdout, selectors.EVENT_READ, fresh)  # type: ignore[arg-type]
                            yield self._give(fresh, pending, pool)
                            busy += 1
                        continue
                    *lines, worker.unread = (worker.unread + data).split(b"\n")
                    for line in lines:
                        event = json.loads(line)
                        if event["event"] == "progress" and worker.job is not None:
                            yield Progressed(
                                worker.job.trial, event["step"], event["steps"], event["loss"]
                            )
                        elif event["event"] == "finished":
                            finished, worker.job = worker.job, None
                            assert finished is not None
                            # The next job goes out first: the worker need not wait for the store.
                            following = self._give(worker, pending, pool) if pending else None
                            busy -= following is None
                            yield Finished(finished.trial, decode_outcome(event["outcome"]))
                            if following:
                                yield following
        finally:
            selector.close()
            for worker in pool:
                worker.stop()

    def _start(self, number: int, log: Path) -> _Worker:
        with open(log, "ab") as stderr:
            process = subprocess.Popen(
                # -P: modules come from the environment, not from the current folder.
                [sys.executable, "-P", "-m", "recombine.lab.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_environment(),
                # Ctrl-C goes to the engine, which stops its workers cleanly.
                start_new_session=True,
            )
        return _Worker(number, process)

    def _give(self, worker: _Worker, pending: list[Job], pool: list[_Worker]) -> Started:
        """Hand `worker` the pending job that suits it best."""
        taken = {w.shape for w in pool if w.job is not None and w is not worker}
        own = [job for job in pending if job.trial.shape == worker.shape]
        free = [job for job in pending if job.trial.shape not in taken]
        job = (own or free or pending)[0]
        pending.remove(job)
        worker.job, worker.shape = job, job.trial.shape
        message = {
            "trial": {f.name: getattr(job.trial, f.name) for f in fields(job.trial)},
            "study": job.study,
            "store": str(job.store.resolve()),
        }
        assert worker.process.stdin is not None
        with suppress(BrokenPipeError):  # its end is read as the end of its output
            worker.process.stdin.write(json.dumps(message).encode() + b"\n")
            worker.process.stdin.flush()
        return Started(job.trial, worker.number)


def _died(code: int) -> Outcome:
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    reason = f"the worker process ended by {how}; see worker.log in the store"
    return Outcome("failed", reason, {}, {}, None, 0, 0.0, 0.0, provenance())


ENGINES = {"local": LocalEngine}
