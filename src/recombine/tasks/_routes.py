"""How well each route works, trained or not: what rules and probes share."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float


@jax.jit
def route_errors(
    outputs: Float[ArrayLike, "*routes items features"], Y: Float[ArrayLike, "items features"]
) -> Float[Array, "*routes"]:
    """The error of each route, e_ij = 1/2 ||Y - Yhat_ij||_F^2."""
    return 0.5 * jnp.sum((jnp.asarray(outputs) - jnp.asarray(Y)) ** 2, axis=(-2, -1))


class RouteMeans(NamedTuple):
    """A quantity averaged over the trained and over the untrained routes."""

    trained: Float[Array, "..."]
    untrained: Float[Array, "..."]


@jax.jit
def route_means(
    values: Float[ArrayLike, "M_in M_out *rest"], mask: Bool[ArrayLike, "M_in M_out"]
) -> RouteMeans:
    """Average over the trained routes (True in `mask`) and over the others.

    The mean over no route is NaN: a full mask leaves none untrained.
    """
    values, mask = jnp.asarray(values), jnp.asarray(mask)
    chosen = mask.reshape(*mask.shape, *(1,) * (values.ndim - 2))

    def mean(where):
        return jnp.sum(jnp.where(where, values, 0), axis=(0, 1)) / jnp.sum(where)

    return RouteMeans(trained=mean(chosen), untrained=mean(~chosen))
