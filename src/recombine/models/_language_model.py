"""Language models that read a text segment by segment, and remember the segments before."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout, split
from ._embedding import Embedding
from ._masks import causal_mask
from ._stack import Stack


class SegmentMemory(NamedTuple):
    """The columns before every layer, of the last tokens of every stream."""

    columns: Float[Array, "layers batch places width"]
    filled: Int[Array, ""]
    """How many places, from the last one on, hold columns: none before the first segment."""


class Prediction(NamedTuple):
    """What a language model makes of a segment."""

    logits: Float[Array, "batch length vocabulary"]
    """Scores of the token after every token."""
    memory: SegmentMemory
    """The memory for the next segment."""
    extras: dict[str, Array]
    """What layers report besides."""


class LanguageModel(eqx.Module):
    """Transformer-XL: embedding → layers that read a memory, too → norm → scores of next tokens.

    ```python
    memory = model.memory(streams=16, places=64)  # empty
    for tokens in segments:  # [16, 64], each the continuation of the one before
        logits, memory, extras = model(tokens, memory)
    ```

    Tokens are whole numbers from 0. Nothing is learned through the memory. It may have any number
    of places, in tests more than in training.
    """

    embedding: Embedding
    stack: Stack
    readout: Dense
    dropout: float = eqx.field(static=True, default=0.0)
    """Dropout of the columns before the first layer and after the last one."""

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        return len(self.embedding.weight)

    def memory(self, streams: int, places: int) -> SegmentMemory:
        """An empty memory."""
        weight = self.embedding.weight
        shape = self.stack.layers, streams, places, weight.shape[1]
        return SegmentMemory(jnp.zeros(shape, weight.dtype), jnp.array(0))

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        memory: SegmentMemory,
        *,
        key: PRNGKeyArray | None = None,
        every: bool = False,
    ) -> Prediction:
        """Scores of next tokens, and the memory for the next segment.

        **Arguments:**

        - `key`: for dropout, as in training; None for none.
        - `every`: keep all extras of layers, not only those that are single numbers.
        """
        of_embedding, of_stack, of_columns = split(key, 3)
        # Token 0 of an embedding is padding; a stream of text has none.
        columns = dropout(self.embedding(tokens + 1), self.dropout, key=of_embedding)
        length, places = tokens.shape[1], memory.columns.shape[2]
        mask = causal_mask(length, places + length)
        mask &= jnp.arange(places + length) >= places - memory.filled
        columns, before, extras = self.stack.with_memory(
            columns, memory.columns, mask, key=of_stack, every=every
        )
        columns = dropout(columns, self.dropout, key=of_columns)
        kept = jnp.concatenate([memory.columns, before], axis=2)[:, :, length:]
        filled = jnp.minimum(memory.filled + length, places)
        remembered = SegmentMemory(jax.lax.stop_gradient(kept), filled)
        return Prediction(self.readout(columns), remembered, extras)
