"""How well each route works, trained or not: errors and losses that rules and probes share."""

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


def summed_route_loss(
    outputs: Float[Array, "M_in M_out items features"],
    Y: Float[Array, "items features"],
    mask: Bool[Array, "M_in M_out"],
) -> Float[Array, ""]:
    """The loss of the published simulations.

    The sum over trained routes of the squared error averaged over the entries of Y. With n trained
    routes it is `2 n / features` times the loss of Eq. 1: 8 times in Figure 4.
    """
    residual = jnp.where(mask[:, :, None, None], outputs - Y, 0)
    return jnp.sum(residual**2) / Y.size


def mean_route_loss(
    outputs: Float[Array, "M_in M_out items features"],
    Y: Float[Array, "items features"],
    mask: Bool[Array, "M_in M_out"],
) -> Float[Array, ""]:
    """The paper's loss (Eq. 1): half the squared error, averaged over examples.

    An example is an item on a trained route.
    """
    return route_means(route_errors(outputs, Y), mask).trained / len(Y)
