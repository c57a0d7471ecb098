"""A worker: a process that carries out trials one after another.

It reads jobs as lines of JSON on standard input and writes events as lines of JSON on standard
output, so it can be started by any engine on any machine that sees the store's folder.
"""

import base64
import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from .store import Outcome, write_arrays
from .study import Trial

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

    curves = {name: (array(x), array(y)) for name, (x, y) in document["curves"].items()}
    arrays = document["arrays"]
    return Outcome(
        **document
        | {"curves": curves, "arrays": arrays and (arrays[0], arrays[1], tuple(arrays[2]))}
    )


class _CompileClock:
    """Adds up the seconds that JAX spends tracing and compiling."""

    def __init__(self) -> None:
        import jax

        self.seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._add)

    def _add(self, event: str, duration_secs: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            self.seconds += duration_secs


def perform(
    trial: Trial, study_reference: str, folder: Path, clock: _CompileClock, listener: Any
) -> Outcome:
    """Carry out one trial. Exceptions become outcomes, too."""
    import jax

    from .errors import Diverged
    from .provenance import provenance
    from .registry import load
    from .settings import from_plain
    from .trial import Recorder

    started, compiled = time.perf_counter(), clock.seconds
    seconds_between = float(os.environ.get("RECOMBINE_CHECKPOINT_SECONDS", "5"))
    recorder = Recorder(folder / "checkpoints" / trial.id, listener, seconds_between)
    status, reason, arrays = "done", "", None
    try:
        study = load(study_reference)
        with jax.enable_x64(study.float64):
            config = from_plain(study.config, trial.config)
            study.trial(config, jax.random.key(trial.seed), recorder)
        if recorder.arrays:
            arrays = write_arrays(folder, trial.id, recorder.arrays)
    except Diverged as error:
        status, reason = "diverged", str(error)
    except Exception as error:
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
    )


def _read_jobs() -> "SimpleQueue[dict[str, Any]]":
    """Jobs from standard input. When it closes, the engine has ended, and this process exits."""
    jobs: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            jobs.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return jobs


def main() -> None:
    """Serve jobs until standard input closes."""
    jobs = _read_jobs()
    # Only events go to the original standard output; everything printed goes to the log.
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def send(**event: Any) -> None:
        events.write(json.dumps(event) + "\n")

    clock = _CompileClock()
    send(event="ready")
    while True:
        job = jobs.get()
        trial = Trial(**job["trial"])
        reported = 0.0

        def listener(step: int, steps: int, loss: float | None, trial=trial) -> None:
            nonlocal reported
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                send(event="progress", trial=trial.id, step=step, steps=steps, loss=loss)

        outcome = perform(trial, job["study"], Path(job["store"]), clock, listener)
        send(event="finished", trial=trial.id, outcome=encode_outcome(outcome))


if __name__ == "__main__":
    main()
