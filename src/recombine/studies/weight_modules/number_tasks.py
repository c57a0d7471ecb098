"""What networks that compute with numbers learn in the studies of the family."""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

from recombine import tasks
from recombine._ranges import Count, check_ranges
from recombine._spec import AbstractSpec


@dataclass(frozen=True, kw_only=True)
class AbstractNumberTaskSpec(AbstractSpec):
    """A task of numbers."""

    package: ClassVar[str] = __name__

    digits: Count = 2
    """Digits of a number, and of a result."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @abc.abstractmethod
    def build(self, sizes: Any = None, key: Any = None) -> Any:
        """The whole task."""

    @property
    @abc.abstractmethod
    def targets(self) -> dict[str, Any]:
        """What is done with the task for which there is a mask, by name: arguments of its class.
        That of the whole task is `full`."""


@dataclass(frozen=True, kw_only=True)
class AddMultiplySpec(AbstractNumberTaskSpec):
    """Sums and products by one network."""

    name: ClassVar[str] = "add-multiply"

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.AddMultiply":
        return tasks.AddMultiply(self.digits)

    @property
    def targets(self) -> dict[str, Any]:
        shares = {"full": 0.5, "add": 0.0, "multiply": 1.0}
        return {name: tasks.AddMultiply(self.digits, share) for name, share in shares.items()}


@dataclass(frozen=True, kw_only=True)
class DoubleAdditionSpec(AbstractNumberTaskSpec):
    """Two sums, on units of their own."""

    name: ClassVar[str] = "double-addition"

    def build(self, sizes: Any = None, key: Any = None) -> "tasks.DoubleAddition":
        return tasks.DoubleAddition(self.digits)

    @property
    def targets(self) -> dict[str, Any]:
        there = {"full": (1.0, 1.0), "pair_1": (1.0, 0.0), "pair_2": (0.0, 1.0)}
        return {name: tasks.DoubleAddition(self.digits, pairs) for name, pairs in there.items()}
