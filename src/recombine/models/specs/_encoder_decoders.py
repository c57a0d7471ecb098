"""Specs of encoder-decoders: absolute or relative positions, separate or shared layers.

Sizes are those of SCAN in Table C.1.
"""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, Fraction, check_ranges
from ..._spec import AbstractSpec
from ._attention import AbstractAttentionSpec, RelativeAttentionSpec, SoftmaxAttentionSpec
from ._blocks import BlockParts, PostNormSpec
from ._embeddings import AbstractEmbeddingSpec, EmbeddingSizes, NoPositionsSpec, PEDSpec
from ._feed_forward import AbstractFeedForwardSpec, FeedForwardSpec
from ._layer_sizes import LayerSizes
from ._projections import AbstractProjectionsSpec, ProjectionsSpec, PyTorchProjectionsSpec

if TYPE_CHECKING:
    from .._encoder_decoder import EncoderDecoder

_OFFSETS = RelativeAttentionSpec(
    learned_scale=False, init="pytorch", dropout=0.0, weight_dropout=0.1
)


class TranslationSizes(NamedTuple):
    """What a problem asks of a network from sequences to sequences."""

    words: int
    """The number of tokens that inputs have, without padding and frame."""
    symbols: int
    """The number of tokens that outputs have, without the end symbol."""


@dataclass(frozen=True, kw_only=True)
class AbstractTranslatorSpec(AbstractSpec):
    """A network that reads one sequence and writes another."""

    @abc.abstractmethod
    def build(self, sizes: TranslationSizes, key: Any) -> Any:
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class AbstractEncoderDecoderSpec(AbstractTranslatorSpec):
    """A transformer that reads one sequence and writes another."""

    width: Count = 128
    """Column width, d_model."""
    hidden: Count = 256
    """Hidden units of the feed-forward network, d_FF."""
    heads: Count = 8
    """Heads of attention."""
    layers: Count = 3
    """Number of layers of the encoder, and of the decoder."""
    shared_layers: bool = False
    """One block for all layers, or one per layer."""
    dropout: Fraction = 0.1
    """Dropout of what is read, of what feed-forward networks write, and of their hidden units."""
    embedding: AbstractEmbeddingSpec = PEDSpec()
    """How the vectors of tokens start, and how positions are added."""
    embedding_dropout: Fraction = 0.1
    """Dropout of the columns before the first layer."""
    attention: AbstractAttentionSpec = SoftmaxAttentionSpec(dropout=0.1)
    """What a column reads from others of its sequence."""
    cross_attention: AbstractAttentionSpec = SoftmaxAttentionSpec(dropout=0.1)
    """What a column of the decoder reads from the encoder."""
    projections: AbstractProjectionsSpec = ProjectionsSpec()
    """How the queries, keys and values of `attention` are made."""
    cross_projections: AbstractProjectionsSpec = ProjectionsSpec()
    """How those of `cross_attention` are made."""
    feed_forward: AbstractFeedForwardSpec = FeedForwardSpec()
    """What a column does with itself."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads:
            raise ValueError(f"width={self.width} cannot be cut into heads={self.heads}")

    def build(self, sizes: TranslationSizes, key: Any) -> "EncoderDecoder":
        """The untrained network."""
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        from .._attention import Attention
        from .._decoder import Decoder, DecoderBlock
        from .._encoder import Encoder
        from .._encoder_decoder import EncoderDecoder
        from .._norms import LayerNorm
        from .._stack import Stack

        layer = LayerSizes(self.width, self.hidden, self.heads, self.dropout, self.layers)

        def attention(key, scores, projections):
            of_scores, of_projections = jax.random.split(key)
            query, key_value, output = projections.build(layer, of_projections)
            made = scores.build(layer, of_scores)
            return Attention(query, key_value, output, made, self.heads)

        def encoder_block(key):
            of_attention, of_feed_forward, of_block = jax.random.split(key, 3)
            parts = BlockParts(
                attention(of_attention, self.attention, self.projections),
                self.feed_forward.build(layer, of_feed_forward),
                layer,
            )
            return PostNormSpec().build(parts, of_block)

        def decoder_block(key):
            own, cross, of_feed_forward = jax.random.split(key, 3)
            return DecoderBlock(
                attention(own, self.attention, self.projections),
                attention(cross, self.cross_attention, self.cross_projections),
                self.feed_forward.build(layer, of_feed_forward),
                (LayerNorm(self.width), LayerNorm(self.width), LayerNorm(self.width)),
                self.dropout,
            )

        def blocks(make, key):
            if self.shared_layers:
                return make(key)
            return eqx.filter_vmap(make)(jax.random.split(key, self.layers))

        keys = jax.random.split(key, 4)
        words = EmbeddingSizes(sizes.words + 2, self.width)
        symbols = EmbeddingSizes(sizes.symbols + 1, self.width)
        stack = Stack(blocks(encoder_block, keys[0]), self.layers, shared=self.shared_layers)
        vectors, positions = self.embedding.build(symbols, keys[2])
        decoder = Decoder(
            vectors, jnp.zeros(symbols.vocabulary), positions, blocks(decoder_block, keys[3]),
            self.layers, self.shared_layers, self.embedding_dropout,
        )  # fmt: skip
        return EncoderDecoder(
            Encoder(*self.embedding.build(words, keys[1]), stack, self.embedding_dropout), decoder
        )


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderSpec(AbstractEncoderDecoderSpec):
    """ "Trafo": absolute positions, separate layers."""

    name: ClassVar[str] = "transformer"


@dataclass(frozen=True, kw_only=True)
class UniversalSpec(AbstractEncoderDecoderSpec):
    """ "Uni. Trafo": absolute positions, one layer again and again."""

    name: ClassVar[str] = "universal"

    shared_layers: bool = True


@dataclass(frozen=True, kw_only=True)
class RelativeEncoderDecoderSpec(AbstractEncoderDecoderSpec):
    """ "Rel. Trafo": relative positions, separate layers."""

    name: ClassVar[str] = "relative"

    embedding: AbstractEmbeddingSpec = NoPositionsSpec()
    embedding_dropout: float = 0.0
    attention: AbstractAttentionSpec = _OFFSETS
    projections: AbstractProjectionsSpec = PyTorchProjectionsSpec()


@dataclass(frozen=True, kw_only=True)
class RelativeUniversalSpec(AbstractEncoderDecoderSpec):
    """ "Rel. Uni. Trafo": relative positions, one layer again and again."""

    name: ClassVar[str] = "relative-universal"

    shared_layers: bool = True
    embedding: AbstractEmbeddingSpec = NoPositionsSpec()
    embedding_dropout: float = 0.0
    attention: AbstractAttentionSpec = _OFFSETS
    projections: AbstractProjectionsSpec = PyTorchProjectionsSpec()
