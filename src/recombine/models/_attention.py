"""Attention of several heads, whose weights are a part of its own."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._dropout import dropout
from ._mlp import Dense


class AbstractScores(eqx.Module):
    """How much every column reads from every other one."""

    @abc.abstractmethod
    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        queries: Float[Array, "heads batch length head_size"],
        keys: Float[Array, "heads batch length head_size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "heads batch length length"]:
        """The weights, of targets then sources; 0 for padding, where `there` is false.

        **Arguments:**

        - `columns`: all columns of the batch, from which queries and keys were made.
        - `key`: for dropout; None for none.
        """


def masked_softmax(
    logits: Float[Array, "heads batch targets sources"], there: Bool[Array, "batch sources"]
) -> Float[Array, "heads batch targets sources"]:
    """The softmax over the sources that are there."""
    return jax.nn.softmax(logits + jnp.where(there, 0, -jnp.inf)[:, None, :], axis=3)


class SoftmaxScores(AbstractScores):
    """The softmax of q_i · k_j / √head_size. Dropout acts on the weights."""

    rate: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        queries: Float[Array, "heads batch length head_size"],
        keys: Float[Array, "heads batch length head_size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "heads batch length length"]:
        queries = queries * queries.shape[3] ** -0.5
        weights = masked_softmax(jnp.einsum("hbid,hbjd->hbij", queries, keys), there)
        return dropout(weights, self.rate, key=key)


class MultiHeadAttention(eqx.Module):
    """Queries, keys and values of all columns, the weights between them, and what is read.

    The part `scores` decides what the weights depend on: `SoftmaxScores`, `RelativeScores` or
    `GeometricScores`.
    """

    query: Dense
    key_value: Dense
    output: Dense
    scores: AbstractScores
    heads: int = eqx.field(static=True)

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
        rows: Int[Array, " rows"] | None = None,
    ) -> tuple[Float[Array, "rows size"], Float[Array, "heads batch length length"]]:
        """What every column reads, or those at `rows`, and the weights of all."""
        # Cut before the heads are moved: the backward pass moves the parts three times as fast.
        parts = self.query(columns), *jnp.split(self.key_value(columns), 2, axis=1)
        queries, keys, values = (self._by_head(part, there) for part in parts)
        weights = self.scores(columns, queries, keys, there, key=key)
        read = jnp.einsum("hbij,hbjd->hbid", weights, values)
        read = jnp.moveaxis(read, 0, 2).reshape(len(columns), -1)
        return self.output(read if rows is None else read[rows]), weights

    def _by_head(self, rows, there) -> Float[Array, "heads batch length head_size"]:
        """Numbers of all columns, cut into heads, which lead."""
        return jnp.moveaxis(rows.reshape(*there.shape, self.heads, -1), 2, 0)
