import os
import subprocess
import sys

import pytest

from recombine.lab.scratch import scratch


def test_a_scratch_folder_is_gone_whatever_happens(tmp_path):
    with scratch(tmp_path, ".x-") as folder:
        (folder / "file").write_text("half")
    with pytest.raises(ZeroDivisionError), scratch(tmp_path, ".x-"):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_in_use_or_is_somebody_elses_stays(tmp_path):
    (tmp_path / ".x-mine").mkdir()
    with scratch(tmp_path, ".x-") as first, scratch(tmp_path, ".x-") as second:
        assert first != second
        assert first.is_dir()
        assert second.is_dir()
    assert [p.name for p in tmp_path.iterdir()] == [".x-mine"]


def test_one_that_a_killed_process_left_is_cleared_away_by_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from recombine.lab.scratch import scratch\n"
        "with scratch(Path(sys.argv[1]), '.[x]-'): os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, os.fspath(tmp_path)], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    with scratch(tmp_path, ".[x]-") as folder:
        assert list(tmp_path.iterdir()) == [folder]
