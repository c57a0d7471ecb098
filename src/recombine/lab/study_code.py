"""Where the code of a study is: its file, its trial function, and the equations it goes through."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .code import PACKAGE, defined_at, reached
from .registry import listed
from .settings import classes_in
from .study import Study

EQUATIONS = re.compile(
    r"\bEqs?\.\s*((?:[A-Z]\.?)?\d[\w.]*(?:(?:[-–]|, | and | to )(?:[A-Z]\.?)?\d[\w.]*)*)"
)


class CodePlace(NamedTuple):
    """A piece of a study's code."""

    what: str
    """`study`, `trial`, or the name of what implements an equation."""
    file: str
    """Its file, from the folder of the package if it is of the package."""
    line: int
    equations: str = ""
    """The paper's equations that it implements: `13-15`."""


def code_places(study: Study) -> list[CodePlace]:
    """The file of `study`, its trial function, and all that it can reach and names an equation."""
    classes = {c: None for case in study.cases(study.default_preset)
               for c in classes_in(study.config, case.config)}  # fmt: skip
    path, line = defined_at(study.trial)
    found = {
        (_label(file), statement.lineno): CodePlace(name, _label(file), statement.lineno, equations)
        for file, name, statements in reached(study.trial, classes)
        for statement in statements
        if not name.startswith("_") and (equations := _equations(statement))
    }
    trial = found.pop((_label(path), line), CodePlace("trial", _label(path), line))
    return [*_study_file(study), trial._replace(what="trial"), *found.values()]


def _study_file(study: Study) -> Iterator[CodePlace]:
    """Where a registered study is assigned."""
    if study.name not in listed():
        return
    module = importlib.import_module(listed()[study.name])
    path = Path(str(module.__file__))
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "study":
            yield CodePlace("study", _label(path), statement.lineno)


def _label(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else str(path)


def _equations(statement: ast.stmt) -> str:
    """The equations that the docstrings in a statement name, each once."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    docs = [ast.get_docstring(s) or "" for s in ast.walk(statement) if isinstance(s, kinds)]
    found = [
        match.strip(" .,") for doc in docs for match in EQUATIONS.findall(" ".join(doc.split()))
    ]
    return ", ".join(dict.fromkeys(found))
