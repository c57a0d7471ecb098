import contextlib
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars
import pytest

from recombine.lab import Store, UserError, export
from recombine.lab.export import export_measurements
from recombine.lab.outcome import Outcome
from recombine.lab.study import Trial


def fill(store, trials=3, points=1_000):
    for seed in range(trials):
        curve = np.arange(points), np.random.default_rng(seed).normal(size=points)
        outcome = Outcome("done", "", {"error": seed / 3}, {"loss": curve}, None, 1, 1.0, 0.0, {})
        store.write(Trial("family/study", "laptop", {"K": 1}, {}, {"K": 1}, seed), outcome)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "store") as opened:
        fill(opened)
        yield opened


READ = {".csv": polars.read_csv, ".parquet": polars.read_parquet}


@pytest.mark.parametrize("suffix", READ)
def test_many_batches_make_the_table_of_one(store, tmp_path, monkeypatch, suffix):
    assert export_measurements(store, tmp_path / f"one{suffix}") == 3 * 1_001
    monkeypatch.setattr(export, "BATCH_ROWS", 100)
    assert export_measurements(store, tmp_path / f"many{suffix}") == 3 * 1_001
    one, many = (READ[suffix](tmp_path / f"{name}{suffix}") for name in ("one", "many"))
    assert one.equals(many)
    assert one["value"].to_list() == [row["value"] for row in store.measurements()]


@pytest.mark.parametrize("suffix", READ)
def test_an_empty_store_is_a_table_without_rows(tmp_path, suffix):
    with Store.create(tmp_path / "empty") as empty:
        assert export_measurements(empty, tmp_path / f"x{suffix}") == 0
    assert READ[suffix](tmp_path / f"x{suffix}").columns[-2:] == ["x", "value"]


@pytest.mark.parametrize("suffix", READ)
def test_two_exports_at_a_time_do_not_disturb_each_other(store, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(export, "BATCH_ROWS", 100)
    to, meet, failed = tmp_path / f"x{suffix}", threading.Barrier(2, timeout=30), []
    batches = export._batches

    def together(opened):
        for batch in batches(opened):
            with contextlib.suppress(threading.BrokenBarrierError):
                meet.wait()
            yield batch

    monkeypatch.setattr(export, "_batches", together)

    def go():
        try:
            with Store.open(store.folder) as own:
                export_measurements(own, to)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(READ[suffix](to)) == 3 * 1_001
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store", to.name]


def test_the_home_folder_may_be_written_as_a_tilde(store, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    export_measurements(store, Path("~/x.csv"))
    assert (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("suffix", READ)
def test_a_disk_that_takes_no_more_is_named_and_the_earlier_file_stays(store, tmp_path, suffix):
    to = tmp_path / f"x{suffix}"
    to.write_text("earlier")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot be written \(File too large\)"):
            export_measurements(store, to)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert to.read_text() == "earlier"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store", to.name]


@pytest.mark.parametrize("suffix", READ)
def test_an_export_that_is_a_folder_is_refused(store, tmp_path, suffix):
    (tmp_path / f"x{suffix}").mkdir()
    with pytest.raises(UserError, match="Is a directory"):
        export_measurements(store, tmp_path / f"x{suffix}")


GROWTH = """
import resource, sys
from pathlib import Path
from recombine.lab import Store
from recombine.lab.export import export_measurements

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

with Store.open(sys.argv[1]) as store:
    export_measurements(store, Path(sys.argv[2]))
    print(peak())
"""


@pytest.mark.parametrize("suffix", READ)
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path, suffix):
    def peak(trials):
        folder = tmp_path / str(trials)
        with Store.create(folder) as store:
            fill(store, trials, points=50_000)
        done = subprocess.run(
            [sys.executable, "-c", GROWTH, str(folder), str(tmp_path / f"x{suffix}")],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return int(done.stdout) / 1024

    assert peak(24) < peak(4) + 100  # 550 bytes per row would be 525 MB more
