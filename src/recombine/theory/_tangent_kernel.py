"""Linearised training of the routing network: gradient descent under its initial tangent kernel.

At large initial weights a network hardly moves while it learns, and its outputs follow the
first-order expansion around the initial weights. The kernel of that expansion says what such a lazy
network can do: it learns trained routes, and does not carry over to others.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from recombine.learning._loop import AbstractRule
from recombine.models._routing import RoutingNetwork
from recombine.tasks._routes import (
    mean_route_loss,
    route_errors,
    route_means,
    summed_route_loss,
)

Outputs = Float[Array, "M_in M_out items features"]


class TangentKernel(eqx.Module):
    """J J^T, the tangent kernel of a routing network, as an action on fields of errors.

    With A the first hidden activity of all items on all input domains, one a column, H = W2 A the
    second, and C the output weights of all domains stacked, a field E of errors, `[(domain,
    feature), (domain, item)]`, changes the outputs by

        E (H^T H) + (C C^T) E (A^T A) + (C W2 W2^T C^T) E (1 (x) X X^T),

    one term a stage: output, hidden, input. The last factor keeps to an input domain and is the
    identity for orthonormal inputs. The kernel is kept as these small products, never as the square
    matrix over all outputs.

    **Arguments:**

    - `network`: the network around which to linearise.
    - `X`: the inputs, a row an item.
    """

    first: Float[Array, "M_in*items M_in*items"]
    """A^T A."""
    second: Float[Array, "M_in*items M_in*items"]
    """H^T H."""
    output: Float[Array, "M_out*features M_out*features"]
    """C C^T."""
    input: Float[Array, "M_out*features M_out*features"]
    """C W2 W2^T C^T."""
    items: Float[Array, "items items"]
    """X X^T."""

    def __init__(self, network: RoutingNetwork, X: Float[Array, "items inputs"]):
        width = network.W2.shape[0]
        A = jnp.moveaxis(network.hidden(X), -1, 0).reshape(width, -1)
        H = network.W2 @ A
        C = network.W3.reshape(-1, width)
        CW = C @ network.W2
        self.first, self.second = A.T @ A, H.T @ H
        self.output, self.input = C @ C.T, CW @ CW.T
        self.items = X @ X.T

    def __call__(self, error: Outputs) -> Outputs:
        """J J^T applied to a field of errors."""
        M_in, M_out, items, features = error.shape
        E = error.transpose(1, 3, 0, 2).reshape(M_out * features, M_in * items)
        within = (E.reshape(-1, items) @ self.items).reshape(E.shape)
        change = E @ self.second + self.output @ E @ self.first + self.input @ within
        return change.reshape(M_out, features, M_in, items).transpose(2, 0, 3, 1)


class LinearisedDescent(AbstractRule[Outputs]):
    """Gradient descent on the first-order expansion of the routing network.

    The loss is the one that `recombine.learning.routing_descent` minimises: the sum over trained
    routes of the squared error averaged over items and features. The state is the outputs of all
    routes; start from `network.outputs(X)`.

    **Arguments:**

    - `kernel`: the tangent kernel at the initial weights.
    - `Y`: the targets, a row an item.
    - `mask`: the trained routes, rows are input domains.
    - `learning_rate`: the step size.
    """

    kernel: TangentKernel
    Y: Float[Array, "items features"] = eqx.field(converter=jnp.asarray)
    mask: Bool[Array, "M_in M_out"] = eqx.field(converter=jnp.asarray)
    learning_rate: float | Float[Array, ""]

    def step(self, state, t):
        error = jnp.where(self.mask[:, :, None, None], self.Y - state, 0)
        return state + self.learning_rate * 2 / self.Y.size * self.kernel(error)

    def observe(self, state):
        """See `loss`, `paper_loss` (Eq. 1), and `trained_error` and `untrained_error`.

        The errors are the mean of 1/2 ||Y - Yhat||_F^2 over those routes, NaN if there are none.
        """
        errors = route_means(route_errors(state, self.Y), self.mask)
        return {
            "loss": summed_route_loss(state, self.Y, self.mask),
            "paper_loss": mean_route_loss(state, self.Y, self.mask),
            "trained_error": errors.trained,
            "untrained_error": errors.untrained,
        }
