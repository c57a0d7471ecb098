"""Specs of LSTMs that read one sequence and write another one. Sizes are those of Section B.3.7."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..._ranges import Count, Fraction, check_ranges
from ._encoder_decoders import AbstractTranslatorSpec, TranslationSizes

if TYPE_CHECKING:
    from .._recurrent_encoder_decoder import RecurrentEncoderDecoder


@dataclass(frozen=True, kw_only=True)
class RecurrentEncoderDecoderSpec(AbstractTranslatorSpec):
    """Layers of LSTMs that read, and others that write, without attention."""

    name: ClassVar[str] = "lstm-encoder-decoder"

    embedding: Count = 16
    """Numbers that stand for a word or a symbol."""
    units: Count = 200
    """Units of a layer."""
    layers: Count = 2
    """Number of layers of the encoder, and of the decoder."""
    dropout: Fraction = 0.5
    """Dropout of what every layer reads."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: TranslationSizes, key: Any) -> "RecurrentEncoderDecoder":
        """The untrained network."""
        from .._recurrent_encoder_decoder import RecurrentEncoderDecoder

        return RecurrentEncoderDecoder(
            sizes.words + 1, sizes.symbols + 1, embedding=self.embedding, units=self.units,
            layers=self.layers, dropout=self.dropout, key=key,
        )  # fmt: skip
