"""Specs of blocks."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Fraction, check_ranges
from ..._spec import AbstractSpec
from ._feed_forward import AbstractFeedForwardSpec, FeedForwardSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._attention import Attention
    from .._blocks import AbstractBlock
    from .._feed_forward import AbstractFeedForward


class BlockParts(NamedTuple):
    """What a block is made of."""

    attention: "Attention"
    feed_forward: "AbstractFeedForward"
    layer: LayerSizes


@dataclass(frozen=True, kw_only=True)
class AbstractBlockSpec(AbstractSpec):
    """What a column keeps of itself while it reads from others."""

    final_norm: ClassVar[bool] = False
    """Whether the columns after the last block are to be normalised."""

    @abc.abstractmethod
    def build(self, sizes: BlockParts, key: Any) -> "AbstractBlock":
        """The block of one layer, of its attention and its feed-forward network."""


@dataclass(frozen=True, kw_only=True)
class PostNormSpec(AbstractBlockSpec):
    """Residuals, then norms: h ← LN(h + f(h))."""

    name: ClassVar[str] = "post-norm"

    def build(self, sizes: BlockParts, key: Any) -> "AbstractBlock":
        from .. import _blocks
        from .._norms import LayerNorm

        width = sizes.layer.width
        return _blocks.PostNorm(
            sizes.attention, sizes.feed_forward, (LayerNorm(width), LayerNorm(width)),
            sizes.layer.dropout,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PreNormSpec(AbstractBlockSpec):
    """Norms, then residuals: h ← h + f(LN(h))."""

    name: ClassVar[str] = "pre-norm"
    final_norm: ClassVar[bool] = True

    def build(self, sizes: BlockParts, key: Any) -> "AbstractBlock":
        from .. import _blocks
        from .._norms import LayerNorm

        width = sizes.layer.width
        return _blocks.PreNorm(
            sizes.attention, sizes.feed_forward, (LayerNorm(width), LayerNorm(width)),
            sizes.layer.dropout,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CopyGateSpec(AbstractBlockSpec):
    """A gate for every number of a column, which may copy it (Eqs. 5.1 to 5.5)."""

    name: ClassVar[str] = "copy-gate"

    gate: AbstractFeedForwardSpec = FeedForwardSpec(outer_bias=-3.0)
    """The network of the gates, with as many hidden units as a column has numbers."""
    gate_dropout: Fraction = 0.1
    """How often a column is copied in training whatever its gates say."""
    data_norm: bool = True
    """Normalise what the feed-forward network writes, or pass it through tanh."""
    residual: bool = False
    """Add what the feed-forward network reads to what it writes (Eq. E.2)."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: BlockParts, key: Any) -> "AbstractBlock":
        from .. import _blocks
        from .._norms import LayerNorm

        width = sizes.layer.width
        return _blocks.CopyGate(
            sizes.attention,
            LayerNorm(width),
            sizes.feed_forward,
            self.gate.build(sizes.layer._replace(hidden=width), key),
            LayerNorm(width) if self.data_norm else None,
            self.residual,
            sizes.layer.dropout,
            self.gate_dropout,
        )
