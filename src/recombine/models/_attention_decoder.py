"""An LSTM that writes, and attends to what was read."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._initializers import xavier_uniform
from ._lstm import LSTM, LSTMState


class Memory(NamedTuple):
    """What an encoder leaves to its decoder."""

    keys: Float[Array, "batch positions units"]
    values: Float[Array, "batch positions units"]
    mask: Float[Array, "batch positions"]
    """What is added to scores: 0 within the input, −∞ for padding."""


class DecoderState(NamedTuple):
    """What the decoder carries from one step to the next."""

    lstm: LSTMState
    attention: Float[Array, "batch units"]
    """The attention vector, from which the next symbol is read."""


class AttentionDecoder(eqx.Module):
    """An LSTM that reads its last symbol and its last attention vector, and attends to a memory.

    Attention is Luong's, multiplicative. With the LSTM's output d, keys k_j and values v_j, weights
    are the softmax over j of d · k_j, the context c is the mean of the v_j under them, and the
    attention vector is [d, c] W_c, without a nonlinearity.
    """

    embedding: Float[Array, "symbols embedding"]
    lstm: LSTM
    mix: Float[Array, "output_and_context units"]
    """W_c."""

    def __init__(self, symbols: int, embedding: int, units: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `symbols`: how many symbols it reads.
        - `embedding`: numbers that stand for a symbol; they start uniform on ±1. Other weights
            start as `xavier_uniform`.
        - `units`: units of the LSTM; keys, values and attention vectors have as many numbers.
        """
        of_embedding, of_lstm, of_mix = jax.random.split(key, 3)
        self.embedding = jax.random.uniform(of_embedding, (symbols, embedding), float, -1.0)
        self.lstm = LSTM(embedding + units, units, key=of_lstm)
        self.mix = xavier_uniform((2 * units, units), key=of_mix)

    def attend(
        self, output: Float[Array, "batch units"], memory: Memory
    ) -> Float[Array, "batch positions"]:
        """The weights of attention: they sum to 1, and are 0 beyond the input."""
        scores = jnp.einsum("bu,bpu->bp", output, memory.keys)
        return jax.nn.softmax(scores + memory.mask, axis=1)

    def __call__(
        self, memory: Memory, state: DecoderState, symbols: Int[Array, " batch"]
    ) -> DecoderState:
        """One step, after the `symbols`."""
        split = self.embedding.shape[1]
        # A symbol's share of the gates is looked up: there are fewer symbols than rows.
        of_symbols = self.embedding @ self.lstm.weight[:split] + self.lstm.bias
        fed_back = jnp.concatenate([state.attention, state.lstm.hidden], axis=1)
        gates = of_symbols[symbols] + fed_back @ self.lstm.weight[split:]
        lstm = self.lstm.update(gates, state.lstm.cell)
        weights = self.attend(lstm.hidden, memory)
        context = jnp.einsum("bp,bpu->bu", weights, memory.values)
        return DecoderState(lstm, jnp.concatenate([lstm.hidden, context], axis=1) @ self.mix)
