"""What a user gives to `examine`, checked: inputs, factors, targets, which items are trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import UserError, nearest
from ..splits._factors import Combination, FactorTable, rows_of, rows_with

Kind = str
"""`classes` or `numbers`."""


@dataclass(frozen=True)
class Items:
    """Inputs and the factors that they have."""

    inputs: tuple[np.ndarray, ...]
    """The arrays that the network is called with."""
    table: FactorTable
    """The distinct combinations."""
    rows: list[Combination]
    """The combination of every item."""
    numbers: np.ndarray
    """[items, factors]: the number of every value among the sorted values of its factor."""
    values: tuple[tuple[Any, ...], ...]
    """The sorted values of every factor."""
    trained: np.ndarray | None
    """[items]: whether the combination of an item is trained; None if nothing was said."""

    @property
    def factors(self) -> tuple[str, ...]:
        return self.table.factors

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, factor: str) -> np.ndarray:
        """The values of a factor, as they were given."""
        return np.array([row[self.factors.index(factor)] for row in self.rows])


@dataclass(frozen=True)
class Target:
    """What one output of a network should be."""

    name: str
    labels: np.ndarray
    """[items] of classes, or [items, numbers]."""
    values: np.ndarray | None
    """The values that classes stand for, in order, where labels are those of a factor."""
    kind: Kind


def items_of(inputs: Any, factors: Any, names: Sequence[str] | None, train: Any) -> Items:
    """Inputs with their factors, or a `UserError` that names what does not fit."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    arrays = tuple(_array(one, "inputs") for one in given)
    try:
        columns, rows = rows_of(factors, names)
    except ValueError as error:
        raise UserError(f"factors: {error}") from None
    for array in arrays:
        if not array.ndim or len(array) != len(rows):
            raise UserError(
                f"inputs of shape {array.shape} are {len(array) if array.ndim else 0} items, the"
                f" table of factors has {len(rows)} rows: give one row per input"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UserError("inputs have numbers that are not finite: leave these items out")
    if len(rows) < 2:
        raise UserError("one item tells nothing of factors: give several")
    table = FactorTable.of(rows, columns)
    values = tuple(_sorted(v) for v in table.values)
    number = [{value: n for n, value in enumerate(of_factor)} for of_factor in values]
    numbers = np.array([[n[v] for n, v in zip(number, row, strict=True)] for row in rows])
    return Items(arrays, table, rows, numbers, values, _trained(train, table, rows))


def _array(thing: Any, what: str) -> np.ndarray:
    if hasattr(thing, "detach"):
        thing = thing.detach().cpu().numpy()
    array = np.asarray(thing)
    if array.dtype == object:
        raise UserError(f"{what} are no array of numbers: all of them must have one shape")
    return array


def _sorted(values: Sequence[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(values))
    except TypeError:  # of several types, which have no order
        return tuple(values)


def _trained(train: Any, table: FactorTable, rows: list[Combination]) -> np.ndarray | None:
    if train is None:
        return None
    flags = np.asarray(train) if isinstance(train, (np.ndarray, list)) or _is_array(train) else None
    if flags is not None and flags.dtype == bool:
        if flags.shape != (len(rows),):
            raise UserError(
                f"train has the shape {flags.shape}: give one truth value for each of the"
                f" {len(rows)} items, or a table of the trained combinations"
            )
        known = {row for row, flag in zip(rows, flags, strict=True) if flag}
    else:
        try:
            known = set(rows_with(train, table.factors))
        except ValueError as error:
            raise UserError(f"train: {error}") from None
    found = np.array([row in known for row in rows])
    if not found.any():
        raise UserError("no item has a trained combination: see whether `train` fits the factors")
    return found


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "__array__") and getattr(thing, "ndim", 0) == 1


def targets_of(targets: Any, items: Items, count: int) -> list[Target]:
    """What each of `count` outputs should be; none if nothing was said."""
    if targets is None:
        return []
    if isinstance(targets, str):
        targets = {targets: targets}
    if isinstance(targets, (list, tuple)) and targets and all(isinstance(t, str) for t in targets):
        targets = {t: t for t in targets} if all(t in items.factors for t in targets) else targets
    if isinstance(targets, Mapping):
        found = [_target(str(name), one, items) for name, one in targets.items()]
    else:
        labels = _array(targets, "targets")
        several = labels.ndim == 2 and labels.shape[1] == count and count > 1
        columns = labels.T if several else [labels]
        found = [_target(_name(n, len(columns)), one, items) for n, one in enumerate(columns)]
    if len(found) != count:
        raise UserError(
            f"the network has {count} outputs, and {len(found)} targets were given: one for each"
        )
    return found


def _name(number: int, count: int) -> str:
    return "output" if count == 1 else f"output {number}"


def _target(name: str, given: Any, items: Items) -> Target:
    if isinstance(given, str):
        if given not in items.factors:
            raise UserError(f"target {given!r} is no factor: {nearest(given, items.factors)}")
        values = np.array(items.values[items.factors.index(given)])
        labels = items.column(given)
        if labels.dtype.kind == "f":
            return Target(name, labels[:, None].astype(float), None, "numbers")
        return Target(name, labels, values, "classes")
    labels = _array(given, "targets")
    if len(labels) != len(items):
        raise UserError(f"target {name!r} has {len(labels)} labels for {len(items)} items")
    if labels.dtype.kind == "f":
        return Target(name, labels.reshape(len(labels), -1).astype(float), None, "numbers")
    if labels.ndim != 1:
        raise UserError(f"target {name!r} has the shape {labels.shape}: give one label per item")
    return Target(name, labels, None, "classes")
