"""Networks that write something at every step of a sequence."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dnc import DNC
from ._dropout import split
from ._embedding import Embedding
from ._lstm import LSTM
from ._masks import padding_mask
from ._positions import AbstractPositions
from ._stack import Stack


class AbstractTransducer(eqx.Module):
    """A network that reads a sequence of vectors and writes logits at every step."""

    @abc.abstractmethod
    def __call__(
        self,
        x: Float[Array, "batch time inputs"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch time outputs"]:
        """The logits at every step up to the lengths. With a `key` for dropout, as in training."""


class MemoryTransducer(AbstractTransducer):
    """A differentiable neural computer."""

    dnc: DNC

    def __call__(self, x, lengths, *, key=None):
        return self.dnc(x, lengths)[0]


class LSTMTransducer(AbstractTransducer):
    """Layers of LSTMs, and a linear map of what the last one says."""

    layers: tuple[LSTM, ...]
    readout: Dense

    def __call__(self, x, lengths, *, key=None):
        for lstm in self.layers:
            x, _ = lstm(x, lengths)
        return self.readout(x)


class EncoderTransducer(AbstractTransducer):
    """An encoder whose columns are read one by one: vectors → columns → layers → logits.

    A column sees the whole sequence, also what comes after it.
    """

    embedding: Dense
    positions: AbstractPositions | None
    stack: Stack
    readout: Dense

    def __call__(self, x, lengths, *, key=None):
        columns = self.embedding(x)
        columns = columns if self.positions is None else self.positions(columns)
        mask = padding_mask(lengths, x.shape[1])
        columns, _ = self.stack(columns, mask, key=split(key, 1)[0])
        return self.readout(columns)


class TokenTransducer(eqx.Module):
    """A table of embeddings in front of a transducer, whose logits are those of tokens.

    Token 0, which fills sequences up and stands where there is no input, has an embedding too.
    """

    embedding: Embedding
    network: AbstractTransducer

    def __call__(
        self,
        tokens: Int[Array, "batch time"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch time vocabulary"]:
        """The logits of tokens at every step."""
        return self.network(self.embedding(tokens + 1), lengths, key=key)
