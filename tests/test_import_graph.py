"""The packages form a graph without cycles: which may import which, checked in every file."""

import ast
import itertools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import recombine

SOURCE = Path(recombine.__file__).parent
USES = {
    "data": (),
    "models": (),
    "splits": (),
    "theory": ("models", "splits"),
    "tasks": ("data", "models", "splits", "theory"),
    "learning": ("models", "splits", "theory", "tasks"),
    "probes": ("models", "splits", "theory", "tasks", "learning"),
    "lab": ("data", "learning"),
    "examination": ("splits", "probes", "lab"),
    "studies": ("data", "models", "splits", "theory", "tasks", "learning", "probes", "lab"),
    "cli": ("data", "splits", "lab"),
}
"""What each package may import, from the bottom up. Private modules of the root (`_errors.py`) are
below all of them: every package may import them, and they import no package."""
BY_NAME = {("lab", "studies")}
"""Packages that another one loads by name at run time. The lab finds studies so, and knows none."""


class Import(NamedTuple):
    """One import of one package by another."""

    source: str
    target: str
    kind: str
    """`on import`, `in a function`, `for types` (under TYPE_CHECKING) or `by name`."""
    where: str

    def __str__(self):
        return f"{self.where}: {self.source} imports {self.target} ({self.kind})"


def imported_modules(node: ast.AST, package: list[str]) -> list[str]:
    """Absolute names of the modules that a statement in a module of `package` imports."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *(node.module or "").split(".")]).rstrip(".")
            return [f"{base}.{alias.name}" for alias in node.names]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if "import_module" in ast.dump(
            node.func
        ):
            return [name]
    return []


def statements(node: ast.AST, kind: str = "on import") -> Iterator[tuple[ast.AST, str]]:
    """All nodes below `node`, each with the kind that an import there has."""
    for child in ast.iter_child_nodes(node):
        below = kind
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            below = "in a function" if kind == "on import" else kind
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            below = "for types"
        yield child, "by name" if isinstance(child, ast.Call) else below
        yield from statements(child, below)


def imports_between_packages(root: Path) -> list[Import]:
    """Every import of a package below `root` by another; `(root)` is its private modules."""
    found = []
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        parts = path.relative_to(root).parts
        if parts[0] in ("__init__.py", "__init__.pyi"):
            continue
        own = parts[0].removesuffix(".py")
        source = "(root)" if own.startswith("_") else own
        for node, kind in statements(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported_modules(node, [root.name, *parts[:-1]]):
                top, _, rest = name.partition(".")
                target = rest.partition(".")[0]
                if top == root.name and target != own and not target.startswith("_") and target:
                    where = f"{path.relative_to(root.parent)}:{node.lineno}"
                    found.append(Import(source, target, kind, where))
    return found


def forbidden(imports: list[Import]) -> list[str]:
    """The imports that neither `USES` nor `BY_NAME` allows."""
    return [
        str(one)
        for one in imports
        if one.target not in USES.get(one.source, ())
        and not (one.kind == "by name" and one[:2] in BY_NAME)
    ]


def cycle(imports: list[Import]) -> list[str]:
    """A cycle of packages in which each imports the next, with one place each; empty if none."""
    edges = {one[:2]: str(one) for one in reversed(imports) if one.kind != "by name"}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source, target in edges:
        sorter.add(source, target)
    try:
        sorter.prepare()
    except CycleError as error:
        around = error.args[1][::-1]
        return [edges[pair] for pair in itertools.pairwise(around)]
    return []


@pytest.fixture(scope="module")
def imports():
    return list(imports_between_packages(SOURCE))


def test_every_package_has_a_place_in_the_order():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(USES)
    below: set[str] = set()
    for package, used in USES.items():
        assert below.issuperset(used), f"{package} may use {used}, but only {below} are below it"
        below.add(package)


def test_packages_import_only_what_is_below_them(imports):
    assert not forbidden(imports), "\n".join(forbidden(imports))


def test_the_packages_have_no_cycle(imports):
    assert not cycle(imports), "\n".join(cycle(imports))


def test_the_lab_loads_rules_only_when_a_trial_runs(imports):
    early = [str(i) for i in imports if i[:2] == ("lab", "learning") and i.kind == "on import"]
    assert not early, "\n".join(early)


def test_concepts_say_the_same_order():
    text = (SOURCE.parents[1] / "docs" / "concepts.md").read_text(encoding="utf-8")
    rows = dict(USES) | {"studies": ("all of the above",)}
    for package, used in rows.items():
        cells = ", ".join(f"`{name}`" if " " not in name else name for name in used) or "nothing"
        assert f"| `{package}` | {cells} |" in text


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("from recombine.probes import leakage", "on import"),
        ("from recombine import probes", "on import"),
        ("import recombine.probes._leakage", "on import"),
        ("from ..probes._leakage import leakage", "on import"),
        ("from .. import probes", "on import"),
        ("def f():\n    from ..probes import leakage", "in a function"),
        ("if TYPE_CHECKING:\n    from ..probes import leakage", "for types"),
        ("importlib.import_module('recombine.probes')", "by name"),
    ],
)
def test_a_planted_import_is_found_with_its_line(tmp_path, line, kind):
    package = tmp_path / "recombine" / "tasks"
    package.mkdir(parents=True)
    (package / "_task.py").write_text(f"import os\n{line}\n")
    (found,) = imports_between_packages(tmp_path / "recombine")
    assert found[:3] == ("tasks", "probes", kind)
    assert found.where == f"recombine/tasks/_task.py:{2 + line.count(chr(10))}"
    assert forbidden([found]) == [str(found)]


def test_a_planted_cycle_is_found():
    first = Import("tasks", "models", "on import", "a.py:1")
    second = Import("models", "tasks", "in a function", "b.py:2")
    assert not cycle([first])
    assert sorted(cycle([first, second])) == [str(first), str(second)]
