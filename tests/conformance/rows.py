"""Tables of rows, one per public class, and what is left out of them."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any


class Table(Mapping[str, Any]):
    """Rows by name. Each is a function without arguments, which is called when the row is needed.

    So a test of one row makes no other, and collecting tests makes none.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]]):
        self._makers, self._made = dict(makers), {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def public_classes(package: Any) -> set[str]:
    """The names of a package's concrete classes. A `NamedTuple` is data and none of them."""
    classes = {name: getattr(package, name) for name in dir(package)}
    return {
        name
        for name, kind in classes.items()
        if inspect.isclass(kind)
        and not issubclass(kind, tuple)
        and not inspect.isabstract(kind)
        and not name.startswith(("Abstract", "_"))
    }


def kinds_in(*values: Any) -> set[str]:
    """The names of all classes of which there is an instance in some values, however deep."""
    found, seen, waiting = set(), set(), list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type | ModuleType):
            continue
        seen.add(id(value))
        found.add(type(value).__name__)
        if dataclasses.is_dataclass(value):
            # A field may have no value: a part that `eqx.filter` took away.
            waiting += [getattr(value, f.name, None) for f in dataclasses.fields(value)]
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, tuple | list):
            waiting += value
        elif isinstance(value, functools.partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif inspect.ismethod(value):
            waiting.append(value.__self__)
    return found


def check_complete(package: Any, rows: set[str], others: Mapping[str, str], where: str) -> None:
    """Fail for public classes without a row, and for reasons that have outlived their class.

    **Arguments:**

    - `rows`: the names of the classes that rows have.
    - `others`: for classes that need no row, the reason.
    - `where`: the table that a row is to be added to.
    """
    public, name = public_classes(package), package.__name__.removeprefix("recombine.")
    for missing in sorted(public - rows - set(others)):
        raise AssertionError(f"{name}.{missing} has no row: add one to {where}")
    for left in sorted(set(others) - (public - rows)):
        raise AssertionError(f"{name}.{left} is a reason too many in {where}: drop it")
