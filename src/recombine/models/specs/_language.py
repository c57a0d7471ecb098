"""Specs of language models."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, Fraction, check_ranges
from ..._spec import AbstractSpec
from ._attention import AbstractAttentionSpec, RelativeAttentionSpec
from ._blocks import AbstractBlockSpec, BlockParts, PreNormSpec
from ._feed_forward import AbstractFeedForwardSpec
from ._layer_sizes import LayerSizes
from ._projections import AbstractProjectionsSpec, DepthScaledProjectionsSpec
from ._sparse_feed_forward import DepthScaledFeedForwardSpec

if TYPE_CHECKING:
    from .._language_model import LanguageModel


class LanguageSizes(NamedTuple):
    """What a text asks of a language model."""

    vocabulary: int
    """The number of tokens."""


@dataclass(frozen=True, kw_only=True)
class AbstractLanguageSpec(AbstractSpec):
    """A network that predicts the next token."""

    @abc.abstractmethod
    def build(self, sizes: LanguageSizes, key: Any) -> "LanguageModel":
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class TransformerXLSpec(AbstractLanguageSpec):
    """Transformer-XL with norms before its blocks; sizes are those of 47 million parameters."""

    name: ClassVar[str] = "transformer-xl"

    width: Count = 412
    """Column width, d_model."""
    hidden: Count = 2053
    """Hidden units of a dense feed-forward network, d_FF."""
    heads: Count = 10
    """Heads of attention."""
    head_width: Count | None = 41
    """Numbers of a query of one head; none: heads share the width of a column."""
    layers: Count = 16
    """Number of layers; each has weights of its own."""
    dropout: Fraction = 0.1
    """Dropout of columns and of hidden units."""
    attention: AbstractAttentionSpec = RelativeAttentionSpec(dropout=0.0, depth_scaled=True)
    """What a column reads."""
    projections: AbstractProjectionsSpec = DepthScaledProjectionsSpec()
    """How queries, keys and values are made."""
    feed_forward: AbstractFeedForwardSpec = DepthScaledFeedForwardSpec()
    """What a column does with itself."""
    block: AbstractBlockSpec = PreNormSpec()
    """How both are put together."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.head_width is None and self.width % self.heads:
            raise ValueError(f"width={self.width} cannot be cut into heads={self.heads}")

    def build(self, sizes: LanguageSizes, key: Any) -> "LanguageModel":
        import equinox as eqx
        import jax

        from .._attention import Attention
        from .._dense import Dense
        from .._embedding import Embedding
        from .._initializers import xavier_uniform
        from .._language_model import LanguageModel
        from .._norms import LayerNorm
        from .._stack import Stack

        d = self.width
        layer = LayerSizes(
            d, self.hidden, self.heads, self.dropout, self.layers, self.head_width
        )  # fmt: skip

        def make_block(key):
            of_scores, of_projections, of_feed_forward, of_block = jax.random.split(key, 4)
            projections = self.projections.build(layer, of_projections)
            scores = self.attention.build(layer, of_scores)
            feed_forward = self.feed_forward.build(layer, of_feed_forward)
            attention = Attention(*projections, scores, self.heads)
            return self.block.build(BlockParts(attention, feed_forward, layer), of_block)

        of_vectors, of_blocks, of_readout = jax.random.split(key, 3)
        blocks = eqx.filter_vmap(make_block)(jax.random.split(of_blocks, self.layers))
        norm = LayerNorm(d) if self.block.final_norm else None
        return LanguageModel(
            Embedding(xavier_uniform((sizes.vocabulary, d), key=of_vectors)),
            Stack(blocks, self.layers, shared=False, norm=norm),
            Dense.uniform(d, sizes.vocabulary, key=of_readout),
            self.dropout,
        )
