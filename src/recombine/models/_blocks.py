"""Blocks: what a column keeps of itself while it reads from others."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._attention import Attention
from ._dropout import dropout, kept, split
from ._feed_forward import AbstractFeedForward
from ._norms import LayerNorm


class AbstractBlock(eqx.Module):
    """One layer: targets read from sources, and change."""

    @abc.abstractmethod
    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        sources: Float[Array, "batch sources width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        """The targets after the layer, and extras by name.

        Extras are the weights of attention, `[heads, batch, targets, sources]`, and whatever a
        block adds: the gates, a number that an objective may want.

        **Arguments:**

        - `mask`: which sources a target may read; broadcasts to `[batch, targets, sources]`.
        - `at`: positions of the targets among the sources; None if they are the last of them.
        - `key`: for dropout; None for none.
        """


class PostNorm(AbstractBlock):
    """Attention, then a feed-forward network; each is added to its input and normalised.

    a = LN(h + attention(h)), h′ = LN(a + feed_forward(a)). Dropout acts on both summands.
    """

    attention: Attention
    feed_forward: AbstractFeedForward
    norms: tuple[LayerNorm, LayerNorm]
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        sources: Float[Array, "batch sources width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        keys = split(key, 4)
        read, weights = self.attention(targets, sources, mask, at=at, key=keys[0])
        a = self.norms[0](targets + dropout(read, self.dropout, key=keys[1]))
        update, extras = self.feed_forward(a, key=keys[2])
        after = self.norms[1](a + dropout(update, self.dropout, key=keys[3]))
        return after, {"attention": weights} | extras


class PreNorm(AbstractBlock):
    """Attention, then a feed-forward network; each reads what is normalised, and is added.

    a = h + attention(LN(h)), h′ = a + feed_forward(LN(a)). Dropout acts on both summands. Nothing
    normalises the last columns; a `Stack` may.
    """

    attention: Attention
    feed_forward: AbstractFeedForward
    norms: tuple[LayerNorm, LayerNorm]
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        sources: Float[Array, "batch sources width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        keys = split(key, 4)
        norm = self.norms[0]
        read, weights = self.attention(norm(targets), norm(sources), mask, at=at, key=keys[0])
        a = targets + dropout(read, self.dropout, key=keys[1])
        update, extras = self.feed_forward(self.norms[1](a), key=keys[2])
        after = a + dropout(update, self.dropout, key=keys[3])
        return after, {"attention": weights} | extras


class CopyGate(AbstractBlock):
    """A layer that a column may skip: Eqs. 5.1 to 5.5.

    a = LN(h + attention(h)), u = N(data(a)), g = σ(gate(a)), h′ = g u + (1 − g) h. Dropout acts on
    what is read, and on the hidden units of both feed-forward networks as they see fit. Gate
    dropout sets all gates of a column to 0, which copies it; it rescales nothing.
    """

    attention: Attention
    norm: LayerNorm
    data: AbstractFeedForward
    gate: AbstractFeedForward
    data_norm: LayerNorm | None
    """N; None for tanh."""
    residual: bool = eqx.field(static=True, default=False)
    """Whether a is added to what N acts on: Eq. E.2."""
    dropout: float = eqx.field(static=True, default=0.0)
    gate_dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        sources: Float[Array, "batch sources width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        keys = split(key, 5)
        read, weights = self.attention(targets, sources, mask, at=at, key=keys[0])
        a = self.norm(targets + dropout(read, self.dropout, key=keys[1]))
        data, data_extras = self.data(a, key=keys[2])
        data = data + a if self.residual else data
        data = jnp.tanh(data) if self.data_norm is None else self.data_norm(data)
        logits, gate_extras = self.gate(a, key=keys[3])
        gates = jax.nn.sigmoid(logits)
        if keys[4] is not None and self.gate_dropout > 0:
            gates = gates * kept((*gates.shape[:2], 1), self.gate_dropout, key=keys[4])
        after = targets + gates * (data - targets)
        return after, {"attention": weights, "gates": gates} | gate_extras | data_extras
