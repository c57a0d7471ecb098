"""Studies by name, by family, or by file."""

import importlib
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from .errors import UserError
from .files import load_module
from .study import Study

MOST_CANDIDATES = 12
"""How many names are listed where a part of a name may mean several."""


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
        raise UserError(_unknown(reference))
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
    """Registered names and files meant by `names`; all registered ones if empty.

    A name is a file, a family, a study, or any part of one family's or one study's name.
    """
    chosen: list[str] = []
    for name in names:
        if name.endswith(".py"):
            chosen.append(str(Path(name).expanduser().resolve()))
        else:
            (found,) = _meant(name)
            members = [s for s in listed() if s.startswith(f"{found}/")]
            chosen += members or [found]
    return list(dict.fromkeys(chosen)) if names else list(listed())


def _meant(name: str) -> list[str]:
    """The one family or study that a name or a part of one means."""
    word = name.strip().rstrip("/").lower().replace("_", "-")
    known = [*families(), *listed()]
    own = {study: study.rpartition("/")[2] for study in listed()}
    if not word:
        raise UserError("the name of a study is empty: `recombine studies` lists all")
    for found in (
        [one for one in known if one == word],
        [study for study in listed() if own[study] == word],
        [one for one in known if word in own.get(one, one)],
        [study for study in listed() if word in study],
    ):
        if len(found) == 1:
            return found
        if found:
            raise UserError(f"{name!r} may be {_or(found)}: say which")
    raise UserError(_unknown(name))


def _or(names: list[str]) -> str:
    """Names in a line: `a, b or c`."""
    shown = names if len(names) <= MOST_CANDIDATES else names[:MOST_CANDIDATES]
    if len(shown) < len(names):
        return f"{', '.join(shown)} or one of {len(names) - len(shown)} others"
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def _unknown(name: str) -> str:
    """That there is no such study, and the most similar name if there is one."""
    own = {study.rpartition("/")[2]: study for study in reversed(listed())}
    words = {**own, **{one: one for one in (*families(), *listed())}}
    close = get_close_matches(name.lower(), words, n=1, cutoff=0.6)
    hint = f"did you mean {words[close[0]]!r}?" if close else "`recombine studies` lists all"
    return f"no study {name!r}: {hint}"
