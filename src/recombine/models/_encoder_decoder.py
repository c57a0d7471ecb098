"""Encoder and decoder: one sequence of tokens is turned into another."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._decoder import Decoder
from ._dropout import split
from ._encoder import Encoder
from ._masks import padding_mask


class Written(NamedTuple):
    """What a network writes by itself, each symbol after those that it has chosen before."""

    symbols: Int[Array, "batch steps"]
    """The most probable symbols; 0 from the end on."""
    losses: Float[Array, "batch steps"]
    """The cross-entropy of every true symbol in its place; 0 from the true length on."""


class EncoderDecoder(eqx.Module):
    """A transformer that reads a sequence and writes another one.

    Inputs are read between two tokens of their own, which mark beginning and end. Symbol 0 ends
    outputs, fills them up, and is the first one that the decoder reads.

    ```python
    spec = specs.UniversalSpec(width=64, hidden=128, heads=4, layers=3)
    model = spec.build(specs.TranslationSizes(words=13, symbols=6), key)
    logits = model(*batch, key=key)  # a `recombine.tasks.SequenceBatch`, with dropout
    symbols = model.greedy(batch.inputs, batch.input_lengths, 49)
    ```
    """

    encoder: Encoder
    decoder: Decoder

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
        memory, mask = self._encode(inputs, input_lengths, of_encoder)
        return self.decoder(outputs, memory, mask, key=of_decoder)

    def greedy(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        steps: int,
    ) -> Int[Array, "batch steps"]:
        """The most probable symbols, each after those chosen before it; 0 from the end on."""
        outputs, none = jnp.zeros((len(inputs), steps), int), jnp.zeros(len(inputs), int)
        return self._write(inputs, input_lengths, outputs, none, none, none + steps).symbols

    def greedy_to_length(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        output_lengths: Int[Array, " batch"],
        steps: int,
    ) -> Int[Array, "batch steps"]:
        """The most probable symbols of an output whose length is told.

        The end symbol cannot be chosen before it, and nothing else is written in its place.
        """
        outputs, end = jnp.zeros((len(inputs), steps), int), output_lengths - 1
        return self._write(inputs, input_lengths, outputs, 0 * end, end, end).symbols

    def free_running(
        self,
        inputs: Int[Array, "batch positions"],
        input_lengths: Int[Array, " batch"],
        outputs: Int[Array, "batch steps"],
        output_lengths: Int[Array, " batch"],
    ) -> Written:
        """What the network writes, and its loss on the true outputs while it reads its own ones."""
        none, steps = jnp.zeros_like(output_lengths), outputs.shape[1]
        return self._write(inputs, input_lengths, outputs, output_lengths, none, none + steps)

    def _encode(
        self, inputs, lengths, key
    ) -> tuple[Float[Array, "batch positions width"], Bool[Array, "batch 1 positions"]]:
        """The columns of the encoder, and which of them are no padding."""
        tokens = framed(inputs, lengths, len(self.encoder.embedding.weight) - 2)
        columns, _ = self.encoder(tokens, lengths + 1, key=key)
        return columns, padding_mask(lengths + 1, tokens.shape[1])

    def _write(self, inputs, input_lengths, outputs, scored, least, most) -> Written:
        """Write until all sequences have ended and all losses are known.

        **Arguments:**

        - `outputs`: the true symbols.
        - `scored`: how many of them in each sequence have losses.
        - `least`, `most`: how many symbols each sequence has before its end.
        """
        memory, mask = self._encode(inputs, input_lengths, None)
        batch, steps = outputs.shape
        cache = self.decoder.start(memory, mask, steps)

        def goes_on(carry):
            t, _, _, _, ended, *_ = carry
            return (t < steps) & ~(ended & (scored <= t)).all()

        def write(carry):
            t, cache, before, symbols, ended, losses = carry
            logits, cache = self.decoder.write(cache, t, before)
            true = jax.lax.dynamic_index_in_dim(outputs, t, axis=1, keepdims=False)
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, true)
            losses = losses.at[t].set(jnp.where(t < scored, loss, 0))
            # A network that must not end chooses among the other symbols.
            end = jnp.where(t < least, -jnp.inf, logits[:, 0])
            chosen = logits.at[:, 0].set(end).argmax(axis=1).astype(before.dtype)
            chosen = jnp.where(t < most, chosen, 0)
            ended |= chosen == 0
            symbols = symbols.at[t].set(jnp.where(ended, 0, chosen))
            # What stands after an end is read like anything else: the loss needs all places.
            return t + 1, cache, chosen, symbols, ended, losses

        symbols = jnp.zeros((steps, batch), inputs.dtype)
        start = (
            jnp.array(0), cache, symbols[0], symbols, jnp.zeros(batch, bool),
            jnp.zeros((steps, batch), memory.dtype),
        )  # fmt: skip
        _, _, _, symbols, _, losses = jax.lax.while_loop(goes_on, write, start)
        return Written(symbols.T, losses.T)


def framed(
    inputs: Int[Array, "batch positions"], lengths: Int[Array, " batch"], words: int
) -> Int[Array, "batch framed"]:
    """Inputs between the tokens that mark their beginning and their end.

    They are the two after the `words`; lengths, which count the end, grow by 1.

    ```python
    framed(jnp.array([[1, 2, 0], [2, 0, 0]]), jnp.array([3, 2]), 2)  # [[3, 1, 2, 4], [3, 2, 4, 0]]
    ```
    """
    ends = jnp.arange(inputs.shape[1]) == lengths[:, None] - 1
    return jnp.pad(jnp.where(ends, words + 2, inputs), ((0, 0), (1, 0)), constant_values=words + 1)
