"""The digest of the code that a trial can reach.

It begins at the trial function and at the classes that its config names, and follows names through
the modules of this package and the files beside a user's; versions of other packages are in a
trial's provenance. It does not depend on comments, docstrings, formatting, the folder in which
files lie, or code that cannot be reached. What cannot be followed name by name (a module that is
used as a value, `globals()`, a computed import) counts as a whole. Nothing is imported or run.
"""

import ast
import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .symbols import Chain, Import, Source, Uses, fingerprint, parse, uses, without_defaults

PACKAGE = Path(__file__).parents[1]
TOP = PACKAGE.name
LAB = f"{TOP}.lab"
"""The lab carries trials out and is no part of what they compute: it is not followed."""
TRAINING = PACKAGE / "learning" / "_loop.py", "train"
"""What the lab's recorder trains through: every trial can reach it."""
EFFECTS = ""
"""Stands for what a module does when it is imported, beside defining names."""
WHOLE = "*"
"""Stands for everything in a module."""


class Place(NamedTuple):
    """A top-level name of a module."""

    module: str
    """The path of its file."""
    name: str
    given: bool = False
    """Of a class, whether all of its fields are given, so that their defaults do not matter."""


@dataclass
class Module:
    """A file, and how its imports are meant."""

    path: Path
    name: str
    """Its dotted name, from the top of the package or from `folder`."""
    folder: Path
    """Where top-level modules of its kind lie."""
    is_ours: bool
    """Whether it is of the package, not a user's."""
    changed: tuple[int, int]
    """Time and size of the file."""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def label(self) -> str:
        return self.path.relative_to(self.folder).as_posix()

    @cached_property
    def source(self) -> Source:
        source = parse(self.path.read_text(encoding="utf-8"))
        stub = self.path.with_suffix(".pyi")
        if stub.exists():  # names that are loaded on first use
            lazy = parse(stub.read_text(encoding="utf-8"))
            for name, found in lazy.imports.items():
                source.imports.setdefault(name, []).extend(found)
        return source

    def above(self, level: int) -> str:
        """The package from which an import with so many dots begins."""
        parts = self.name.split(".") if self.name else []
        up = level - self.is_package
        return ".".join(parts[: len(parts) - up]) if up else self.name


class Reach:
    """What code refers to, as it is in files now.

    **Arguments:**

    - `package`: the folder of the package.
    """

    def __init__(self, package: Path = PACKAGE) -> None:
        self._package = package
        self._modules: dict[tuple[Path, str], Module | None] = {}
        self._by_path: dict[str, Module] = {}
        self._next: dict[Place, list[Place]] = {}
        self._marks: dict[Place, str] = {}
        self._digests: dict[frozenset[Place], str] = {}

    def is_current(self) -> bool:
        """Whether no file has changed since it was read."""
        return all(_signature(m.path) == m.changed for m in self._by_path.values())

    def digest(self, roots: Iterable[Place]) -> str:
        """The digest of all that can be reached from `roots`."""
        key = frozenset(roots)
        if key not in self._digests:
            lines = sorted(self._mark(place) for place in self.closure(key))
            self._digests[key] = sha256("\n".join(lines).encode()).hexdigest()[:16]
        return self._digests[key]

    def closure(self, roots: Iterable[Place]) -> set[Place]:
        """All that can be reached from `roots`, with them."""
        found = set(roots)
        waiting = list(found)
        while waiting:
            for place in self._after(waiting.pop()):
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def place(self, path: Path, name: str, given: bool = False) -> Place:
        """A name in a file; the whole file, if it is no top-level name of it."""
        module = self.at(path)
        return Place(str(module.path), name if name in module.source.statements else WHOLE, given)

    def at(self, path: Path) -> Module:
        """The module in a file."""
        path = path.resolve()
        if path.is_relative_to(self._package):
            parts = path.relative_to(self._package.parent).with_suffix("").parts
            found = self.find(".".join(parts).removesuffix(".__init__"))
        else:
            found = self.find(path.stem, path.parent)
        assert found is not None, path
        return found

    def find(self, name: str, folder: Path | None = None) -> Module | None:
        """The module of a dotted name, if it is of the package or lies in `folder`."""
        if is_ours := name.partition(".")[0] == TOP:
            folder = self._package.parent
        elif folder in (None, self._package.parent):
            return None  # another package
        assert folder is not None
        key = folder, name
        if key not in self._modules:
            base = folder.joinpath(*name.split("."))
            paths = base.with_name(f"{base.name}.py"), base / "__init__.py"
            path = next((p for p in reversed(paths) if p.is_file()), None)
            if path is None:
                self._modules[key] = None
            else:
                module = Module(path, name, folder, is_ours, _signature(path))
                self._modules[key] = self._by_path[str(path)] = module
        return self._modules[key]

    def _mark(self, place: Place) -> str:
        """A line that says which place it is, and what the code there does."""
        if place not in self._marks:
            module = self._by_path[place.module]
            mark = fingerprint(self.statements(place))
            self._marks[place] = f"{module.label}:{place.name}:{place.given}:{mark}"
        return self._marks[place]

    def statements(self, place: Place) -> list:
        """What a place consists of."""
        source = self._by_path[place.module].source
        if place.name == EFFECTS:
            return source.effects
        statements = source.statements.get(place.name, [])
        return without_defaults(statements) if place.given else statements

    def _after(self, place: Place) -> list[Place]:
        """What a place refers to."""
        if place not in self._next:
            module = self._by_path[place.module]
            if place.name == WHOLE:
                found = self._everything(module)
            else:
                found = self._used(module, uses(self.statements(place)), place.given)
                if place.name == EFFECTS:
                    found += self._imported_effects(module)
            effects = Place(place.module, EFFECTS)
            has_effects = module.source.effects or not module.is_ours
            if has_effects and place != effects:
                found.append(effects)
            self._next[place] = [p for p in dict.fromkeys(found) if not self._is_of_lab(p)]
        return self._next[place]

    def _is_of_lab(self, place: Place) -> bool:
        return f"{self._by_path[place.module].name}.".startswith(f"{LAB}.")

    def _everything(self, module: Module) -> list[Place]:
        source = module.source
        found = [Place(str(module.path), name) for name in source.statements]
        if module.is_package:
            for name in source.imports:
                found += self._follow(module, (name,))
        for star in source.stars:
            found += self._imported(module, star._replace(name=None), ())
        return found

    def _imported_effects(self, module: Module) -> list[Place]:
        """What a user's module has done by importing others, and by marking names of its own."""
        if module.is_ours:
            return []
        found = []
        for one in (i for several in module.source.imports.values() for i in several):
            target = self.find(self._absolute(module, one), module.folder)
            for inner in (target, target and self._child(target, one.name or "")):
                if inner is not None and not inner.is_ours:
                    found.append(Place(str(inner.path), EFFECTS))
        for name, statements in module.source.statements.items():
            for decorator in (d for s in statements for d in getattr(s, "decorator_list", ())):
                near = [p for p in self._used(module, uses([ast.Expr(decorator)]), False)
                        if not self._by_path[p.module].is_ours]  # fmt: skip
                if near:
                    found.append(Place(str(module.path), name))
        return found

    def _used(self, module: Module, used: Uses, given: bool) -> list[Place]:
        found = [p for chain in sorted(used.chains) for p in self._follow(module, chain)]
        for chain in sorted(used.bases):
            found += [p._replace(given=given) for p in self._follow(module, chain)]
        for one, rest in used.imported:
            found += self._imported(module, one, rest)
        if used.whole or used.dynamic:
            found.append(Place(str(module.path), WHOLE))
        if used.dynamic:
            found += self._neighbours(module)
        return found

    def _neighbours(self, module: Module) -> Iterator[Place]:
        """Every module that a computed import could mean."""
        base = self._package if module.is_ours else module.folder
        for path in sorted(base.rglob("*.py") if module.is_ours else base.glob("*.py")):
            yield Place(str(self.at(path).path), WHOLE)

    def _follow(self, module: Module, chain: Chain) -> list[Place]:
        """What a name means in a module."""
        name, *rest = chain
        source = module.source
        found = []
        if name in source.statements:
            found.append(Place(str(module.path), name))
        for one in source.imports.get(name, ()):
            found += self._imported(module, one, tuple(rest))
        if not source.defines(name) and not hasattr(builtins, name):
            for star in source.stars:
                target = self.find(self._absolute(module, star), module.folder)
                if target is not None:
                    found += self._follow(target, chain)
        return found

    def _imported(self, module: Module, one: Import, rest: Chain) -> list[Place]:
        """What an import gives, with the attributes that are read of it."""
        target = self.find(self._absolute(module, one), module.folder)
        if target is None:
            return []
        if one.name is None:
            return self._attribute(target, rest)
        if target is module:  # `from . import part`
            part = self._child(target, one.name)
            return [] if part is None else self._attribute(part, rest)
        return self._attribute(target, (one.name, *rest))

    def _attribute(self, module: Module, chain: Chain) -> list[Place]:
        """What is meant by attributes of a module; the whole module if that cannot be told."""
        if chain and (module.source.defines(chain[0]) or module.source.stars):
            return self._follow(module, chain)
        if chain and (part := self._child(module, chain[0])) is not None:
            return self._attribute(part, chain[1:])
        return [Place(str(module.path), WHOLE)]

    def _child(self, module: Module, name: str) -> Module | None:
        return self.find(f"{module.name}.{name}", module.folder) if module.is_package else None

    def _absolute(self, module: Module, one: Import) -> str:
        above = module.above(one.level) if one.level else ""
        return ".".join(filter(None, (above, one.module)))


def _signature(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@cache
def _known() -> Reach:
    return Reach()


def reach() -> Reach:
    """What code refers to now; what was found before is kept until a file changes."""
    if not _known().is_current():
        _known.cache_clear()
    return _known()


def function_name(function: Callable) -> str:
    """What a trial function is called: module and name; of a user's file, without its folder."""
    inner = _plain(function)
    path = _file(inner)
    where = inner.__module__ if path.is_relative_to(PACKAGE) else path.name
    return f"{where}:{inner.__qualname__}"


def code_digest(function: Callable, classes: Iterable[type]) -> str:
    """The digest of the code that a trial function can reach with a config of these classes.

    **Arguments:**

    - `classes`: those of the config and of the specs in it, whose fields are all given.
    """
    found = reach()
    roots = [found.place(*TRAINING), _place(found, function)]
    roots += [_place(found, one)._replace(given=True) for one in classes]
    return found.digest(roots)


def _plain(function: Any) -> Any:
    """The function or class behind partial applications, bound methods and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if hasattr(function, "__qualname__") else type(function)


def _file(thing: Any) -> Path:
    module = sys.modules.get(thing.__module__)
    return Path(getattr(module, "__file__", None) or inspect.getfile(thing)).resolve()


def has_name(thing: Any) -> bool:
    """Whether a function or a class is what its name says: a top-level name of its module."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    return getattr(module, getattr(thing, "__qualname__", ""), None) is thing


def _place(found: Reach, thing: Any) -> Place:
    """Where a function or a class is defined; its whole file, if it is no top-level name of it."""
    inner = _plain(thing)
    return found.place(_file(inner), inner.__qualname__ if has_name(thing) else WHOLE)


def reached(function: Callable, classes: Iterable[type]) -> list[tuple[Path, str, list[ast.stmt]]]:
    """The top-level names that a trial function can reach, with their files and statements.

    **Arguments:** those of [`recombine.lab.code.code_digest`][].
    """
    found = reach()
    roots = [_place(found, thing) for thing in (function, *classes)]
    places = sorted(found.closure(roots))
    return [(Path(p.module), p.name, found.statements(p)) for p in places if p.name != EFFECTS]


def defined_at(thing: Any) -> tuple[Path, int]:
    """The file of a function or class, and its line."""
    inner = _plain(thing)
    return _file(inner), inspect.getsourcelines(inner)[1]
