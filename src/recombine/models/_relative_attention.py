"""Attention to positions: relative ones, or a gated mixture of relative and absolute ones."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._attention import AbstractScores, masked_softmax
from ._dense import Dense
from ._dropout import dropout, split
from ._initializers import xavier_uniform
from ._positions import sinusoids


def by_source(
    by_offset: Float[Array, "heads batch targets offsets"], sources: int
) -> Float[Array, "heads batch targets {sources}"]:
    """From the offsets of sources, 1 − sources, 2 − sources, ..., to the sources themselves.

    Targets are the last of the sources.
    """
    *leading, targets, offsets = by_offset.shape
    # Rows that are one longer than the distance between their starts slide along each other.
    flat = jnp.pad(by_offset, [(0, 0)] * 3 + [(0, 1)]).reshape(*leading, -1)
    slid = flat[..., targets - 1 : -1].reshape(*leading, targets, offsets)
    return slid[..., :sources]


class RelativeScores(AbstractScores):
    """Transformer-XL: the softmax of s [(q_i + u) · k_j + (q_i + v) · W p_{j−i}].

    p are sinusoids of the signed offset, s is one learned number, or stays 1/√head_width. Dropout
    acts on the keys of the content and of the positions, and on the weights.

    With a gate, the positional key becomes W (r_i p_{j−i} + (1 − r_i) p_j), where r_i is one number
    per head, the sigmoid of a linear function of column i: a column chooses between relative and
    absolute positions. Signs are those of the published code; Appendix D.2 prints p_{i−j}.
    """

    position: Float[Array, "width all_heads"]
    """W, from sinusoids to keys."""
    content_bias: Float[Array, "heads head_width"]
    """u."""
    position_bias: Float[Array, "heads head_width"]
    """v."""
    scale: Float[Array, ""] | None
    """s; None if it is not learned."""
    gate: Dense | None
    dropout: float = eqx.field(static=True)
    weight_dropout: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_width: int | None = None,
        gated: bool = False,
        learned_scale: bool = True,
        initializer: Callable[..., Array] = xavier_uniform,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `width`, `heads`: column width and heads of the attention.
        - `head_width`: numbers of a query; by default heads share the width of a column.
        - `gated`: mix relative with absolute positions.
        - `learned_scale`: whether s is learned.
        - `initializer`: how W starts: a function of its shape and a key.
        - `dropout`: the rate at which numbers of the keys are dropped.
        - `weight_dropout`: the rate at which weights are dropped.
        """
        of_position, of_gate = jax.random.split(key)
        head_width = width // heads if head_width is None else head_width
        self.position = initializer((width, heads * head_width), key=of_position)
        self.content_bias = jnp.zeros((heads, head_width))
        self.position_bias = jnp.zeros((heads, head_width))
        self.scale = jnp.asarray(head_width**-0.5) if learned_scale else None
        self.gate = Dense.uniform(width, heads, key=of_gate) if gated else None
        self.dropout, self.weight_dropout = dropout, weight_dropout

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
        of_content, of_positions, of_weights = split(key, 3)
        scale = queries.shape[3] ** -0.5 if self.scale is None else self.scale
        queries, keys = queries * scale, dropout(keys, self.dropout, key=of_content)
        content_query, position_query = (
            queries + (bias * scale)[:, None, None]
            for bias in (self.content_bias, self.position_bias)
        )
        content = jnp.einsum("hbid,hbjd->hbij", content_query, keys)

        heads, batch, length, width = queries.shape
        sources = keys.shape[2]
        # Targets at the end see no source further to the right than the last of them.
        farthest = sources if at is not None or self.gate is not None else length
        places = sinusoids(jnp.arange(1 - sources, farthest), len(self.position)) @ self.position
        places = places.reshape(-1, heads, width).swapaxes(0, 1)
        places = dropout(places, self.dropout, key=of_positions)
        rows = position_query.reshape(heads, batch * length, width)
        by_offset = jnp.einsum("hrd,hod->hro", rows, places).reshape(heads, batch, length, -1)
        if at is None:
            position = by_source(by_offset, sources)
        else:
            offsets = jnp.arange(sources) - at[:, :, None] + sources - 1
            position = jnp.take_along_axis(by_offset, offsets[None], axis=3)
        if self.gate is not None:
            gate = jnp.moveaxis(jax.nn.sigmoid(self.gate(targets)), 2, 0)[..., None]
            position = gate * position + (1 - gate) * by_offset[..., sources - 1 :]
        weights = masked_softmax(content + position, mask)
        return dropout(weights, self.weight_dropout, key=of_weights)
