"""Sequence to sequence: an LSTM reads in both directions, another one writes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._attention_decoder import AttentionDecoder, DecoderState, Memory
from ._bounded_scan import bounded_scan
from ._dense import Dense
from ._initializers import xavier_uniform
from ._lstm import LSTM, LSTMState
from ._masks import padding_mask

_ROWS = 32
"""About how many sequences of like length are decoded together: what they need fits a cache."""


class Seq2Seq(eqx.Module):
    """A bidirectional LSTM encoder, and an LSTM decoder with attention to its outputs (Appendix B).

    The decoder starts from the encoder's last states in both directions, side by side. Its keys are
    the encoder's outputs times a matrix, its values these outputs; the logits of the next symbol
    are linear in the attention vector. Symbol 0 ends sequences, fills them up, and is the decoder's
    first input.

    ```python
    model = Seq2Seq(14, 7, key=jax.random.key(0))
    logits = model(*batch)  # a `recombine.tasks.SequenceBatch`
    symbols = model.greedy(batch.inputs, batch.input_lengths, 49)
    ```
    """

    embedding: Float[Array, "words embedding"]
    forward: LSTM
    backward: LSTM
    keys: Float[Array, "units units"]
    decoder: AttentionDecoder
    readout: Dense
    swapped_start: bool = eqx.field(static=True)

    def __init__(
        self,
        words: int,
        symbols: int,
        *,
        embedding: int = 32,
        units: int = 64,
        output_embedding: int = 8,
        swapped_start: bool = False,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `words`, `symbols`: how many the inputs and the outputs have, with the end symbol.
        - `embedding`, `output_embedding`: numbers that stand for a word, and for a symbol; they
            start uniform on ±1. All other weights start as `xavier_uniform`, biases at 0 but for
            those of the forget gates, at 1.
        - `units`: units of the decoder; the encoder has half of them in each direction.
        - `swapped_start`: let the decoder's cell start from the encoder's hidden states, and its
            hidden state from the encoder's cells, as the published code does.
        """
        if units % 2:
            raise ValueError(
                f"{units} units cannot be halved for two directions; use an even number"
            )
        of_words, ahead, back, of_keys, of_decoder, of_readout = jax.random.split(key, 6)
        self.embedding = jax.random.uniform(of_words, (words, embedding), float, -1.0)
        self.forward = LSTM(embedding, units // 2, key=ahead)
        self.backward = LSTM(embedding, units // 2, key=back)
        self.keys = xavier_uniform((units, units), key=of_keys)
        self.decoder = AttentionDecoder(symbols, output_embedding, units, key=of_decoder)
        self.readout = Dense.xavier(units, symbols, key=of_readout)
        self.swapped_start = swapped_start

    def __call__(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
    ) -> Float[Array, "batch steps symbols"]:
        """The logits of every output symbol, given the input and the true symbols before it.

        Those from an output's length on are without meaning.
        """
        _, states = self._forced(inputs, input_lengths, outputs, output_lengths)
        logits = self.readout(states.attention.reshape(-1, states.attention.shape[2]))
        return logits.reshape(*outputs.shape, -1)

    def attention(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
    ) -> Float[Array, "batch steps positions"]:
        """How much every output symbol attends to every position of the input."""
        memory, states = self._forced(inputs, input_lengths, outputs, output_lengths)
        attend = jax.vmap(self.decoder.attend, in_axes=(1, None), out_axes=1)
        return attend(states.lstm.hidden, memory)

    def greedy(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        steps: int,
    ) -> Int[Array, "batch steps"]:
        """The most probable symbols, each after those chosen before it; 0 from the end on."""
        memory, state = self._encode(inputs, input_lengths)
        symbols = jnp.zeros((steps, len(inputs)), inputs.dtype)

        def goes_on(carry):
            t, _, _, ended = carry
            return (t < steps) & ~ended.all()

        def write(carry):
            t, state, symbols, ended = carry
            before = jnp.where(t > 0, symbols[t - 1], 0)
            state = self.decoder(memory, state, before)
            chosen = self.readout(state.attention).argmax(axis=1).astype(symbols.dtype)
            chosen = jnp.where(ended, 0, chosen)
            return t + 1, state, symbols.at[t].set(chosen), ended | (chosen == 0)

        none = jnp.zeros(len(inputs), bool)
        _, _, symbols, _ = jax.lax.while_loop(goes_on, write, (0, state, symbols, none))
        return symbols.T

    def _encode(
        self, inputs: Int[Array, "batch positions"], lengths: Int[Array, " batch"]
    ) -> tuple[Memory, DecoderState]:
        """What the decoder attends to, and where it starts."""
        words = self.embedding[inputs]
        ahead, end = self.forward(words, lengths)
        back, beginning = self.backward(words, lengths, reverse=True)
        values = jnp.concatenate([ahead, back], axis=2)
        keys = (values.reshape(-1, values.shape[2]) @ self.keys).reshape(values.shape)
        mask = jnp.where(padding_mask(lengths, inputs.shape[1])[:, 0], 0, -jnp.inf)
        hidden, cell = (jnp.concatenate(both, axis=1) for both in zip(end, beginning, strict=True))
        if self.swapped_start:
            hidden, cell = cell, hidden
        state = DecoderState(LSTMState(hidden, cell), jnp.zeros_like(hidden))
        return Memory(keys, values, mask.astype(values.dtype)), state

    def _forced(
        self, inputs, input_lengths, outputs, output_lengths
    ) -> tuple[Memory, DecoderState]:
        """What the decoder attends to, and its states after all steps: [batch, steps, ...]."""
        batch = len(inputs)
        most = max(1, batch // _ROWS)
        groups = next(n for n in range(most, 0, -1) if batch % n == 0)
        memory, start = self._encode(inputs, input_lengths)
        before = jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))
        # Sequences of like length together, so that short ones do not wait for the longest.
        order = output_lengths.argsort()
        sorted_rows = jax.tree.map(
            lambda rows: rows[order].reshape(groups, -1, *rows.shape[1:]),
            (memory, start, before, output_lengths),
        )

        def decode(group) -> DecoderState:
            memory, start, before, lengths = group
            weights = self.decoder, memory
            states = bounded_scan(_step, weights, start, before.T, lengths.max())
            return jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), states)

        states = jax.lax.map(decode, sorted_rows)
        place = order.argsort()
        return memory, jax.tree.map(lambda s: s.reshape(batch, *s.shape[2:])[place], states)


def _step(weights, state: DecoderState, symbols: Int[Array, " batch"]) -> DecoderState:
    decoder, memory = weights
    return decoder(memory, state, symbols)
