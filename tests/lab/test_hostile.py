"""Whatever a trial does to its process, the run goes on and the store says what happened."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from recombine.lab import LocalEngine, Store, engine
from recombine.lab.engine import Finished, Job
from recombine.lab.run import collect, execute, plan

STUDY = str(Path(__file__).parent / "hostile_study.py")


def carry_out(folder, workers=1, time_limit=None, **choices):
    """The outcome of every trial, by what it did."""
    (planned,) = plan([STUDY], **choices)
    outcomes = {}

    def note(event):
        if isinstance(event, Finished):
            what = event.trial.config["act"], event.trial.config["size"]
            assert what not in outcomes
            outcomes[what] = event.outcome

    with Store.create(folder) as store:
        execute([planned], store, LocalEngine(workers, time_limit), note)
        results = collect(planned.study, planned.settings, store)
        kept = {r.config["act"]: {n: r.read_array(n) for n in ("who",)}
                for r in results.records if r.config["act"] == "fork"}  # fmt: skip
    return outcomes, kept


def test_what_a_trial_does_to_its_process_is_recorded_and_the_others_go_on(tmp_path):
    started = time.monotonic()
    outcomes, kept = carry_out(tmp_path, workers=2)
    assert time.monotonic() - started < 300  # the orphan would hold its channel for longer
    assert {what: outcome.status for what, outcome in outcomes.items()} == {
        ("die", 40): "failed",
        ("die", 11): "failed",
        ("leave", 0): "failed",
        ("leave", 3): "failed",
        ("nothing", 1): "done",
        ("read", 1): "failed",
        ("fork", 1): "done",
        ("raise_surrogate", 1): "failed",
        ("name_surrogate", 1): "done",
        ("name_tuple", 1): "failed",
        ("orphan", 600): "failed",
    }
    reasons = {what: outcome.reason for what, outcome in outcomes.items()}
    assert "ended by signal 40;" in reasons["die", 40]
    assert "ended by signal SIGSEGV;" in reasons["die", 11]
    assert "ended by signal SIGKILL;" in reasons["orphan", 600]
    assert reasons["leave", 3].startswith("SystemExit: 3")
    assert reasons["read", 1].startswith("EOFError")
    assert reasons["raise_surrogate", 1].startswith(r"RuntimeError: half a pair: \ud800")
    named = outcomes["name_surrogate", 1]
    assert list(named.metrics) == [r"half a pair: \ud800", "survived"]
    assert list(named.curves) == [r"half a pair: \ud800"]
    assert kept["fork"]["who"].tolist() == [False]
    assert not list((tmp_path / "arrays").glob(".*"))


def test_what_is_printed_before_a_worker_is_itself_is_no_event(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('good morning')\nprint('{}')")
    path = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    outcomes, _ = carry_out(tmp_path / "store", preset="smoke")
    assert outcomes["nothing", 1].status == "done"
    assert "good morning" in (tmp_path / "store" / "worker.log").read_text()


@pytest.mark.parametrize("act", ["sleep", "hold"])
def test_a_trial_that_hangs_is_ended_at_its_limit_and_the_next_one_runs(tmp_path, act):
    jobs = []
    for assignments in ([f"act={act}", "size=600"], []):
        (planned,) = plan([STUDY], "smoke", assignments=assignments)
        jobs += [Job(trial, STUDY, tmp_path) for trial in planned.trials]
    started = time.monotonic()
    # Enough for the trial that does nothing, also where many others want the processor.
    outcomes = [e.outcome for e in LocalEngine(1, 3.0).run(jobs) if isinstance(e, Finished)]
    assert time.monotonic() - started < 60
    assert [o.status for o in outcomes] == ["failed", "done"]
    assert outcomes[0].reason == "it took longer than its limit of 3 s"


def test_a_worker_that_holds_the_interpreter_ends_with_its_parent(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "recombine.cli", "run", STUDY, "--preset", "smoke",
         "--set", "act=hold", "--set", "size=600", "--store", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text().split())
        (worker,) = children.read_text().split()
        # Asleep in C: neither its threads nor its signal handlers run.
        wait_until(lambda: "nanosleep" in Path(f"/proc/{worker}/wchan").read_text())
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not Path(f"/proc/{worker}").exists(), 10)


def test_a_worker_whose_parent_ended_before_it_asked_ends_at_once():
    code = "from recombine.lab.worker import end_with; end_with(1); print('still here')"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == ""


def wait_until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.02)


def test_the_log_keeps_its_end_and_no_more_than_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LOG_BYTES", 100_000)
    outcomes, _ = carry_out(tmp_path, preset="smoke", assignments=["act=speak", "size=100000"])
    assert outcomes["speak", 100_000].status == "done"
    log = (tmp_path / "worker.log").read_bytes()
    assert 10_000 < len(log) <= 100_000
    assert log.endswith(b"x" * 99 + b"\n")


def test_a_long_curve_arrives_whole(tmp_path):
    size = 1_000_000
    started = time.process_time()
    outcomes, _ = carry_out(tmp_path, preset="smoke", assignments=["act=curve", f"size={size}"])
    assert time.process_time() - started < 5
    x, y = outcomes["curve", size].curves["long"]
    assert np.array_equal(x, np.arange(size))
    assert not y.any()


def test_a_worker_whose_memory_fills_up_starts_anew_with_the_next_shape(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOMBINE_WORKER_MEMORY", "700")
    jobs = []
    for size in (1, 1, 1, 1, 2, 3, 3):  # four of one shape, then others
        (planned,) = plan([STUDY], "smoke", seeds=1, seed_offset=len(jobs),
                          assignments=["act=hoard", f"size={size}"])  # fmt: skip
        jobs += [Job(trial, STUDY, tmp_path) for trial in planned.trials]
    outcomes = [e.outcome for e in LocalEngine(1).run(jobs) if isinstance(e, Finished)]
    assert [o.status for o in outcomes] == ["done"] * 7
    kept = [o.metrics["megabytes"] for o in outcomes]
    assert kept == [200, 400, 600, 800, 200, 400, 600]
    assert len({o.metrics["process"] for o in outcomes}) == 1
