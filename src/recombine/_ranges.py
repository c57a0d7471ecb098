"""What the fields of configs and specs may be, said once: in their types.

    layers: Count = 2
    dropout: Fraction = 0.1
    learning_rate: Annotated[float, Above(0), AtMost(10)] = 1e-3

Numbers are finite, whole ones have 32 bits, and a range says more. The lab checks every config and
every spec in it before anything runs; a spec that may be built without the lab checks itself.
"""

import math
from dataclasses import dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class AtLeast:
    """The field's number is this or more."""

    bound: float

    def holds(self, value: float) -> bool:
        return value >= self.bound

    @property
    def otherwise(self) -> str:
        return f"is less than {self.bound:g}"


@dataclass(frozen=True)
class AtMost:
    """The field's number is this or less."""

    bound: float

    def holds(self, value: float) -> bool:
        return value <= self.bound

    @property
    def otherwise(self) -> str:
        return f"is more than {self.bound:g}"


@dataclass(frozen=True)
class Above:
    """The field's number is more than this."""

    bound: float

    def holds(self, value: float) -> bool:
        return value > self.bound

    @property
    def otherwise(self) -> str:
        return f"is not above {self.bound:g}"


@dataclass(frozen=True)
class Below:
    """The field's number is less than this."""

    bound: float

    def holds(self, value: float) -> bool:
        return value < self.bound

    @property
    def otherwise(self) -> str:
        return f"is not below {self.bound:g}"


@dataclass(frozen=True)
class OrInfinite:
    """The field's number need not be finite."""


Range = AtLeast | AtMost | Above | Below

Count = Annotated[int, AtLeast(1)]
"""How many, at least one."""
Whole = Annotated[int, AtLeast(0)]
"""How many, or none."""
Positive = Annotated[float, Above(0)]
"""A real number above 0, such as a learning rate."""
NotNegative = Annotated[float, AtLeast(0)]
"""A real number of 0 or more, such as a weight decay."""
Share = Annotated[float, AtLeast(0), AtMost(1)]
"""A part of a whole, or a probability."""
Fraction = Annotated[float, AtLeast(0), Below(1)]
"""A part that is not the whole, such as a rate of dropout."""

LARGEST = 2**31 - 1
"""The largest whole number that JAX takes without 64 bits."""


def check_ranges(thing: Any) -> None:
    """Refuse a config or a spec with a field out of its range, with a `ValueError`.

    For a `__post_init__`: `check_ranges(self)`.
    """
    types = annotated_types(type(thing))
    for f in fields(thing):
        check_range(f.name, getattr(thing, f.name), types[f.name])


def annotated_types(config: type) -> dict[str, Any]:
    """The type of every field of a config or a spec, with its range.

    A class that gives another default to a field need not repeat its range.
    """
    return _annotated_types(config)


@cache
def _annotated_types(config: type) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for one in reversed(config.__mro__):
        for name, hint in get_type_hints(one, include_extras=True).items():
            if name not in types or _parted(hint)[1]:
                types[name] = hint
    return types


def check_range(name: str, value: Any, hint: Any) -> None:
    """Refuse a value of the field `name` that is not in the range that its type `hint` has."""
    hint, ranges = _parted(hint)
    if isinstance(value, (tuple, list)):
        inner = get_args(hint) if get_origin(hint) is tuple else (Any,)
        every = inner[:1] * len(value) if inner[-1] is Ellipsis or len(inner) == 1 else inner
        for item, one in zip(value, every, strict=False):
            check_range(name, item, one)
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    if math.isnan(value) or (math.isinf(value) and OrInfinite() not in ranges):
        raise ValueError(f"{name}={value} is not a finite number")
    if isinstance(value, int) and hint is int and abs(value) > LARGEST:
        raise ValueError(f"{name}={value} is too large for a whole number of 32 bits")
    for one in ranges:
        if isinstance(one, Range) and not one.holds(value):
            raise ValueError(f"{name}={value} {one.otherwise}")


def _parted(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its ranges, and these; of an optional type, those of what it is otherwise."""
    if get_origin(hint) in (Union, UnionType):
        others = [one for one in get_args(hint) if one is not type(None)]
        return _parted(others[0]) if len(others) == 1 else (hint, ())
    if get_origin(hint) is Annotated:
        base, *ranges = get_args(hint)
        return base, tuple(ranges)
    return hint, ()
