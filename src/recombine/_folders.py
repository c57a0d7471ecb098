"""The folders that outlive a run."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Compiled programs and data sets: `RECOMBINE_CACHE`, or `recombine` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("RECOMBINE_CACHE") or Path(base) / "recombine")


def data_folder(name: str) -> Path:
    """The files of a data set: a folder of that name in `RECOMBINE_DATA`, or in the cache."""
    return Path(os.environ.get("RECOMBINE_DATA") or cache_folder() / "data").absolute() / name
