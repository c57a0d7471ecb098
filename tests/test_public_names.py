"""Public names: few, and each means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

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
