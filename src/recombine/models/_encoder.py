"""Encoders: tokens become columns, and columns pass through layers."""

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dropout import dropout, split
from ._embedding import Embedding
from ._masks import padding_mask
from ._positions import AbstractPositions
from ._stack import Stack


class Encoder(eqx.Module):
    """Embedding → positions → dropout → layers."""

    embedding: Embedding
    positions: AbstractPositions | None
    """How absolute positions enter; None if they do not."""
    stack: Stack
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        """The columns after the last layer, all or those `at` some positions, and extras."""
        of_embedding, of_stack = split(key, 2)
        columns = self._embed(tokens, of_embedding)
        return self.stack(columns, padding_mask(lengths, tokens.shape[1]), at=at, key=of_stack)

    def trace(
        self, tokens: Int[Array, "batch length"], lengths: Int[Array, " batch"]
    ) -> dict[str, Array]:
        """All extras of every layer; see `Stack.trace`."""
        mask = padding_mask(lengths, tokens.shape[1])
        return self.stack.trace(self._embed(tokens, None), mask)

    def _embed(self, tokens, key) -> Float[Array, "batch length width"]:
        columns = self.embedding(tokens)
        columns = columns if self.positions is None else self.positions(columns)
        return dropout(columns, self.dropout, key=key)
