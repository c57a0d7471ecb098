"""Public names: few, and each means one thing."""

import ast
import inspect
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

import recombine

SOURCE = Path(recombine.__file__).parent


def public_names() -> dict[str, set[str]]:
    """The packages in which each name is public."""
    found = defaultdict(set)
    for stub in SOURCE.glob("*/__init__.pyi"):
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            for alias in getattr(node, "names", ()):
                found[alias.asname].add(stub.parent.name)
    return found


def test_no_two_packages_share_a_name():
    shared = {name: packages for name, packages in public_names().items() if len(packages) > 1}
    assert not shared


def test_no_name_is_that_of_a_package():
    assert public_names().keys().isdisjoint(path.parent.name for path in SOURCE.glob("*/*.pyi"))


def constant_is_documented(package, name):
    """A constant holds no docstring at run time: a string follows it in the source."""
    for path in Path(package.__file__).parent.glob("*.py"):
        for statement, after in pairwise(ast.parse(path.read_text()).body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            if any(getattr(target, "id", None) == name for target in targets):
                return isinstance(after, ast.Expr) and isinstance(
                    ast.literal_eval(after.value), str
                )
    return False


@pytest.mark.parametrize(
    "package", ["data", "examination", "learning", "models", "probes", "splits", "tasks", "theory"]
)
def test_every_public_name_has_a_docstring(package):
    module = getattr(recombine, package)
    assert dir(module)
    for name in dir(module):
        documented = inspect.getdoc(getattr(module, name)) or constant_is_documented(module, name)
        assert documented, f"{package}.{name}"
