"""Studies by name, by family, or by file."""

import importlib
from functools import cache
from pathlib import Path

from .errors import UserError, nearest
from .files import load_module
from .study import Study


def listed() -> dict[str, str]:
    """Every registered study: its name, and the module that assigns `study`.

    The package of studies is named here and loaded when it is asked for, as it uses the lab.
    """
    return importlib.import_module("recombine.studies").STUDIES


@cache
def load(reference: str) -> Study:
    """The study of that registered name, or the one that a Python file calls `study`."""
    if reference.endswith(".py"):
        return _load_file(Path(reference))
    if reference not in listed():
        raise UserError(f"no study {reference!r}: {nearest(reference, [*families(), *listed()])}")
    study: Study = importlib.import_module(listed()[reference]).study
    return study


def _load_file(path: Path) -> Study:
    study = getattr(load_module(path), "study", None)
    if not isinstance(study, Study):
        raise UserError(f"{path} has no study: it should assign `study = Study(...)`")
    return study


def families() -> list[str]:
    return list(dict.fromkeys(name.partition("/")[0] for name in listed()))


def select(names: list[str]) -> list[str]:
    """Registered names and files meant by `names` (studies, families or files); all if empty."""
    chosen: list[str] = []
    for name in names:
        if name.endswith(".py"):
            chosen.append(str(Path(name).resolve()))
        elif members := [s for s in listed() if s.startswith(f"{name.rstrip('/')}/")]:
            chosen += members
        else:
            load(name)  # refuses what is not registered
            chosen.append(name)
    return list(dict.fromkeys(chosen)) if names else list(listed())
