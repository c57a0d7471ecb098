"""Feed-forward networks of which only the largest hidden units count."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._dropout import dropout
from ._feed_forward import AbstractFeedForward, DenseFeedForward


def keep_largest(
    units: Float[Array, "rows units"],
    count: int,
    ranking: Float[Array, "rows units"] | None = None,
) -> Float[Array, "rows units"]:
    """The units with the `count` largest values, and 0 for all others: Eqs. 7.6 and 7.7.

    **Arguments:**

    - `ranking`: what units are ranked by; by default their values.
    """
    if count >= units.shape[1]:
        return units
    ranking = jax.lax.stop_gradient(units if ranking is None else ranking)
    _, places = jax.lax.top_k(ranking, count)
    rows = jnp.arange(len(units))[:, None]
    return jnp.where(jnp.zeros(units.shape, bool).at[rows, places].set(True), units, 0)


class TopKFeedForward(AbstractFeedForward):
    """A dense network of whose hidden units the K largest count, after dropout.

    The extra `active` is how many units of a column are positive.
    """

    dense: DenseFeedForward
    largest: int = eqx.field(static=True)
    """K."""
    by_contribution: bool = eqx.field(static=True, default=False)
    """Whether units are ranked by α_i ‖v_i‖, how much they may write, rather than by α_i."""

    def __check_init__(self):
        hidden = self.dense.inner.weight.shape[1]
        if not 1 <= self.largest <= hidden:
            raise ValueError(f"largest={self.largest} is not between 1 and hidden={hidden}")

    def __call__(
        self, x: Float[Array, "batch length width"], *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, "batch length outputs"], dict[str, Array]]:
        dense = self.dense
        rows = x.reshape(-1, x.shape[2])
        units = dropout(dense.activation(dense.inner(rows)), dense.dropout, key=key)
        ranking = None
        if self.by_contribution:
            ranking = units * jnp.linalg.norm(dense.outer.weight, axis=1)
        units = keep_largest(units, self.largest, ranking)
        active = (units > 0).sum(axis=1).reshape(x.shape[:2])
        return dense.outer(units).reshape(*x.shape[:2], -1), {"active": active}
