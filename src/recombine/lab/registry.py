"""Studies by name, by family, or by file."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

from recombine.studies import STUDIES

from .errors import UserError, nearest
from .study import Study


@cache
def load(reference: str) -> Study:
    """The study of that registered name, or the one that a Python file calls `study`."""
    if reference.endswith(".py"):
        return _load_file(Path(reference))
    module = importlib.import_module(STUDIES[reference])
    return module.study


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
    spec.loader.exec_module(module)
    study = getattr(module, "study", None)
    if not isinstance(study, Study):
        raise UserError(f"{path} has no study: it should assign `study = Study(...)`")
    return study


def families() -> list[str]:
    return list(dict.fromkeys(name.partition("/")[0] for name in STUDIES))


def select(names: list[str]) -> list[str]:
    """Registered names and files meant by `names` (studies, families or files); all if empty."""
    chosen: list[str] = []
    for name in names:
        if name.endswith(".py"):
            chosen.append(str(Path(name).resolve()))
        elif name in STUDIES:
            chosen.append(name)
        elif members := [s for s in STUDIES if s.startswith(f"{name.rstrip('/')}/")]:
            chosen += members
        else:
            raise UserError(f"no study {name!r}: {nearest(name, [*families(), *STUDIES])}")
    return list(dict.fromkeys(chosen)) if names else list(STUDIES)
