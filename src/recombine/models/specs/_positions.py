"""Specs of absolute positions."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..._spec import AbstractSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._positions import AbstractPositions


@dataclass(frozen=True, kw_only=True)
class AbstractPositionsSpec(AbstractSpec):
    """What is done to columns so that they know where they are."""

    @abc.abstractmethod
    def build(self, sizes: LayerSizes, key: Any) -> "AbstractPositions":
        """The positions of an encoder."""


@dataclass(frozen=True, kw_only=True)
class SinusoidsSpec(AbstractPositionsSpec):
    """Sines and cosines of the position are added (Eq. C.1)."""

    name: ClassVar[str] = "sinusoids"

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractPositions":
        from .._positions import SinusoidalPositions

        return SinusoidalPositions()
