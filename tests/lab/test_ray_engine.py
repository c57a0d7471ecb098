"""The engine on a cluster: the numbers of the local one, whatever happens to its machines."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="the Ray engine needs Ray: pip install 'recombine[ray]'")

from ray.cluster_utils import Cluster

from recombine.lab import LocalEngine, Store, UserError, files
from recombine.lab.engine import Finished, Progressed, Started
from recombine.lab.export import export_measurements
from recombine.lab.ray_cluster import RAY_SETTINGS
from recombine.lab.ray_engine import RayEngine
from recombine.lab.run import execute, plan

# Ray leaves sockets and files of its log to the interpreter's end.
pytestmark = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::FutureWarning",
    # Ray starts its processes by a fork, also where other tests have loaded JAX.
    "ignore:os.fork:RuntimeWarning",
    "ignore:Exception ignored in. <function _at_fork:pytest.PytestUnraisableExceptionWarning",
)  # fmt: skip

WALK = str(Path(__file__).parent / "walk_study.py")
LOOK = str(Path(__file__).parent / "look_study.py")
HOSTILE = str(Path(__file__).parent / "hostile_study.py")
LONG = {"preset": "laptop", "seeds": 2, "assignments": ["steps=20000", "rate=0.1"]}
"""Two trials that can be interrupted."""


@pytest.fixture(scope="module")
def cluster():
    """Two machines, of one core each, as far as Ray can tell."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in RAY_SETTINGS.items():
            patch.setenv(name, value)
        # A machine that is gone is missed sooner than after Ray's quarter of a minute.
        quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
        machines = Cluster(initialize_head=True, head_node_args=head)
        machines.add_node(num_cpus=1)
        yield machines
        machines.shutdown()


def carry_out(folder, study, engine, note=lambda event: None, **choices):
    """All measurements, and how many trials have failed."""
    plans = plan([study], **choices)
    with Store.create(folder) as store:
        failed = execute(plans, store, engine, note)
        export_measurements(store, folder / "all.csv")
    return (folder / "all.csv").read_bytes(), failed


@pytest.fixture(scope="module")
def long_walks(tmp_path_factory):
    return carry_out(tmp_path_factory.mktemp("local"), WALK, LocalEngine(2), **LONG)


def test_networks_go_to_the_trials_that_look_at_them(tmp_path, cluster):
    choices = {"preset": "smoke", "seeds": 2}
    expected = carry_out(tmp_path / "local", LOOK, LocalEngine(1), **choices)
    found = carry_out(tmp_path / "ray", LOOK, RayEngine(address=cluster.address), **choices)
    assert found == expected
    assert expected[1] == 0
    for folder in ("local", "ray"):
        assert list((tmp_path / folder / "networks").glob("*.npz"))


def workers_of(machine) -> list[int]:
    """The processes of our workers on a machine."""
    raylet = machine.all_processes["raylet"][0].process.pid
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    return [p for p in map(int, children)
            if Path(f"/proc/{p}/cmdline").read_bytes().startswith(b"ray::RayWorker")]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nonsense", "--address nonsense: write HOST:PORT, or auto"),
        ("ray://head:10001", "write HOST:PORT, or auto"),
        ("localhost:1", "no Ray cluster answers at localhost:1"),
        ("localhost:99999999", "no Ray cluster answers"),
    ],
)
def test_an_address_at_which_no_cluster_is_is_refused_at_once(address, message):
    with pytest.raises(UserError, match=message):
        RayEngine(address=address)


def test_without_ray_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        UserError, match=r"Ray is not installed: run pip install 'recombine\[ray\]'"
    ):
        RayEngine()


def test_the_users_files_are_found_where_they_were_copied_to(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "package").mkdir(parents=True)
    (here / "study.py").write_text("import neighbour_of_study\nfrom package_of_study import inside")
    (here / "neighbour_of_study.py").write_text("")
    (here / "package").rename(here / "package_of_study")
    (here / "package_of_study" / "__init__.py").write_text("")
    (here / "package_of_study" / "inside.py").write_text("")
    (here / "folder").mkdir()
    (here / "folder" / "other.py").write_text("")
    files.copy_with_neighbours(here / "study.py", there)
    copies = {str(p.relative_to(there)) for p in there.rglob("*.py")}
    names = "study.py", "neighbour_of_study.py"
    inside = "package_of_study/__init__.py", "package_of_study/inside.py"
    assert copies == {str(here.relative_to("/") / name) for name in (*names, *inside)}
    checksum = files.digest(here / "study.py")
    shutil.rmtree(here)
    monkeypatch.setattr(files, "_copies", there)
    assert files.digest(here / "study.py") == checksum
    assert files.load_module(here / "study.py").inside


def test_two_machines_give_the_numbers_of_one(tmp_path, cluster):
    study, choices = "neural-race/zero-shot", {"preset": "smoke"}
    expected, _ = carry_out(tmp_path / "local", study, LocalEngine(2), **choices)
    workers = set()

    def note(event):
        if isinstance(event, Started):
            workers.add(event.worker)

    engine = RayEngine(address=cluster.address)
    found, failed = carry_out(tmp_path / "ray", study, engine, note, **choices)
    assert (found, failed) == (expected, 0)
    assert workers == {0, 1}
    assert expected.count(b"\n") > 10


def test_what_trials_do_to_their_process_is_recorded_and_the_others_go_on(tmp_path, cluster):
    reasons = {}

    def note(event):
        if isinstance(event, Finished):
            reasons[event.trial.config["act"]] = event.outcome.status, event.outcome.reason

    acts = "nothing", "fork", "read", "raise_surrogate", "name_tuple", "orphan"
    choices = {"assignments": [f"act={','.join(acts)}", "size=60"]}
    engine = RayEngine(1, address=cluster.address)
    _, failed = carry_out(tmp_path, HOSTILE, engine, note, **choices)
    assert {act: status for act, (status, _) in reasons.items()} == {
        "nothing": "done", "fork": "done", "read": "failed", "raise_surrogate": "failed",
        "name_tuple": "failed", "orphan": "failed",
    }  # fmt: skip
    assert failed == 4
    assert reasons["orphan"][1].startswith("its worker died 3 times")
    assert r"half a pair: \ud800" in (tmp_path / "worker.log").read_text()


def test_a_trial_that_hangs_is_ended_at_its_limit_and_the_next_one_runs(tmp_path, cluster):
    outcomes = []

    def note(event):
        if isinstance(event, Finished):
            outcomes.append((event.trial.config["act"], event.outcome.reason))

    choices = {"assignments": ["act=hold,nothing", "size=600"]}
    carry_out(tmp_path, HOSTILE, RayEngine(1, 1.5, cluster.address), note, **choices)
    assert outcomes == [("hold", "it took longer than its limit of 1.5 s"), ("nothing", "")]


def test_checkpoints_go_to_a_folder_that_all_machines_have(tmp_path, cluster, monkeypatch):
    monkeypatch.setenv("RECOMBINE_CHECKPOINT_SECONDS", "0")
    common = tmp_path / "common"
    seen = set()

    def note(event):
        seen.update(path.parts[-3] for path in common.glob("*/*/*.ckpt"))
        assert not (tmp_path / "store" / "checkpoints").exists()

    engine = RayEngine(address=cluster.address, checkpoints=common)
    choices = {"seeds": 1, "assignments": ["rate=0.1"]}
    _, failed = carry_out(tmp_path / "store", WALK, engine, note, **choices)
    assert failed == 0
    assert len(seen) == 1
    assert not any(common.iterdir())


# Last, since a machine of the cluster dies in it.
@pytest.mark.parametrize("what", ["worker", "machine"])
def test_what_a_dead_worker_or_machine_had_begun_goes_on_elsewhere(
    tmp_path, cluster, long_walks, what, monkeypatch
):
    monkeypatch.setenv("RECOMBINE_CHECKPOINT_SECONDS", "0")
    other = cluster.list_all_nodes()[-1]
    starts: dict[str, list[int]] = {}
    dead = []

    def note(event):
        if isinstance(event, Started):
            starts.setdefault(event.trial.id, []).append(0)
        if isinstance(event, Progressed) and starts[event.trial.id][-1] == 0:
            starts[event.trial.id][-1] = event.step
        kept = {path.parts[-3] for path in (tmp_path / "checkpoints").glob("*/*/*.ckpt")}
        if not dead and len(kept) == 2:  # either machine has a trial to lose
            if what == "worker":
                dead.extend(workers_of(other))
                os.kill(dead[0], signal.SIGKILL)
            else:
                dead.append(other)
                cluster.remove_node(other, allow_graceful=False)

    found, failed = carry_out(tmp_path, WALK, RayEngine(address=cluster.address), note, **LONG)
    assert len(dead) == 1
    assert (found, failed) == (long_walks[0], 0)
    (begun,) = [steps for steps in starts.values() if len(steps) == 2]
    assert begun[1] > begun[0]  # from its checkpoint
    assert not any((tmp_path / "checkpoints").iterdir())
    assert not [p for p in (tmp_path / "arrays").iterdir() if p.name.startswith(".")]
