"""Folders in which something is made before it takes its place: none stays behind."""

import fcntl
import glob
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK = ".recombine-scratch"
"""Its presence says that a folder is one of ours; who works in it holds a lock on it."""


@contextmanager
def scratch(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in `parent`, gone afterwards, as are those of processes that were killed."""
    for left in parent.glob(f"{glob.escape(prefix)}*/{LOCK}"):
        with suppress(OSError), open(left) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "lock").rename(folder / LOCK)  # only now is it known as one of ours
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
