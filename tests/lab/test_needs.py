"""Trials that look at the networks of others, with real processes."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recombine.lab import LocalEngine, Store
from recombine.lab.registry import load
from recombine.lab.run import collect, execute, look_ahead, plan
from recombine.lab.tables import outlook_lines

HERE = Path(__file__).parent
TRAIN, LOOK = (str(HERE / f"{name}_study.py") for name in ("train", "look"))


def run(folder, *studies, workers=2, keep_earlier=False, **choices):
    """Run studies; what was to do for each, and how many trials failed."""
    plans = plan(list(studies), **choices)
    with Store.create(folder) as store:
        outlooks = look_ahead(plans, store, keep_earlier)
        failed = execute(plans, store, LocalEngine(workers), keep_earlier=keep_earlier)
    return outlooks, failed


def numbers(folder, study, **choices):
    """Everything that was measured, to the bit."""
    (planned,) = plan([study], **choices)
    with Store.open(folder) as store:
        results = collect(planned.study, planned.settings, store)
        assert (results.missing, results.failed, results.earlier) == (0, 0, 0)
        return {
            (r.condition.get("rate"), r.condition.get("power"), r.seed): (
                tuple(sorted(r.metrics.items())),
                r.read_curve("loss")[1].tobytes(),
                r.read_array("weight").tobytes(),
            )
            for r in results.records
        }


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """A store in which the looking study has been run, and nothing else."""
    folder = tmp_path_factory.mktemp("looked")
    (outlook,), failed = run(folder, LOOK)
    assert failed == 0
    # Two powers look at one network.
    assert [t.function for t in outlook.todo].count("train_study.py:trial") == 4
    assert len(outlook.todo) == 4 + 8
    return folder


def test_what_was_measured_in_training_belongs_to_those_who_look(looked):
    with Store.open(looked) as store:
        study = load(LOOK)
        results = collect(study, store.latest_settings(study.name), store)
        assert set(results.records[0].metrics) == {"final", "moment", "width", "inputs"}
        squares = results.metric("moment", power=2, rate=0.1)
        weights = results.array("weight", power=2, rate=0.1)
        assert squares == pytest.approx((weights**2).mean(axis=(1, 2)))
        assert (results.array("seen", power=2, rate=0.1) == weights).all()


def test_one_worker_sees_what_two_see(looked, tmp_path):
    run(tmp_path, LOOK, workers=1)
    assert numbers(tmp_path, LOOK) == numbers(looked, LOOK)


def test_what_a_study_needed_is_done_for_the_study_that_trains(looked, tmp_path):
    folder = shutil.copytree(looked, tmp_path / "store")
    before = {p: p.stat().st_mtime_ns for p in (folder / "networks").iterdir()}
    (outlook,), failed = run(folder, TRAIN)
    assert (outlook.todo, failed) == ([], 0)
    assert outlook_lines(outlook) == ["tests/train: 4 trials done before by tests/look"]
    assert {p: p.stat().st_mtime_ns for p in (folder / "networks").iterdir()} == before
    assert len(numbers(folder, TRAIN)) == 4


def test_a_study_that_looks_trains_nothing_that_is_trained(looked, tmp_path):
    run(tmp_path, TRAIN)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "networks").iterdir()}
    (outlook,), failed = run(tmp_path, LOOK)
    assert failed == 0
    assert len(outlook.todo) == 8
    assert {t.function for t in outlook.todo} == {"look_study.py:trial"}
    assert outlook_lines(outlook) == ["tests/look: 4 trials done before by tests/train"]
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "networks").iterdir()} == before
    assert numbers(tmp_path, LOOK) == numbers(looked, LOOK)


def test_a_network_that_was_deleted_is_trained_again_for_who_looks(looked, tmp_path):
    folder = shutil.copytree(looked, tmp_path / "store")
    sorted((folder / "networks").iterdir())[0].unlink()
    assert look_ahead(plan([LOOK]), Store.open(folder))[0].todo == []  # it has been looked at
    (again,) = look_ahead(plan([LOOK], assignments=["power=3"]), Store.open(folder))
    functions = [t.function for t in again.todo]
    assert functions.count("train_study.py:trial") == 1
    assert functions.count("look_study.py:trial") == 4


def test_a_trial_whose_training_fails_says_so(tmp_path):
    _, failed = run(tmp_path, LOOK, preset="smoke", assignments=["fault=raise"])
    assert failed == 2
    (planned,) = plan([LOOK], "smoke", assignments=["fault=raise"])
    with Store.open(tmp_path) as store:
        (failure,) = store.failures("tests/look", planned.settings)
    assert failure.reason.startswith("the trial that it needs did not finish: failed: RuntimeError")


def test_a_run_with_needs_that_is_killed_goes_on_to_the_same_numbers(tmp_path):
    choices = {"seeds": 2, "assignments": ["steps=20000", "power=2"]}
    killed = tmp_path / "killed"
    words = ["--seeds", "2", "--set", "steps=20000", "--set", "power=2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "recombine.cli", "run", LOOK, *words],
        env=os.environ | {"RECOMBINE_CHECKPOINT_SECONDS": "0", "RECOMBINE_STORE": str(killed)},
        stdout=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 120
    while not list(killed.glob("checkpoints/*/*/*.ckpt")):
        assert time.monotonic() < limit
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        time.sleep(0.02)

    run(killed, LOOK, **choices)
    run(tmp_path / "straight", LOOK, **choices)
    assert numbers(killed, LOOK, **choices) == numbers(tmp_path / "straight", LOOK, **choices)
    assert not any((killed / "checkpoints").iterdir())


@pytest.fixture
def copies(tmp_path):
    """The two studies in a folder of their own, run at preset smoke."""
    folder = tmp_path / "studies"
    folder.mkdir()
    for name in ("train", "look"):
        text = (HERE / f"{name}_study.py").read_text()
        # Modules of other tests have the first names.
        text = text.replace("train_study", "copied_train")
        (folder / f"copied_{name}.py").write_text(text)
    run(tmp_path / "store", str(folder / "copied_look.py"), preset="smoke")
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("copied_train", None)
    load.cache_clear()


def to_do(folder, keep_earlier=False):
    """The trials that are to do after an edit, by function, in a process of their own."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from recombine.lab import Store\n"
        "from recombine.lab.run import look_ahead, plan\n"
        "from recombine.lab.tables import outlook_lines\n"
        "folder = Path(sys.argv[1])\n"
        "plans = plan([str(folder / 'copied_look.py')], 'smoke')\n"
        "(o,) = look_ahead(plans, Store.open(folder.parent / 'store'), sys.argv[2] == 'True')\n"
        "print(' '.join(t.function.partition('.')[0] for t in o.todo))\n"
        "print(*outlook_lines(o), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), str(keep_earlier)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    todo, *lines = done.stdout.splitlines()
    return todo.split(), [line for line in lines if line]


def test_changed_code_makes_those_trials_run_again_that_can_reach_it(copies):
    assert to_do(copies) == ([], [])
    train, look = (copies / f"copied_{name}.py" for name in ("train", "look"))
    text = look.read_text()
    look.write_text(text.replace(".mean()", ".max()"))
    todo, (line,) = to_do(copies)
    assert todo == ["copied_look"]
    assert "1 trial done before by earlier code, run again now; --keep-earlier" in line
    todo, (line,) = to_do(copies, keep_earlier=True)
    assert todo == []
    look.write_text(text)
    train.write_text(train.read_text().replace("state.weight + noise", "state.weight - noise"))
    assert to_do(copies)[0] == ["copied_train", "copied_look"]
    look.write_text(text.replace("config.power", "(config.power + 1)"))
    assert to_do(copies, keep_earlier=True)[0] == []
    (look.parent / "unrelated.py").write_text("value = 1")
    look.write_text(text.replace("def trial(", "# A comment.\ndef trial("))
    assert to_do(copies)[0] == ["copied_train", "copied_look"]
