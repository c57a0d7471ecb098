"""The spec of a fully connected network of images."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from ..._ranges import Count, check_ranges
from ._images import AbstractImageSpec, ImageSizes

if TYPE_CHECKING:
    from .._mlp import MLP


@dataclass(frozen=True, kw_only=True)
class ImageMLPSpec(AbstractImageSpec):
    """Fully connected layers with ReLU between them."""

    name: ClassVar[str] = "mlp"

    hidden: tuple[Count, ...] = (256, 256)
    """Units of the hidden layers."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: ImageSizes, key: Any) -> "MLP":
        """The untrained network."""
        from .._mlp import MLP

        return MLP((prod(sizes.shape), *self.hidden, sizes.classes), key=key)
