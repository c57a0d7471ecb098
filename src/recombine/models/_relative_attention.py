"""Attention to positions: relative ones, or a gated mixture of relative and absolute ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ._attention import AbstractScores, masked_softmax
from ._dropout import dropout, split
from ._mlp import Dense
from ._sinusoids import sinusoids


def by_source(
    by_offset: Float[Array, "heads batch length offsets"],
) -> Float[Array, "heads batch length length"]:
    """From the offset of a source, −(length − 1) to length − 1, to the source itself."""
    *leading, length, offsets = by_offset.shape
    # Rows that are one longer than the distance between their starts slide along each other.
    flat = jnp.pad(by_offset, [(0, 0)] * 3 + [(0, 1)]).reshape(*leading, -1)
    slid = flat[..., length - 1 : -1].reshape(*leading, length, offsets)
    return slid[..., :length]


class RelativeScores(AbstractScores):
    """Transformer-XL: the softmax of s [(q_i + u) · k_j + (q_i + v) · W p_{j−i}].

    p are sinusoids of the signed offset, s is one learned number. Dropout acts on the keys of the
    content and of the positions.

    With a gate, the positional key becomes W (r_i p_{j−i} + (1 − r_i) p_j), where r_i is a number a
    head, the sigmoid of a linear function of column i: a column chooses between relative and
    absolute positions. Signs are those of the published code; Appendix D.2 prints p_{i−j}.
    """

    position: Float[Array, "size size"]
    """W, from sinusoids to keys."""
    content_bias: Float[Array, "heads head_size"]
    """u."""
    position_bias: Float[Array, "heads head_size"]
    """v."""
    scale: Float[Array, ""]
    unread: Float[Array, ""]
    """A number that the published networks hold and never read; it counts in Table E.1."""
    gate: Dense | None
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        gated: bool = False,
        dropout: float = 0.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `size`, `heads`: of the columns, and of the attention.
        - `gated`: mix relative with absolute positions.
        - `dropout`: the rate at which numbers of the keys are dropped.
        """
        of_position, of_gate = jax.random.split(key)
        self.position = jax.nn.initializers.glorot_uniform()(of_position, (size, size), float)
        self.content_bias = jnp.zeros((heads, size // heads))
        self.position_bias = jnp.zeros((heads, size // heads))
        self.scale = jnp.asarray((size // heads) ** -0.5)
        self.unread = jnp.zeros(())
        self.gate = Dense.uniform(size, heads, key=of_gate) if gated else None
        self.rate = dropout

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        queries: Float[Array, "heads batch length head_size"],
        keys: Float[Array, "heads batch length head_size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "heads batch length length"]:
        heads, batch, length, _ = queries.shape
        of_content, of_positions = split(key, 2)
        queries, keys = queries * self.scale, dropout(keys, self.rate, key=of_content)
        content_bias, position_bias = (
            self.content_bias * self.scale,
            self.position_bias * self.scale,
        )
        content = jnp.einsum("hbid,hbjd->hbij", queries + content_bias[:, None, None], keys)

        places = sinusoids(jnp.arange(1 - length, length), len(self.position)) @ self.position
        places = places.reshape(2 * length - 1, heads, -1).swapaxes(0, 1)
        places = dropout(places, self.rate, key=of_positions)
        asking = (queries + position_bias[:, None, None]).reshape(heads, batch * length, -1)
        by_offset = jnp.einsum("hrd,hod->hro", asking, places).reshape(heads, batch, length, -1)
        position = by_source(by_offset)
        if self.gate is not None:
            gate = jax.nn.sigmoid(self.gate(columns)).T.reshape(heads, batch, length, 1)
            position = gate * position + (1 - gate) * by_offset[..., length - 1 :]
        return masked_softmax(content + position, there)
