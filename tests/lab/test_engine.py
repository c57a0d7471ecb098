"""The engine with real processes: the same numbers, whatever happens to them."""

import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from recombine.lab import LocalEngine, Store
from recombine.lab.engine import Finished, Job, Started
from recombine.lab.outcome import Outcome
from recombine.lab.registry import load
from recombine.lab.run import collect, execute, plan

STUDY = str(Path(__file__).parent / "walk_study.py")


def run(folder, workers=2, **choices):
    plans = plan([STUDY], **choices)
    with Store.create(folder) as store:
        failed = execute(plans, store, LocalEngine(workers))
        results = collect(plans[0].study, plans[0].settings, store)
        numbers = {
            (r.condition.get("rate"), r.seed): (
                tuple(r.metrics.values()),
                r.read_curve("loss")[1].tobytes(),
                r.read_array("state").tobytes(),
            )
            for r in results.records
        }
        return failed, numbers, store.failures("tests/walk", plans[0].settings)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The numbers of an uninterrupted run."""
    _, numbers, _ = run(tmp_path_factory.mktemp("straight"))
    assert len(numbers) == 6
    return numbers


def test_one_worker_gives_the_numbers_of_two(tmp_path, straight):
    assert run(tmp_path, workers=1)[1] == straight


def test_a_trial_run_alone_gives_the_same_numbers(tmp_path, straight):
    _, numbers, _ = run(tmp_path, seeds=1, seed_offset=2, assignments=["rate=0.2"])
    assert numbers[0.2, 2] == straight[0.2, 2]


def test_a_run_killed_in_the_middle_goes_on_to_the_same_numbers(tmp_path):
    choices = {"seeds": 2, "assignments": ["steps=5000"]}
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "recombine.cli",
            "run",
            STUDY,
            "--seeds",
            "2",
            "--set",
            "steps=5000",
        ],
        env=os.environ | {"RECOMBINE_CHECKPOINT_SECONDS": "0", "RECOMBINE_STORE": str(killed)},
        stdout=subprocess.DEVNULL,
    )
    # One trial is done, others are in the middle: both kinds must survive.
    wait_until(
        lambda: list(killed.glob("arrays/*")) and list(killed.glob("checkpoints/*/*/*.ckpt"))
    )
    workers = children(process.pid)
    process.kill()
    process.wait()
    assert workers
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert list(killed.glob("checkpoints/*/*/*.ckpt"))
    before = finished_trials(killed)
    assert len(before) < 4

    _, resumed, _ = run(killed, **choices)
    after = finished_trials(killed)
    _, expected, _ = run(tmp_path / "straight", **choices)
    assert resumed == expected
    assert len(after) == 4
    assert before <= after
    assert not any((killed / "checkpoints").iterdir())


def test_checkpoints_that_a_killed_run_left_of_a_finished_trial_are_removed(tmp_path):
    with Store.create(tmp_path) as store:
        trial = plan([STUDY], "smoke")[0].trials[0]
        store.write(trial, Outcome("done", "", {"final": 1.0}, {}, None, 1, 1.0, 0.0, {}))
        for name in (trial.id, "unfinished"):
            (store.checkpoints(name) / "train").mkdir(parents=True)
        execute([], store)
        assert [path.name for path in store.checkpoints("").iterdir()] == ["unfinished"]


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def finished_trials(folder: Path) -> set:
    """Identity, time of ending and running time: a trial that is run again has others."""
    with sqlite3.connect(folder / "store.sqlite") as database:
        rows = database.execute("SELECT id, finished, seconds FROM trials").fetchall()
    database.close()
    return set(rows)


def wait_until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.02)


def test_finished_trials_are_not_run_again(tmp_path):
    run(tmp_path, seeds=2)
    files = {p: p.stat().st_mtime_ns for p in (tmp_path / "arrays").iterdir()}
    run(tmp_path, seeds=3)
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "arrays").iterdir()}
    assert len(files) == 4
    assert len(after) == 6
    assert files.items() <= after.items()


def test_a_trial_whose_arrays_were_deleted_or_damaged_is_run_again(tmp_path):
    _, numbers, _ = run(tmp_path, seeds=2)
    gone, damaged, *others = sorted((tmp_path / "arrays").iterdir())
    gone.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    before = {p: p.stat().st_mtime_ns for p in others}
    assert run(tmp_path, seeds=2)[1] == numbers
    assert {p: p.stat().st_mtime_ns for p in others} == before


def test_an_edited_study_file_makes_new_trials(tmp_path):
    file = tmp_path / "study.py"
    file.write_text(Path(STUDY).read_text())
    before = plan([str(file)])[0].trials[0].id
    load.cache_clear()
    file.write_text(Path(STUDY).read_text().replace("tanh", "sin"))
    assert plan([str(file)])[0].trials[0].id != before


def test_an_idle_worker_that_dies_does_not_stop_the_run(tmp_path):
    with Store.create(tmp_path) as store:
        (planned,) = plan([STUDY], seeds=2, assignments=["rate=0.1", "steps=20000"])
        jobs = [Job(t, STUDY, store.folder) for t in planned.trials]
        short, long = jobs[0], jobs[1]
        quick = replace(short.trial, config={**short.trial.config, "steps": 100})
        finished, worker = [], {}
        for event in LocalEngine(2).run([replace(short, trial=quick), long]):
            if isinstance(event, Started):
                worker[event.trial.id] = event.worker
            if isinstance(event, Finished):
                finished.append(event.outcome.status)
                if event.trial == quick:  # its worker, started in this order, has nothing to do
                    os.kill(sorted(children(os.getpid()))[worker[quick.id]], 9)
        assert finished == ["done", "done"]


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("raise", "failed", "RuntimeError: asked to"),
        ("diverge", "diverged", "not finite at step 10"),
        ("die", "failed", "SIGKILL"),
    ],
)
def test_a_trial_that_goes_wrong_is_recorded_and_the_others_go_on(tmp_path, fault, status, reason):
    failed, _, failures = run(tmp_path, assignments=[f"fault={fault}"], seeds=1, preset="smoke")
    assert failed == 1
    (failure,) = failures
    assert (failure.seed, failure.status) == (0, status)
    assert reason in failure.reason
    failed, numbers, _ = run(tmp_path, seeds=1)
    assert failed == 0
    assert len(numbers) == 2
