"""A worker: a process that carries out trials one after another.

It reads jobs and writes events as lines of JSON on a channel of its own: a trial may print, and
finds nothing on standard input.
"""

import base64
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

import numpy as np

from . import lines
from .memory import make_room
from .outcome import Outcome
from .stored_files import ArrayFile, write_arrays, write_networks
from .study import Trial
from .words import printable

REPORT_SECONDS = 0.2


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON; curves are kept bit for bit."""

    def text(array: np.ndarray) -> str:
        return base64.b64encode(array.astype("<f8").tobytes()).decode()

    curves = {name: [text(x), text(y)] for name, (x, y) in outcome.curves.items()}
    return vars(outcome) | {"curves": curves}


def decode_outcome(document: dict[str, Any]) -> Outcome:
    """The inverse of [`recombine.lab.worker.encode_outcome`][]."""

    def array(text: str) -> np.ndarray:
        return np.frombuffer(base64.b64decode(text), "<f8")

    curves = {printable(n): (array(x), array(y)) for n, (x, y) in document["curves"].items()}
    arrays = document["arrays"]
    networks = (ArrayFile._make([*n[:-1], tuple(n[-1])]) for n in document.get("networks", ()))
    changes = {
        "reason": printable(document["reason"]),
        "metrics": {printable(name): value for name, value in document["metrics"].items()},
        "curves": curves,
        "arrays": arrays and ArrayFile._make([*arrays[:-1], tuple(arrays[-1])]),
        "networks": tuple(networks),
    }
    return Outcome(**document | changes)


class CompileClock:
    """Adds up the seconds that JAX spends tracing and compiling, and tells when it compiles."""

    def __init__(self) -> None:
        import jax

        self.seconds = 0.0
        self.tell: Callable[[bool], None] = lambda compiles: None
        """Called with True when a program begins to be compiled, with False when it is."""
        jax.monitoring.register_event_duration_secs_listener(self._add)

    def _add(self, event: str, duration_secs: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            self.seconds += duration_secs
        if event == "/jax/core/compile/jaxpr_to_mlir_module_duration":  # what comes before
            self.tell(True)
        elif event == "/jax/core/compile/backend_compile_duration":
            self.tell(False)


def perform(
    trial: Trial, study_reference: str, folder: Path, clock: CompileClock, listener: Any
) -> Outcome:
    """Carry out one trial. Exceptions become outcomes, too."""
    import jax

    from .errors import Diverged
    from .networks import KeptNetworks
    from .provenance import provenance
    from .registry import load
    from .trial import Recorder

    started, compiled = time.perf_counter(), clock.seconds
    seconds_between = float(os.environ.get("RECOMBINE_CHECKPOINT_SECONDS", "5"))
    trained = KeptNetworks(folder, trial.needs) if trial.needs else None
    recorder = Recorder(folder / "checkpoints" / trial.id, listener, seconds_between, trained)
    status, reason, arrays = "done", "", None
    networks: tuple[ArrayFile, ...] = ()
    try:
        study = load(study_reference)
        with jax.enable_x64(study.float64):
            function, config = study.work(trial)
            _call(function, config, jax.random.key(trial.seed), recorder)
            networks = write_networks(folder, trial.id, recorder.networks)
        if recorder.arrays:
            arrays = write_arrays(folder, trial.id, recorder.arrays)
    except Diverged as error:
        status, reason = "diverged", str(error)
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        status, reason = "failed", f"{type(error).__name__}: {error} ({where})"
        traceback.print_exc()
    done = status == "done"
    return Outcome(
        status=status,
        reason=reason,
        metrics=recorder.metrics if done else {},
        curves=recorder.curves if done else {},
        arrays=arrays,
        steps=recorder.steps,
        seconds=time.perf_counter() - started,
        compile_seconds=clock.seconds - compiled,
        provenance=provenance(),
        networks=networks if done else (),
    )


def carry_out(
    trial: Trial,
    study_reference: str,
    folder: Path,
    clock: CompileClock,
    send: Callable[[bytes], None],
) -> bytes:
    """Carry out one trial. Its progress is sent as lines; its outcome is the line returned."""
    reported = 0.0

    def listener(step: int, steps: int, loss: float | None) -> None:
        nonlocal reported
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            event = {"event": "progress", "trial": trial.id}
            send(lines.encode(event | {"step": step, "steps": steps, "loss": loss}))

    def finished(outcome: Outcome) -> bytes:
        event = {"event": "finished", "trial": trial.id, "outcome": encode_outcome(outcome)}
        return lines.encode(event)

    def compiling(begins: bool) -> None:
        send(lines.encode({"event": "compiling", "trial": trial.id, "begins": begins}))

    clock.tell = compiling
    outcome = perform(trial, study_reference, folder, clock, listener)
    try:
        return finished(outcome)
    except TypeError as error:  # a name that is no string
        return finished(replace(outcome, status="failed", reason=str(error), metrics={}, curves={}))


def _call(trial: Any, *arguments: Any) -> None:
    """Call a trial function. If it forks, only the process that was asked comes back from it."""
    asked = os.getpid()
    try:
        trial(*arguments)
    finally:
        if os.getpid() != asked:
            error = sys.exception()
            code = error.code if isinstance(error, SystemExit) else error is not None
            os._exit(code if isinstance(code, int) else 1)


def end_with(parent: int) -> None:
    """Let the kernel end this process when `parent` ends, whatever a trial is doing then."""
    if sys.platform == "linux":
        import ctypes

        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it was asked for
            os._exit(0)


def _read_jobs(channel: socket.socket) -> "SimpleQueue[dict[str, Any]]":
    """Jobs from the channel. When it closes, the engine is gone, and so is this process."""
    jobs: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        arrived = lines.Lines()
        while data := channel.recv(1 << 16):
            for line in arrived.feed(data):
                jobs.put(lines.decode(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return jobs


def _start_anew(descriptor: int, parent: int, job: dict[str, Any]) -> NoReturn:
    """Become a new process, with nothing in its memory, that begins with `job`."""
    with tempfile.TemporaryFile() as file:
        file.write(lines.encode(job))
        file.seek(0)
        for kept in (descriptor, file.fileno()):
            os.set_inheritable(kept, True)
        numbers = map(str, (descriptor, parent, file.fileno()))
        os.execv(sys.executable, [sys.executable, "-P", "-m", "recombine.lab.worker", *numbers])


def main(descriptor: int, parent: int, first: int | None = None) -> None:
    """Serve jobs from the channel `descriptor` until it closes or the process `parent` ends.

    The job in the file `first`, if there is one, comes before those.
    """
    end_with(parent)
    os.set_inheritable(descriptor, False)
    channel = socket.socket(fileno=descriptor)
    # A fork must neither speak for its parent nor keep the channel open after it.
    void = os.open(os.devnull, os.O_RDWR)
    os.register_at_fork(after_in_child=lambda: os.dup2(void, descriptor, inheritable=False))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    jobs = _read_jobs(channel)

    def send(line: bytes) -> None:
        channel.sendall(line)

    clock = CompileClock()
    send(lines.encode({"event": "ready"}))
    if first is not None:
        with os.fdopen(first, "rb") as file:
            jobs.put(lines.decode(file.read()))
    shape = None
    while True:
        job = jobs.get()
        trial = Trial(**job["trial"])
        if shape not in (None, trial.shape) and not make_room():
            _start_anew(descriptor, parent, job)
        shape = trial.shape
        send(carry_out(trial, job["study"], Path(job["store"]), clock, send))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
