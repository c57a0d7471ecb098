"""Attention of several heads, whose weights are a part of its own."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout


class AbstractScores(eqx.Module):
    """How much every target reads from every source."""

    @abc.abstractmethod
    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        queries: Float[Array, "heads batch targets head_width"],
        keys: Float[Array, "heads batch sources head_width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "heads batch targets sources"]:
        """The weights, which are 0 where `mask` is false.

        **Arguments:**

        - `targets`: the columns from which queries were made.
        - `mask`: broadcasts to `[batch, targets, sources]`; see `padding_mask`, `causal_mask`.
        - `at`: positions of the targets among the sources; None if they are the last of them.
        - `key`: for dropout; None for none.
        """


def masked_softmax(
    logits: Float[Array, "heads batch targets sources"], mask: Bool[Array, "..."]
) -> Float[Array, "heads batch targets sources"]:
    """The softmax over the sources for which the mask is true."""
    return jax.nn.softmax(logits + jnp.where(mask, 0, -jnp.inf), axis=3)


class SoftmaxScores(AbstractScores):
    """The softmax of q_i · k_j / √head_width. Dropout acts on the weights."""

    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        queries: Float[Array, "heads batch targets head_width"],
        keys: Float[Array, "heads batch sources head_width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "heads batch targets sources"]:
        queries = queries * queries.shape[3] ** -0.5
        weights = masked_softmax(jnp.einsum("hbid,hbjd->hbij", queries, keys), mask)
        return dropout(weights, self.dropout, key=key)


class KeysAndValues(NamedTuple):
    """What an attention looks up in its sources, and what it reads from them."""

    keys: Float[Array, "heads batch sources head_width"]
    values: Float[Array, "heads batch sources head_width"]


class Attention(eqx.Module):
    """Queries of targets, keys and values of sources, weights between them, and what is read.

    The part `scores` decides what the weights depend on: `SoftmaxScores`, `RelativeScores`,
    `GeometricScores` or your own. Targets that are sources make self-attention, others cross
    attention; what a target must not see is a matter of the mask.

    ```python
    read, weights = attention(columns, columns, padding_mask(lengths, columns.shape[1]))
    ```
    """

    query: Dense
    key_value: Dense
    """To the keys of all heads, then to the values."""
    output: Dense
    scores: AbstractScores
    heads: int = eqx.field(static=True)

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        sources: Float[Array, "batch sources source_width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], Float[Array, "heads batch targets sources"]]:
        """What every target reads, and the weights; the arguments are those of `AbstractScores`."""
        return self.read(targets, self.keys_and_values(sources), mask, at=at, key=key)

    def keys_and_values(self, sources: Float[Array, "batch sources source_width"]) -> KeysAndValues:
        """What is looked up in sources, and what is read from them."""
        # Cut before the heads are moved: the backward pass moves the parts three times as fast.
        return KeysAndValues(*map(self._by_head, jnp.split(self.key_value(sources), 2, axis=2)))

    def read(
        self,
        targets: Float[Array, "batch targets width"],
        sources: KeysAndValues,
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], Float[Array, "heads batch targets sources"]]:
        """The attention, with keys and values that have been computed before."""
        queries = self._by_head(self.query(targets))
        weights = self.scores(targets, queries, sources.keys, mask, at=at, key=key)
        read = jnp.einsum("hbij,hbjd->hbid", weights, sources.values)
        return self.output(jnp.moveaxis(read, 0, 2).reshape(*targets.shape[:2], -1)), weights

    def _by_head(self, columns) -> Float[Array, "heads batch length head_width"]:
        """The numbers of columns, cut into heads, which lead."""
        return jnp.moveaxis(columns.reshape(*columns.shape[:2], self.heads, -1), 2, 0)
