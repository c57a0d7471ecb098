"""Linearised training of the routing network: gradient descent under its initial tangent kernel."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..tasks._routes import mean_route_loss, route_errors, route_means, summed_route_loss
from ..theory._tangent_kernel import TangentKernel
from ._loop import AbstractRule

Outputs = Float[Array, "M_in M_out items features"]


class LinearisedDescent(AbstractRule[Outputs]):
    """Gradient descent on the first-order expansion of the routing network.

    The loss is the one that `routing_descent` minimises: the sum over trained
    routes of the squared error averaged over items and features. The state is the outputs of all
    routes; start from `network.outputs(X)`.

    **Arguments:**

    - `kernel`: the tangent kernel at the initial weights.
    - `Y`: the targets, one row per item.
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
