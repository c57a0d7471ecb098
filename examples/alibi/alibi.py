"""An attention of one's own in one file: ALiBi, attention with linear biases (Press et al., 2022).

recombine run data-router/table-lookup --preset smoke \
    --set model=relative --set model.attention=examples/alibi/alibi.py:Alibi
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from recombine import models


@dataclass(frozen=True)
class Alibi:
    """What is set from the command line, such as `--set model.attention.power=4`."""

    power: float = 8.0
    """The slope of the last head is 2^(-power); the paper has 8."""

    def build(self, sizes, key) -> "AlibiScores":
        """The scores; they have no weights, so neither sizes nor random numbers are needed."""
        return AlibiScores(self.power)


class AlibiScores(models.AbstractScores):
    """The softmax of q_i · k_j / √head_width − m |i − j|, with one slope m per head.

    The paper penalizes sources before the target. Here sources after it are read too, and their
    distance counts in the same way: which side a source is on, only its contents can tell.
    """

    power: float = eqx.field(static=True, default=8.0)

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
        """The weights; the arguments are those of `recombine.models.AbstractScores`."""
        heads, _, length, head_width = queries.shape
        sources = keys.shape[2]
        place = jnp.arange(sources - length, sources)[None] if at is None else at
        distance = jnp.abs(place[:, :, None] - jnp.arange(sources))
        content = jnp.einsum("hbid,hbjd->hbij", queries, keys) * head_width**-0.5
        logits = content - slopes(heads, self.power)[:, None, None, None] * distance
        return jax.nn.softmax(jnp.where(mask, logits, -jnp.inf), axis=3)


def slopes(heads: int, power: float = 8.0) -> Float[Array, " {heads}"]:
    """The geometric sequence that starts at its ratio, 2^(-power / heads) (Section 3)."""
    return 2.0 ** (-power * jnp.arange(1, heads + 1) / heads)
