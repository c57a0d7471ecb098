"""Studies by name, by family, or by file."""

import importlib.util
import sys
import traceback
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from recombine import __version__

from .errors import UserError, nearest
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
    module = importlib.import_module(listed()[reference])
    return replace(module.study, code=__version__)


def _load_file(path: Path) -> Study:
    if not path.is_file():
        raise UserError(f"no file {path}")
    name = f"recombine_study_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:  # as for a script: its neighbours can be imported
        sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        lines = [
            t.lineno for t in traceback.extract_tb(error.__traceback__) if t.filename == str(path)
        ]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else "?"
        raise UserError(f"{path}, line {line}: {type(error).__name__}: {error}") from None
    study = getattr(module, "study", None)
    if not isinstance(study, Study):
        raise UserError(f"{path} has no study: it should assign `study = Study(...)`")
    return replace(study, code=sha256(path.read_bytes()).hexdigest()[:12])


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
