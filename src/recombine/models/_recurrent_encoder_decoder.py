"""LSTMs that read one sequence and write another one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout, split
from ._embedding import Embedding
from ._encoder_decoder import Written
from ._initializers import xavier_uniform
from ._lstm import LSTMState
from ._split_lstm import SplitLSTM

States = tuple[LSTMState, ...]
Keys = list[PRNGKeyArray | None]


class RecurrentEncoderDecoder(eqx.Module):
    """Layers of LSTMs that read, and others that write from the states in which these ended.

    Symbol 0 ends outputs, fills them up, and is the first one that the decoder reads. There is
    dropout of what every layer reads and of what the readout reads. All that the decoder knows of
    the input are the encoder's last states.
    """

    words: Embedding
    symbols: Embedding
    encoder: tuple[SplitLSTM, ...]
    decoder: tuple[SplitLSTM, ...]
    readout: Dense
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        words: int,
        symbols: int,
        *,
        embedding: int = 16,
        units: int = 200,
        layers: int = 2,
        dropout: float = 0.5,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `words`, `symbols`: how many the inputs and the outputs have, with the end symbol.
        - `embedding`: numbers that stand for a word or a symbol; they start normal.
        - `units`, `layers`: of the encoder, and of the decoder.
        """
        of_words, of_symbols, of_encoder, of_decoder, of_readout = jax.random.split(key, 5)
        sizes = [embedding] + [units] * (layers - 1)

        def stack(key):
            keys = jax.random.split(key, layers)
            return tuple(SplitLSTM(size, units, key=k) for size, k in zip(sizes, keys, strict=True))

        self.words = Embedding(jax.random.normal(of_words, (words, embedding)))
        self.symbols = Embedding(jax.random.normal(of_symbols, (symbols, embedding)))
        self.encoder, self.decoder = stack(of_encoder), stack(of_decoder)
        weight = xavier_uniform((units, symbols), key=of_readout)
        self.readout = Dense(weight, jnp.zeros(symbols))
        self.dropout = dropout

    def __call__(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch steps symbols"]:
        """The logits of every output symbol, given the input and the true symbols before it.

        Those from an output's length on are without meaning. With a `key` for dropout, as in
        training.
        """
        of_encoder, of_decoder = split(key, 2)
        states = self._encode(inputs, input_lengths, of_encoder)
        return self._forced(states, outputs, self._keys(of_decoder))

    def self_fed(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch steps symbols"]:
        """The logits of every output symbol, given the network's own choices before it."""
        of_encoder, of_decoder = split(key, 2)
        states, keys = self._encode(inputs, input_lengths, of_encoder), self._keys(of_decoder)
        chosen = self._write(states, outputs.shape[1], keys).argmax(axis=2)
        # Choices have no slope, so that the loss of what follows them is that of given symbols.
        return self._forced(states, jax.lax.stop_gradient(chosen), keys)

    def greedy(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        steps: int,
    ) -> Int[Array, "batch steps"]:
        """The most probable symbols, each after those chosen before it; 0 from the end on."""
        states = self._encode(inputs, input_lengths, None)
        chosen = self._write(states, steps, self._keys(None)).argmax(axis=2)
        ended = jnp.cumsum(chosen == 0, axis=1) > 0
        return jnp.where(ended, 0, chosen).astype(inputs.dtype)

    def free_running(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
    ) -> Written:
        """What the network writes, and its loss on the true outputs while it reads its own ones."""
        states = self._encode(inputs, input_lengths, None)
        logits = self._write(states, outputs.shape[1], self._keys(None))
        chosen = logits.argmax(axis=2)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, outputs)
        due = jnp.arange(outputs.shape[1]) < output_lengths[:, None]
        ended = jnp.cumsum(chosen == 0, axis=1) > 0
        symbols = jnp.where(ended, 0, chosen).astype(inputs.dtype)
        return Written(symbols, jnp.where(due, losses, 0))

    def _keys(self, key: PRNGKeyArray | None) -> Keys:
        """One key for what every layer reads, and one for the readout."""
        return split(key, len(self.decoder) + 1)

    def _encode(self, inputs, lengths, key) -> States:
        """The states of all layers after the end symbol."""
        reads = jnp.arange(inputs.shape[1])[:, None] < lengths
        h, states = self.words(inputs.T + 1), []
        keys = split(key, len(self.encoder))
        for cell, of_cell in zip(self.encoder, keys, strict=True):
            h, last = cell(dropout(h, self.dropout, key=of_cell), reads, cell.start(len(inputs)))
            states.append(last)
        return tuple(states)

    def _forced(self, states: States, outputs, keys: Keys) -> Float[Array, "batch steps symbols"]:
        before = jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))
        h = self.symbols(before.T + 1)
        reads = jnp.ones(before.T.shape, bool)
        for cell, start, of_cell in zip(self.decoder, states, keys[:-1], strict=True):
            h, _ = cell(dropout(h, self.dropout, key=of_cell), reads, start)
        return self.readout(dropout(h, self.dropout, key=keys[-1])).swapaxes(0, 1)

    def _write(self, states: States, steps: int, keys: Keys) -> Float[Array, "batch steps symbols"]:
        """The logits while each choice is read at the next step.

        What is dropped is the same as in `_forced`.
        """
        batch = len(states[0].hidden)
        sizes = [cell.inputs.shape[0] for cell in self.decoder] + [self.decoder[-1].units]
        kept = [
            dropout(jnp.ones((steps, batch, size)), self.dropout, key=key)
            for size, key in zip(sizes, keys, strict=True)
        ]

        def write(carry, kept):
            states, before = carry
            h, new = self.symbols(before[:, None] + 1)[:, 0], []
            for cell, state, keep in zip(self.decoder, states, kept[:-1], strict=True):
                new.append(cell.step(h * keep, state))
                h = new[-1].hidden
            logits = self.readout(h * kept[-1])
            return (tuple(new), logits.argmax(axis=1)), logits

        none = jnp.zeros(batch, int)
        _, logits = jax.lax.scan(write, (states, none), kept)
        return logits.swapaxes(0, 1)
