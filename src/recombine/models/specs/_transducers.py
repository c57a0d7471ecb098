"""Specs of networks that write something at every step, among them all variants of the DNC."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, Fraction, check_ranges
from ..._spec import AbstractSpec
from ._encoders import AbstractEncoderSpec, NDRSpec
from ._memory_cards import CELLS, VECTOR, MemoryCard
from ._sequence import SequenceSizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._controllers import AbstractController
    from .._transducers import (
        AbstractTransducer,
        EncoderTransducer,
        LSTMTransducer,
        MemoryTransducer,
    )


class TransducerSizes(NamedTuple):
    """What a problem asks of a transducer."""

    inputs: int
    """Numbers that are read at every step."""
    outputs: int
    """Logits that are written at every step."""


@dataclass(frozen=True, kw_only=True)
class AbstractTransducerSpec(AbstractSpec):
    """A network that writes something at every step."""

    @abc.abstractmethod
    def build(self, sizes: TransducerSizes, key: Any) -> "AbstractTransducer":
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class AbstractControllerSpec(AbstractSpec):
    """A network that controls a memory."""

    units: Count = 32
    """Units of a layer."""
    layers: Count = 1
    """Number of layers."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @abc.abstractmethod
    def build(self, sizes: Any, key: Any) -> "Callable[..., AbstractController]":
        """The class of the controller; the memory that it controls makes one."""


@dataclass(frozen=True, kw_only=True)
class LSTMControllerSpec(AbstractControllerSpec):
    """Layers of LSTMs."""

    name: ClassVar[str] = "lstm-controller"

    def build(self, sizes: Any, key: Any) -> "Callable[..., AbstractController]":
        """The class of the controller."""
        from .._controllers import LSTMController

        return LSTMController


@dataclass(frozen=True, kw_only=True)
class FeedForwardControllerSpec(AbstractControllerSpec):
    """Layers of ReLUs, which have no state of their own."""

    name: ClassVar[str] = "feed-forward-controller"

    def build(self, sizes: Any, key: Any) -> "Callable[..., AbstractController]":
        """The class of the controller."""
        from .._controllers import FeedForwardController

        return FeedForwardController


@dataclass(frozen=True, kw_only=True)
class MemorySpec(AbstractTransducerSpec):
    """A differentiable neural computer, in any of its eight variants (Chapter 2)."""

    name: ClassVar[str] = "dnc"
    card: ClassVar[MemoryCard] = CELLS

    controller: AbstractControllerSpec = LSTMControllerSpec()
    """What controls the memory."""
    cells: Count = 16
    """Cells of the memory, N."""
    word: Count = 16
    """Numbers of a cell, W."""
    heads: Count = 1
    """Heads that read, R."""
    masks: bool = False
    """Lookups compare masked words (M)."""
    empties: bool = False
    """Cells that are freed lose what is in them (D)."""
    sharpens: bool = False
    """Distributions along links are sharpened (S)."""
    mask_min: Fraction = 0.1
    """δ, the least that a mask can be."""
    mask_bias: float = 1.0
    """Where the biases of masks start."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def title(self) -> str:
        """What the variant is called: DNC, DNC-M, ..., DNC-MDS."""
        chosen = zip("MDS", (self.masks, self.empties, self.sharpens), strict=True)
        letters = "".join(letter for letter, on in chosen if on)
        return f"DNC-{letters}" if letters else "DNC"

    def build(self, sizes: TransducerSizes, key: Any) -> "MemoryTransducer":
        """The untrained network."""
        from .._dnc import DNC
        from .._transducers import MemoryTransducer

        return MemoryTransducer(
            DNC(
                *sizes, units=self.controller.units, layers=self.controller.layers,
                controller=self.controller.build(sizes, key), cells=self.cells, word=self.word,
                heads=self.heads, masks=self.masks, empties=self.empties, sharpens=self.sharpens,
                mask_min=self.mask_min, mask_bias=self.mask_bias, key=key,
            )
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LSTMTransducerSpec(AbstractTransducerSpec):
    """Layers of LSTMs without a memory."""

    name: ClassVar[str] = "lstm"
    card: ClassVar[MemoryCard] = VECTOR

    units: Count = 32
    """Units of a layer."""
    layers: Count = 1
    """Number of layers."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: TransducerSizes, key: Any) -> "LSTMTransducer":
        """The untrained network."""
        import jax

        from .._dense import Dense
        from .._lstm import LSTM
        from .._transducers import LSTMTransducer

        of_readout, *keys = jax.random.split(key, self.layers + 1)
        widths = [sizes.inputs] + [self.units] * (self.layers - 1)
        layers = (LSTM(n, self.units, key=k) for n, k in zip(widths, keys, strict=True))
        return LSTMTransducer(
            tuple(layers), Dense.xavier(self.units, sizes.outputs, key=of_readout)
        )


@dataclass(frozen=True, kw_only=True)
class EncoderTransducerSpec(AbstractTransducerSpec):
    """An encoder whose columns are read one by one; each sees the whole sequence."""

    name: ClassVar[str] = "encoder"

    encoder: AbstractEncoderSpec = NDRSpec()
    """What makes of rows what is read; its embedding of tokens is left out."""

    @property
    def card(self) -> MemoryCard:
        """What the encoder remembers with."""
        return self.encoder.card

    def build(self, sizes: TransducerSizes, key: Any) -> "EncoderTransducer":
        """The untrained network."""
        import jax

        from .._dense import Dense
        from .._transducers import EncoderTransducer

        of_encoder, of_embedding = jax.random.split(key)
        made = self.encoder.build(SequenceSizes(1, sizes.outputs), of_encoder)
        embedding = Dense.xavier(sizes.inputs, self.encoder.width, key=of_embedding)
        return EncoderTransducer(
            embedding, made.encoder.positions, made.encoder.stack, made.readout
        )
