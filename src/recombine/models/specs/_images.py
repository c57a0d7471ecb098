"""Specs of networks that classify images."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, Fraction, check_ranges
from ..._spec import AbstractSpec

if TYPE_CHECKING:
    from .._image_cnn import ImageCNN


class ImageSizes(NamedTuple):
    """What a problem asks of a network that classifies images."""

    shape: tuple[int, int, int]
    """Rows, columns and channels of an image."""
    classes: int


@dataclass(frozen=True, kw_only=True)
class AbstractImageSpec(AbstractSpec):
    """A network that classifies images."""

    @abc.abstractmethod
    def build(self, sizes: ImageSizes, key: Any) -> Any:
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class ImageCNNSpec(AbstractImageSpec):
    """Convolutions with pooling between them, and dropout (Table B.4)."""

    name: ClassVar[str] = "cnn"

    channels: tuple[Count, ...] = (32, 64, 128, 256)
    """Channels of the convolutions."""
    early_dropout: Fraction = 0.25
    """Dropout of the last convolution but one."""
    late_dropout: Fraction = 0.5
    """Dropout of the last convolution."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: ImageSizes, key: Any) -> "ImageCNN":
        """The untrained network."""
        from .._image_cnn import ImageCNN

        return ImageCNN(
            *sizes, channels=self.channels, dropout=(self.early_dropout, self.late_dropout),
            key=key,
        )  # fmt: skip
