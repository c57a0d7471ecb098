"""Decoders: symbols become columns, which read earlier ones and what an encoder has read."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._attention import Attention, KeysAndValues
from ._dropout import dropout, split
from ._embedding import Embedding
from ._feed_forward import AbstractFeedForward
from ._masks import causal_mask
from ._norms import LayerNorm
from ._positions import AbstractPositions


class DecoderBlock(eqx.Module):
    """Self-attention, attention to a memory, a feed-forward network: post-norm.

    Each of the three is added to its input and normalised. Dropout acts on all summands.
    """

    attention: Attention
    cross_attention: Attention
    feed_forward: AbstractFeedForward
    norms: tuple[LayerNorm, LayerNorm, LayerNorm]
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        written: KeysAndValues,
        memory: KeysAndValues,
        mask: Bool[Array, "..."],
        memory_mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch targets width"]:
        """The targets after the layer.

        **Arguments:**

        - `written`: keys and values of the columns of this layer, made by `attention`.
        - `memory`: those of the columns of the encoder, made by `cross_attention`.
        - `mask`, `memory_mask`: which of them a target may read.
        - `at`: positions of the targets among `written`; None if they are the last of them.
        - `key`: for dropout; None for none.
        """
        keys = split(key, 6)
        read, _ = self.attention.read(targets, written, mask, at=at, key=keys[0])
        a = self.norms[0](targets + dropout(read, self.dropout, key=keys[1]))
        read, _ = self.cross_attention.read(a, memory, memory_mask, key=keys[2])
        b = self.norms[1](a + dropout(read, self.dropout, key=keys[3]))
        update, _ = self.feed_forward(b, key=keys[4])
        return self.norms[2](b + dropout(update, self.dropout, key=keys[5]))


class DecoderCache(NamedTuple):
    """What a decoder need not compute again when it writes the next symbol."""

    written: tuple[KeysAndValues, ...]
    """Of every layer, the keys and values of all columns so far; room for others is 0."""
    memory: tuple[KeysAndValues, ...]
    """Of every layer, those of the encoder's columns."""
    memory_mask: Bool[Array, "batch 1 positions"]


class Decoder(eqx.Module):
    """Embedding → positions → dropout → layers → logits, with the matrix of the embedding.

    Symbol 0 ends sequences, and is the first one that is read.
    """

    embedding: Embedding
    """One vector per symbol, that of symbol 0 first; logits are products with them."""
    bias: Float[Array, " symbols"]
    positions: AbstractPositions | None
    """How absolute positions enter; None if they do not."""
    block: DecoderBlock
    """One block for all layers; or, not `shared`, one per layer, along a leading axis."""
    layers: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True)
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        outputs: Int[Array, "batch steps"],
        memory: Float[Array, "batch positions width"],
        memory_mask: Bool[Array, "batch 1 positions"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch steps symbols"]:
        """The logits of every symbol, given the true ones before it."""
        of_embedding, of_layers = split(key, 2)
        before = jnp.pad(outputs[:, :-1], ((0, 0), (1, 0)))
        columns = dropout(self._embed(before, 0), self.dropout, key=of_embedding)
        mask = causal_mask(outputs.shape[1], outputs.shape[1])
        for t, own in enumerate(split(of_layers, self.layers)):
            block = self.layer(t)
            columns = block(
                columns, block.attention.keys_and_values(columns),
                block.cross_attention.keys_and_values(memory), mask, memory_mask, key=own,
            )  # fmt: skip
        return self._read(columns)

    def start(
        self,
        memory: Float[Array, "batch positions width"],
        memory_mask: Bool[Array, "batch 1 positions"],
        steps: int,
    ) -> DecoderCache:
        """The cache before the first of at most `steps` symbols."""
        read = [self.layer(t).cross_attention.keys_and_values(memory) for t in range(self._kinds)]
        heads, batch, _, width = read[0].keys.shape
        # Arrays of their own: each is written in place.
        empty = tuple(
            KeysAndValues(*(jnp.zeros((heads, batch, steps, width), memory.dtype) for _ in "kv"))
            for _ in range(self.layers)
        )
        return DecoderCache(empty, tuple(read * (self.layers // self._kinds)), memory_mask)

    def write(
        self, cache: DecoderCache, t: Int[Array, ""], symbols: Int[Array, " batch"]
    ) -> tuple[Float[Array, "batch symbols"], DecoderCache]:
        """The logits of symbol t, after `symbols`, and the cache with the new column."""
        columns, written = self._embed(symbols[:, None], t), []
        steps = cache.written[0].keys.shape[2]
        mask, at = jnp.arange(steps) <= t, jnp.full((len(symbols), 1), t)
        for layer, (so_far, memory) in enumerate(zip(cache.written, cache.memory, strict=True)):
            block = self.layer(layer)
            new = block.attention.keys_and_values(columns)
            so_far = jax.tree.map(
                lambda old, one: jax.lax.dynamic_update_slice_in_dim(old, one, t, axis=2),
                so_far, new,
            )  # fmt: skip
            columns = block(columns, so_far, memory, mask, cache.memory_mask, at=at)
            written.append(so_far)
        return self._read(columns)[:, 0], cache._replace(written=tuple(written))

    def layer(self, t: int) -> DecoderBlock:
        """The block of a layer."""
        return self.block if self.shared else jax.tree.map(lambda x: x[t], self.block)

    @property
    def _kinds(self) -> int:
        """How many different blocks there are."""
        return 1 if self.shared else self.layers

    def _embed(self, symbols, first) -> Float[Array, "batch steps width"]:
        columns = self.embedding(symbols + 1)  # whose first vector is that of token 1
        return columns if self.positions is None else self.positions(columns, first)

    def _read(self, columns) -> Float[Array, "batch steps symbols"]:
        rows = columns.reshape(-1, columns.shape[2])
        return (rows @ self.embedding.weight.T + self.bias).reshape(*columns.shape[:2], -1)
