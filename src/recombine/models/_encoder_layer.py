"""Layers of an encoder: what a column keeps of itself while it reads from others."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._attention import MultiHeadAttention
from ._dropout import dropout, kept, split
from ._hypernetwork import LayerNorm
from ._mlp import Dense


class AbstractEncoderLayer(eqx.Module):
    """One step of all columns."""

    @abc.abstractmethod
    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
        rows: Int[Array, " rows"] | None = None,
    ) -> tuple[
        Float[Array, "rows size"],
        Float[Array, "heads batch length length"],
        Float[Array, "rows size"] | None,
    ]:
        """The columns after the step, the weights of attention, and the gates if there are any.

        **Arguments:**

        - `there`: false for padding.
        - `key`: for dropout; None for none.
        - `rows`: the columns that are wanted after the step; None for all.
        """


class PostNormLayer(AbstractEncoderLayer):
    """Attention, then a network of two layers; each is added to its input and normalised.

    a = LN(h + attention(h)), h′ = LN(a + W₂ relu(W₁ a)). Dropout acts on both summands and on the
    hidden units.
    """

    attention: MultiHeadAttention
    norms: tuple[LayerNorm, LayerNorm]
    inner: Dense
    outer: Dense
    rate: float = eqx.field(static=True)

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
        rows: Int[Array, " rows"] | None = None,
    ) -> tuple[Float[Array, "rows size"], Float[Array, "heads batch length length"], None]:
        keys = split(key, 4)
        read, weights = self.attention(columns, there, key=keys[0], rows=rows)
        columns = columns if rows is None else columns[rows]
        a = self.norms[0](columns + dropout(read, self.rate, key=keys[1]))
        hidden = dropout(jax.nn.relu(self.inner(a)), self.rate, key=keys[2])
        after = self.norms[1](a + dropout(self.outer(hidden), self.rate, key=keys[3]))
        return after, weights, None


class CopyGateLayer(AbstractEncoderLayer):
    """A layer that a column may skip: Eqs. 5.1 to 5.5.

    a = LN(h + attention(h)), u = N(W₂ f(W₁ a)), g = σ(V₂ f(V₁ a)), h′ = g u + (1 − g) h. Dropout
    acts on what is read. Gate dropout sets all gates of a column to 0, which copies it.
    """

    attention: MultiHeadAttention
    norm: LayerNorm
    inner: Dense
    """W₁ and V₁ side by side: one product for both."""
    data: Dense
    """W₂."""
    gate: Dense
    """V₂."""
    data_norm: LayerNorm | None
    """N; None for tanh."""
    activation: Callable[[Array], Array] = eqx.field(static=True)
    """f."""
    residual: bool = eqx.field(static=True)
    """Whether a is added to what N acts on: Eq. E.2."""
    rate: float = eqx.field(static=True)
    hidden_rate: float = eqx.field(static=True)
    """Of dropout of hidden units."""
    gate_rate: float = eqx.field(static=True)

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
        rows: Int[Array, " rows"] | None = None,
    ) -> tuple[
        Float[Array, "rows size"],
        Float[Array, "heads batch length length"],
        Float[Array, "rows size"],
    ]:
        keys = split(key, 4)
        read, weights = self.attention(columns, there, key=keys[0], rows=rows)
        columns = columns if rows is None else columns[rows]
        a = self.norm(columns + dropout(read, self.rate, key=keys[1]))
        hidden = dropout(self.activation(self.inner(a)), self.hidden_rate, key=keys[2])
        width = len(self.data.weight)
        data = self.data(hidden[:, :width])
        data = data + a if self.residual else data
        data = jnp.tanh(data) if self.data_norm is None else self.data_norm(data)
        gates = jax.nn.sigmoid(self.gate(hidden[:, width:]))
        if keys[3] is not None and self.gate_rate > 0:
            gates = gates * kept((len(gates), 1), self.gate_rate, key=keys[3])
        return columns + gates * (data - columns), weights, gates
