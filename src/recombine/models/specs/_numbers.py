"""Specs of networks that compute with numbers."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, check_ranges
from ..._spec import AbstractSpec

if TYPE_CHECKING:
    from .._number_networks import AbstractNumberNetwork


class NumberSizes(NamedTuple):
    """What a problem asks of a network that computes with numbers."""

    inputs: int
    """Inputs of all results together."""
    results: int
    """The number of results."""
    digits: int
    """Digits of each."""


@dataclass(frozen=True, kw_only=True)
class AbstractNumberSpec(AbstractSpec):
    """A network that computes with numbers."""

    @abc.abstractmethod
    def build(self, sizes: NumberSizes, key: Any) -> "AbstractNumberNetwork":
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class NumberMLPSpec(AbstractNumberSpec):
    """A multi-layer perceptron, used once for every result."""

    name: ClassVar[str] = "fnn"

    hidden: tuple[Count, ...] = (2000, 2000, 2000, 2000)
    """Units of the hidden layers."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: NumberSizes, key: Any) -> "AbstractNumberNetwork":
        """The untrained network."""
        from .._number_networks import NumberMLP

        return NumberMLP(*sizes, hidden=self.hidden, key=key)


@dataclass(frozen=True, kw_only=True)
class NumberLSTMSpec(AbstractNumberSpec):
    """Layers of LSTMs that see all inputs at every step."""

    name: ClassVar[str] = "number-lstm"
    forced: ClassVar[bool] = False

    units: Count = 256
    """Units of a layer."""
    layers: Count = 2
    """Number of layers."""
    steps: Count = 3
    """Steps per result."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: NumberSizes, key: Any) -> "AbstractNumberNetwork":
        """The untrained network."""
        from .._number_networks import NumberLSTM

        return NumberLSTM(
            *sizes, units=self.units, layers=self.layers, steps=self.steps, forced=self.forced,
            key=key,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ForcedNumberLSTMSpec(NumberLSTMSpec):
    """Layers of LSTMs that see the inputs of one result after those of the other."""

    name: ClassVar[str] = "forced-lstm"
    forced: ClassVar[bool] = True
