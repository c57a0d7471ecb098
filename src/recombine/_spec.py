"""Specs: frozen dataclasses that build what they describe."""

import abc
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, ClassVar


class AbstractSpec(abc.ABC):
    """A part that can be chosen by name, set field by field and written down as JSON.

    A spec is a frozen dataclass whose fields have defaults and are numbers, strings, tuples of
    them, or specs. It loads nothing heavy before `build` is called, so that settings can be listed
    and checked without JAX.

    An abstract subclass is a *kind*: a setting annotated with it takes any spec of that kind, and
    one from a user's file.
    """

    package: ClassVar[str] = "recombine.models.specs"
    """Where the specs of a kind are registered: a new one is a new module in this package."""

    @abc.abstractmethod
    def build(self, sizes: Any, key: Any) -> Any:
        """What the spec describes, for a problem of the given sizes, drawn with `key`."""


def spec_name(spec: Any) -> str:
    """The name of a spec or of its class: its `name`, or its class name with dashes."""
    kind = spec if isinstance(spec, type) else type(spec)
    given = kind.__dict__.get("name")
    return given or dashed(kind.__name__)


def dashed(name: str) -> str:
    """`MyNetwork` as `my-network`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def is_spec(value: Any) -> bool:
    """Whether `value` is an instance of a spec. A user's need not derive from `AbstractSpec`."""
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "build")


def is_registered(spec: type, kind: type[AbstractSpec]) -> bool:
    """Whether `spec` is known by its name wherever `kind` is: it lies in the kind's package."""
    top = kind.__module__.partition(".")[0]
    return (
        spec.__module__.partition(".")[0] == top
        or f"{spec.__module__}.".startswith(f"{kind.package}.")
    )  # fmt: skip


def known_specs(kind: type[AbstractSpec]) -> dict[str, type[AbstractSpec]]:
    """Every spec of a kind by its name: those in the kind's package, and those imported so far."""
    _import_all(kind.package)
    found: list[type[AbstractSpec]] = list(filter(_is_concrete, _descendants(kind)))
    known: dict[str, type[AbstractSpec]] = {}
    # A user's class does not take the name of a registered one.
    for spec in sorted(found, key=lambda s: not is_registered(s, kind)):
        other = known.setdefault(spec_name(spec), spec)
        if other is not spec and is_registered(spec, kind):
            raise ValueError(f"two specs are called {spec_name(spec)!r}: {other} and {spec}")
    return dict(sorted(known.items()))


def _is_concrete(spec: type) -> bool:
    # An abstract class may have no abstract method: its fields have no defaults.
    abstract = inspect.isabstract(spec) or spec.__name__.startswith("Abstract")
    return is_dataclass(spec) and not abstract


def _descendants(kind: type[AbstractSpec]) -> Iterator[type[AbstractSpec]]:
    """A class, its subclasses, theirs, and so on, each once."""
    waiting, seen = [kind], {kind}
    while waiting:
        one = waiting.pop(0)
        yield one
        fresh = [spec for spec in one.__subclasses__() if spec not in seen]
        waiting += fresh
        seen.update(fresh)


def _import_all(package: str) -> None:
    """Import a module and, if it is a package, every module in it."""
    if importlib.util.find_spec(package) is None:
        return
    module = importlib.import_module(package)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{package}."):
        importlib.import_module(found.name)
