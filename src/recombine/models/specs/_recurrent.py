"""Specs of networks that read a sequence token by token.

Sizes are those of table lookup in Table D.3.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..._ranges import Count, Fraction, check_ranges
from ._memory_cards import CELLS, VECTOR, MemoryCard
from ._sequence import AbstractSequenceSpec, Frame, SequenceSizes

if TYPE_CHECKING:
    from .._memory_classifier import MemoryClassifier
    from .._recurrent_classifier import RecurrentClassifier


@dataclass(frozen=True, kw_only=True)
class AbstractRecurrentSpec(AbstractSequenceSpec):
    """A network that reads token by token."""

    card: ClassVar[MemoryCard] = VECTOR

    embedding: Count = 16
    """Numbers that stand for a token."""
    units: Count = 200
    """Units of an LSTM in each direction, and of the one that controls a DNC."""
    dropout: Fraction = 0.5
    """Dropout of what an LSTM reads."""
    end_token: bool = False
    """Whether a token marks the end of an input. No token marks its beginning."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def frame(self) -> Frame:
        """No token before an input, and one after it if `end_token`."""
        return Frame(begin=False, end=self.end_token)


@dataclass(frozen=True, kw_only=True)
class LSTMSpec(AbstractRecurrentSpec):
    """Layers of LSTMs that read forward."""

    name: ClassVar[str] = "lstm"

    layers: Count = 1
    """Number of layers."""

    def build(self, sizes: SequenceSizes, key: Any) -> "RecurrentClassifier":
        """The untrained network."""
        from .._recurrent_classifier import RecurrentClassifier

        return RecurrentClassifier(
            *sizes, embedding=self.embedding, units=self.units, layers=self.layers,
            dropout=self.dropout, key=key,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BiLSTMSpec(AbstractRecurrentSpec):
    """Layers of LSTMs that read in both directions."""

    name: ClassVar[str] = "bi-lstm"

    layers: Count = 1
    """Number of layers."""
    reads_halves: bool = False
    """Read the states that the published code reads in several layers: mostly backward ones, of
    the middle layer and of the last."""

    def build(self, sizes: SequenceSizes, key: Any) -> "RecurrentClassifier":
        """The untrained network."""
        from .._recurrent_classifier import RecurrentClassifier

        return RecurrentClassifier(
            *sizes, embedding=self.embedding, units=2 * self.units, layers=self.layers,
            bidirectional=True, reads_halves=self.reads_halves, dropout=self.dropout, key=key,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DNCSpec(AbstractRecurrentSpec):
    """A differentiable neural computer (Section D.3)."""

    name: ClassVar[str] = "dnc"
    card: ClassVar[MemoryCard] = CELLS

    cells: Count = 21
    """Cells of the memory."""
    word: Count = 200
    """Numbers of a cell."""
    heads: Count = 4
    """Heads that read the memory."""
    output_layer: bool = False
    """One more linear layer before the classes, as in the published code."""

    def build(self, sizes: SequenceSizes, key: Any) -> "MemoryClassifier":
        """The untrained network."""
        from .._memory_classifier import MemoryClassifier

        return MemoryClassifier(
            *sizes, embedding=self.embedding, units=self.units, cells=self.cells, word=self.word,
            heads=self.heads, output_layer=self.output_layer, dropout=self.dropout, key=key,
        )  # fmt: skip
