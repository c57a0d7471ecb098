"""Gradient descent on the routing task: full batch, over the trained routes of a mask."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from ..tasks._routes import mean_route_loss, route_errors, route_means, summed_route_loss
from ._gradient import GradientDescent


def _loss(X, Y, mask, network):
    return summed_route_loss(network.outputs(X), Y, mask)


def _errors(X, Y, mask, measure, network):
    outputs = network.outputs(X)
    errors = route_means(route_errors(outputs, Y), mask)
    seen = {
        "paper_loss": mean_route_loss(outputs, Y, mask),
        "trained_error": errors.trained,
        "untrained_error": errors.untrained,
    }
    return seen if measure is None else seen | measure(network)


def routing_descent(
    X: Float[ArrayLike, "items inputs"],
    Y: Float[ArrayLike, "items features"],
    mask: Bool[ArrayLike, "M_in M_out"],
    learning_rate: float | Float[Array, ""],
    measure: Callable[[Any], dict[str, Array]] | None = None,
) -> GradientDescent:
    """Full-batch gradient descent on `summed_route_loss`, without momentum.

    The state is the network itself: a `RoutingNetwork`, `SharedPathways` or any other module that
    sends items along all routes with `outputs(X)`. Recorded are `loss` and `paper_loss` (Eq. 1),
    and `trained_error` and `untrained_error`, the mean of 1/2 ||Y - Yhat||_F^2 over those routes
    (NaN if there are none).

    One step is a step of 1 epoch in the paper's gradient flow with the time constant
    `tau = features / (2 n learning_rate)`, n the number of trained routes.

    **Arguments:**

    - `X`, `Y`: inputs and targets, one row per item.
    - `mask`: the trained routes, rows are input domains.
    - `learning_rate`: the step size.
    - `measure`: what to record besides, such as `probes.pathway_spectrum`.
    """
    routes = tuple(map(jnp.asarray, (X, Y, mask)))
    errors = jax.tree_util.Partial(_errors, *routes, measure)
    return GradientDescent(jax.tree_util.Partial(_loss, *routes), learning_rate, errors)
