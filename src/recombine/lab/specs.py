"""Specs as a user names them: `ndr`, or `my_network.py:MyNetwork`."""

import inspect
import os
import re
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from .._spec import AbstractSpec, is_registered, known_specs, spec_name
from .errors import UserError, nearest
from .files import digest, load_module, located, was_loaded

IN_FILE = re.compile(r"(?P<path>.*\.py):(?P<name>\w*)")


def kind_of(hint: Any) -> type[AbstractSpec] | None:
    """The kind of specs that a field with this annotation takes, if it takes any."""
    for one in get_args(hint) or (hint,):
        if isinstance(one, type) and issubclass(one, AbstractSpec):
            return one
    return None


def spec_class(text: str, kind: type[AbstractSpec]) -> type:
    """The class that `text` names: a known spec of the kind, or a class in a file."""
    if found := IN_FILE.fullmatch(text):
        spec = class_in_file(Path(found["path"]).expanduser(), found["name"])
        check_class(spec, text)
        if isinstance(kind, ABCMeta) and not issubclass(spec, kind):
            kind.register(spec)  # it need not derive from the kind to be one
        return spec
    if text.endswith(".py"):
        raise UserError(f"{text}: name the class too, {text}:NAME; {_offered(Path(text))}")
    known = known_specs(kind)
    if text not in known:
        raise ValueError(f"no spec {text!r}: {nearest(text, known)}")
    return known[text]


def reference(spec: type, kind: type[AbstractSpec] | None) -> str:
    """What a spec's class is called wherever it is needed again: its name, or file and class."""
    if kind is not None and is_registered(spec, kind):
        return spec_name(spec)
    return f"{file_of(spec)}:{spec.__qualname__}"


def is_in_file(reference: str, spec: type) -> bool:
    """Whether a reference is to this class of a user's file."""
    return (
        IN_FILE.fullmatch(reference) is not None
        and reference == f"{file_of(spec)}:{spec.__qualname__}"
    )


def code_of(reference: str) -> str | None:
    """The checksum of the file in which a spec is written, if it is a user's."""
    found = IN_FILE.fullmatch(reference)
    return digest(Path(found["path"])) if found else None


def shown(value: Any) -> Any:
    """A setting for people to read: a spec, in whatever form, as its name without folders."""
    if isinstance(value, dict) and "spec" in value:
        return shown(value["spec"])
    if isinstance(value, (list, tuple)):
        return type(value)(map(shown, value))
    if isinstance(value, str) and (found := IN_FILE.fullmatch(value)):
        return f"{Path(found['path']).name}:{found['name']}"
    return value


def stored_name(spec: dict[str, Any]) -> str:
    """The name of a stored spec; with a part from a user's file it is no longer the named one."""
    parts = [shown(part) for part in _parts_in_files(spec)]
    return shown(spec) + (f" with {', '.join(parts)}" if parts else "")


def _parts_in_files(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in spec.values():
        if isinstance(part, dict) and "spec" in part:
            if IN_FILE.fullmatch(part["spec"]):
                yield part
            yield from _parts_in_files(part)


def check_class(spec: Any, where: str) -> None:
    """Refuse a class that is no spec, with what it lacks."""
    if not is_dataclass(spec):
        raise UserError(f"{where} is no dataclass: write @dataclass(frozen=True) above it")
    if not getattr(spec, "__dataclass_params__").frozen:  # noqa: B009 (unknown to type checkers)
        raise UserError(f"{where} can be changed: write @dataclass(frozen=True) above it")
    if inspect.isabstract(spec) or not callable(getattr(spec, "build", None)):
        raise UserError(f"{where} has no method build(self, sizes, key)")
    bare = [
        f.name for f in fields(spec) if f.default is MISSING and f.default_factory is MISSING
    ]  # fmt: skip
    if bare:
        raise UserError(f"{where}: give a default to {', '.join(bare)}")
    if taken := {"spec", "sha256"} & {f.name for f in fields(spec)}:
        raise UserError(f"{where}: a field cannot be called {taken.pop()!r}, choose another name")


def class_in_file(path: Path, name: str) -> type:
    """A class of a user's file."""
    module = _imported(path) or load_module(path)
    found = getattr(module, name, None)
    if inspect.isfunction(found):
        return of_function(found)
    if not isinstance(found, type):
        raise UserError(f"{path} has no class {name!r}: {nearest(name, _candidates(module))}")
    return found


@cache
def of_function(function: Callable[..., Any]) -> type:
    """A spec without fields that builds with a function of a user's file: `build(words, classes,
    key)`, or whatever else the sizes of a problem are."""

    def build(self: Any, sizes: Any, key: Any) -> Any:
        return function(*sizes, key)

    names = {
        "__module__": function.__module__, "__qualname__": function.__qualname__,
        "__doc__": function.__doc__, "build": build,
    }  # fmt: skip
    return dataclass(frozen=True)(type(function.__name__, (), names))


def in_file(path: Path) -> str:
    """The only spec of a user's file, as `FILE.py:NAME`: a class with `build`, or the function
    `build`."""
    module = _imported(path) or load_module(path)
    classes = [name for name in _candidates(module) if is_dataclass(getattr(module, name))]
    functions = ["build"] if inspect.isfunction(getattr(module, "build", None)) else []
    names = classes or functions
    if len(names) > 1:
        raise UserError(f"{path} has several networks: name one, as in {path}:{names[0]}")
    if not names:
        raise UserError(
            f"{path} has no network: write a frozen dataclass with build(self, sizes, key), or a"
            " function build(words, classes, key)"
        )
    return f"{path}:{names[0]}"


def loaded_file(path: Path) -> Path | None:
    """The file whose code runs in this process already: this one, or else one of its name, of
    which it is a copy on another machine."""
    if _imported(path) is not None or was_loaded(path):
        return path
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return next((Path(file) for file in found if file and Path(file).name == path.name), None)


def _imported(path: Path) -> ModuleType | None:
    """The module of a file that was imported otherwise: by a study, or as the running script."""
    wanted = os.path.realpath(located(path))
    for module in list(sys.modules.values()):
        inside = getattr(module, "__dict__", {})
        file = inside.get("__file__")
        ours = inside.get("__name__", "").startswith("recombine_file_")
        if file and not ours and os.path.realpath(file) == wanted:
            return module
    return None


def _offered(path: Path) -> str:
    module = _imported(path) or load_module(path)
    names = _candidates(module)
    return f"there are {', '.join(names)}" if names else "there is none"


def _candidates(module: ModuleType) -> list[str]:
    """Classes of a file that may be specs."""
    return [
        name
        for name, thing in vars(module).items()
        if isinstance(thing, type) and thing.__module__ == module.__name__
        and hasattr(thing, "build")
    ]  # fmt: skip


def file_of(spec: type) -> str:
    """The Python file in which a class is written."""
    try:
        file = inspect.getsourcefile(spec)
    except (TypeError, OSError):
        file = None
    if file is None or not Path(file).is_file() or "." in spec.__qualname__:
        raise UserError(
            f"{spec.__qualname__} is not a class of a Python file: write it into one, so that"
            " every process can load it"
        )
    return os.path.realpath(file)
