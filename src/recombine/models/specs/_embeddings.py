"""Specs of embeddings: how large the vectors of tokens are against those of positions.

This is Section 4.3.4 and Appendix C.4.
"""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ..._spec import AbstractSpec

if TYPE_CHECKING:
    from .._embedding import Embedding
    from .._positions import AbstractPositions


class EmbeddingSizes(NamedTuple):
    """Sizes from which an embedding is built."""

    vocabulary: int
    """The number of tokens that have a vector."""
    width: int
    """Column width, d_model."""


@dataclass(frozen=True, kw_only=True)
class AbstractEmbeddingSpec(AbstractSpec):
    """How the vectors of tokens start, and how absolute positions are added to them."""

    @abc.abstractmethod
    def build(
        self, sizes: EmbeddingSizes, key: Any
    ) -> "tuple[Embedding, AbstractPositions | None]":
        """The vectors, and what adds positions; None if there are no absolute ones."""


@dataclass(frozen=True, kw_only=True)
class TEUSpec(AbstractEmbeddingSpec):
    """Token embedding upscaling: Xavier's numbers E, and √d E + p."""

    name: ClassVar[str] = "teu"

    def build(self, sizes: EmbeddingSizes, key: Any) -> "tuple[Embedding, AbstractPositions]":
        from .._embedding import Embedding
        from .._initializers import xavier_uniform
        from .._positions import ScaledPositions

        vectors = xavier_uniform(sizes, key=key)
        return Embedding(vectors), ScaledPositions(token_scale=sizes.width**0.5)


@dataclass(frozen=True, kw_only=True)
class NoScalingSpec(AbstractEmbeddingSpec):
    """Standard normal numbers E, and E + p."""

    name: ClassVar[str] = "no-scaling"

    def build(self, sizes: EmbeddingSizes, key: Any) -> "tuple[Embedding, AbstractPositions]":
        import jax

        from .._embedding import Embedding
        from .._positions import SinusoidalPositions

        return Embedding(jax.random.normal(key, tuple(sizes))), SinusoidalPositions()


@dataclass(frozen=True, kw_only=True)
class PEDSpec(AbstractEmbeddingSpec):
    """Position embedding downscaling: Kaiming's normal numbers E, and E + p/√d."""

    name: ClassVar[str] = "ped"

    std: Literal["code", "text"] = "code"
    """Standard deviation of E: √(2/d), as in the published code, or √(1/d), as in the text."""

    def build(self, sizes: EmbeddingSizes, key: Any) -> "tuple[Embedding, AbstractPositions]":
        from .._embedding import Embedding
        from .._initializers import kaiming_normal
        from .._positions import ScaledPositions

        inputs = sizes.width * {"code": 1, "text": 2}[self.std]
        vectors = kaiming_normal(sizes, inputs, key=key)
        return Embedding(vectors), ScaledPositions(position_scale=sizes.width**-0.5)


@dataclass(frozen=True, kw_only=True)
class NoPositionsSpec(AbstractEmbeddingSpec):
    """Xavier's numbers, and no absolute positions: for relative attention."""

    name: ClassVar[str] = "no-positions"

    def build(self, sizes: EmbeddingSizes, key: Any) -> "tuple[Embedding, None]":
        from .._embedding import Embedding
        from .._initializers import xavier_uniform

        return Embedding(xavier_uniform(sizes, key=key)), None
