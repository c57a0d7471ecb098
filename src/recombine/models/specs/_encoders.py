"""Specs of encoders: each is its own choice of parts.

Sizes are those of table lookup in Table D.3, and of CTL++ in Table E.1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..._ranges import Count, Fraction, check_ranges
from ._attention import (
    AbstractAttentionSpec,
    GeometricAttentionSpec,
    RelativeAttentionSpec,
    SoftmaxAttentionSpec,
)
from ._blocks import AbstractBlockSpec, BlockParts, CopyGateSpec, PostNormSpec
from ._feed_forward import AbstractFeedForwardSpec, FeedForwardSpec
from ._halting import HaltingSpec
from ._layer_sizes import LayerSizes
from ._memory_cards import COLUMNS, UNSHARED_COLUMNS, MemoryCard
from ._positions import AbstractPositionsSpec, SinusoidsSpec
from ._projections import AbstractProjectionsSpec, HeadwiseProjectionsSpec, ProjectionsSpec
from ._sequence import AbstractSequenceSpec, SequenceSizes

if TYPE_CHECKING:
    from .._sequence_classifier import SequenceClassifier


@dataclass(frozen=True, kw_only=True)
class AbstractEncoderSpec(AbstractSequenceSpec):
    """An encoder from one of whose columns classes are read."""

    width: Count
    """Column width, d_model."""
    hidden: Count
    """Hidden units of the feed-forward network, d_FF."""
    heads: Count
    """Heads of attention."""
    layers: Count
    """Number of layers."""
    test_layers: Count | None = None
    """Number of layers after training, if it differs."""
    shared_layers: bool = True
    """One block for all layers, or one per layer."""
    dropout: Fraction
    """Dropout of what is read, of what feed-forward networks write, and of their hidden units."""
    embedding_dropout: Fraction = 0.0
    """Dropout of the columns before the first layer."""
    attention: AbstractAttentionSpec
    """What a column reads."""
    projections: AbstractProjectionsSpec = ProjectionsSpec()
    """How queries, keys and values are made."""
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec()
    """What a column does with itself."""
    block: AbstractBlockSpec = PostNormSpec()
    """How both are put together."""
    positions: AbstractPositionsSpec | None = None
    """Absolute positions."""
    embedding_init: Literal["normal", "kaiming", "xavier"] = "normal"
    """How embeddings start: normal, as Kaiming's normal or as Xavier's uniform numbers."""
    reads: Literal["last", "first"] = "last"
    """The column from which classes are read."""
    halting: HaltingSpec | None = None
    """How columns halt; none: all pass through all layers."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads:
            raise ValueError(f"width={self.width} cannot be cut into heads={self.heads}")
        if not self.shared_layers and self.test_layers not in (None, self.layers):
            raise ValueError(f"test_layers={self.test_layers} needs shared_layers=True")

    @property
    def card(self) -> MemoryCard:
        """What the encoder remembers with."""
        return COLUMNS if self.shared_layers else UNSHARED_COLUMNS

    def build(self, sizes: SequenceSizes, key: Any) -> "SequenceClassifier":
        """The untrained encoder with its readout."""
        import equinox as eqx
        import jax

        from .._attention import Attention
        from .._dense import Dense
        from .._embedding import Embedding
        from .._encoder import Encoder
        from .._initializers import kaiming_normal, xavier_uniform
        from .._norms import LayerNorm
        from .._sequence_classifier import SequenceClassifier
        from .._stack import Stack

        layer = LayerSizes(self.width, self.hidden, self.heads, self.dropout, self.layers)

        def make_block(key):
            of_scores, of_projections, of_feed_forward, of_block = jax.random.split(key, 4)
            projections = self.projections.build(layer, of_projections)
            scores = self.attention.build(layer, of_scores)
            feed_forward = self.feed_forward.build(layer, of_feed_forward)
            attention = Attention(*projections, scores, self.heads)
            return self.block.build(BlockParts(attention, feed_forward, layer), of_block)

        keys = jax.random.split(key, 5)
        shape = sizes.vocabulary, self.width
        vectors = {
            "normal": lambda key: jax.random.normal(key, shape),
            "kaiming": lambda key: kaiming_normal(shape, self.width, key=key),
            "xavier": lambda key: xavier_uniform(shape, key=key),
        }[self.embedding_init](keys[0])
        if self.shared_layers:
            block = make_block(keys[1])
        else:
            block = eqx.filter_vmap(make_block)(jax.random.split(keys[1], self.layers))
        final_norm = getattr(self.block, "final_norm", False)
        stack = Stack(
            block,
            self.layers,
            test_layers=self.test_layers,
            shared=self.shared_layers,
            halting=None if self.halting is None else self.halting.build(layer, keys[2]),
            norm=LayerNorm(self.width) if final_norm else None,
        )
        positions = None if self.positions is None else self.positions.build(layer, keys[3])
        return SequenceClassifier(
            encoder=Encoder(Embedding(vectors), positions, stack, self.embedding_dropout),
            readout=Dense.uniform(self.width, sizes.classes, key=keys[4]),
            reads=self.reads,
        )


@dataclass(frozen=True, kw_only=True)
class TransformerSpec(AbstractEncoderSpec):
    """Softmax attention between columns with absolute positions."""

    name: ClassVar[str] = "transformer"

    width: int = 128
    hidden: int = 256
    heads: int = 4
    layers: int = 11
    dropout: float = 0.1
    embedding_dropout: float = 0.1
    attention: AbstractAttentionSpec = SoftmaxAttentionSpec()
    positions: AbstractPositionsSpec | None = SinusoidsSpec()


@dataclass(frozen=True, kw_only=True)
class RelativeTransformerSpec(AbstractEncoderSpec):
    """ "+ rel": relative positions in the attention."""

    name: ClassVar[str] = "relative"

    width: int = 128
    hidden: int = 256
    heads: int = 4
    layers: int = 11
    dropout: float = 0.1
    attention: AbstractAttentionSpec = RelativeAttentionSpec(dropout=0.0)
    embedding_init: Literal["normal", "kaiming", "xavier"] = "kaiming"


@dataclass(frozen=True, kw_only=True)
class GeometricTransformerSpec(AbstractEncoderSpec):
    """ "+ geom.": geometric attention whose rows are normalised."""

    name: ClassVar[str] = "geometric"

    width: int = 128
    hidden: int = 256
    heads: int = 4
    layers: int = 11
    dropout: float = 0.1
    attention: AbstractAttentionSpec = GeometricAttentionSpec(normalised=True, dropout=0.0)
    projections: AbstractProjectionsSpec = HeadwiseProjectionsSpec()
    embedding_init: Literal["normal", "kaiming", "xavier"] = "kaiming"


@dataclass(frozen=True, kw_only=True)
class GatedRelativeTransformerSpec(AbstractEncoderSpec):
    """ "+ rel + gate": relative positions and copy gates, with tanh instead of a norm."""

    name: ClassVar[str] = "relative-gate"

    width: int = 256
    hidden: int = 1024
    heads: int = 1
    layers: int = 14
    dropout: float = 0.5
    attention: AbstractAttentionSpec = RelativeAttentionSpec()
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec(outer_gain=None)
    block: AbstractBlockSpec = CopyGateSpec(data_norm=False, gate_dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class GatedPositionTransformerSpec(AbstractEncoderSpec):
    """ "+ abs/rel + gate": a mixture of absolute and relative positions, and copy gates."""

    name: ClassVar[str] = "position-gate"

    width: int = 256
    hidden: int = 1024
    heads: int = 1
    layers: int = 14
    dropout: float = 0.5
    attention: AbstractAttentionSpec = RelativeAttentionSpec(gated=True)
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec(outer_gain=None)
    block: AbstractBlockSpec = CopyGateSpec(data_norm=False, gate_dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class NDRSpec(AbstractEncoderSpec):
    """The neural data router: geometric attention and copy gates."""

    name: ClassVar[str] = "ndr"

    width: int = 256
    hidden: int = 512
    heads: int = 1
    layers: int = 14
    dropout: float = 0.5
    attention: AbstractAttentionSpec = GeometricAttentionSpec()
    projections: AbstractProjectionsSpec = HeadwiseProjectionsSpec()
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec(outer_gain=5 / 3)
    block: AbstractBlockSpec = CopyGateSpec()


@dataclass(frozen=True, kw_only=True)
class CTLPPNDRSpec(AbstractEncoderSpec):
    """The neural data router of CTL++: GELU, and a residual around the data (Eqs. E.1 and E.2).

    Hidden units are not dropped.
    """

    name: ClassVar[str] = "ctlpp-ndr"

    width: int = 256
    hidden: int = 512
    heads: int = 4
    layers: int = 8
    test_layers: int | None = 10
    dropout: float = 0.5
    attention: AbstractAttentionSpec = GeometricAttentionSpec()
    projections: AbstractProjectionsSpec = HeadwiseProjectionsSpec(ctlpp=True)
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec(activation="gelu", dropout=0.0)
    block: AbstractBlockSpec = CopyGateSpec(
        gate=FeedForwardSpec(activation="gelu", outer_bias=-3.0, dropout=0.0), residual=True
    )
    reads: Literal["last", "first"] = "first"


@dataclass(frozen=True, kw_only=True)
class CTLPPTransformerSpec(AbstractEncoderSpec):
    """The transformer of CTL++: relative positions, and the first column is read."""

    name: ClassVar[str] = "ctlpp-transformer"

    width: int = 128
    hidden: int = 256
    heads: int = 4
    layers: int = 8
    dropout: float = 0.1
    attention: AbstractAttentionSpec = RelativeAttentionSpec()
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec(inner="normal")
    embedding_init: Literal["normal", "kaiming", "xavier"] = "kaiming"
    reads: Literal["last", "first"] = "first"
