"""Gradient descent on the routing task: full batch, over the trained routes of a mask."""

from typing import Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from recombine.models._shared_pathways import SharedPathways
from recombine.probes._routes import route_errors, route_means
from recombine.probes._spectrum import singular_values

from ._loop import AbstractRule


@runtime_checkable
class RoutedNetwork(Protocol):
    """A network that sends items along all routes at once."""

    def outputs(self, X: Float[Array, "items inputs"]) -> Float[Array, "M_in M_out items features"]:
        """Send all items along all routes."""
        ...

    def first_pathway(self) -> tuple[Array, Array, Array]:
        """Input, hidden and output map from the first input to the first output domain."""
        ...


Network = TypeVar("Network", bound=RoutedNetwork)


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


class RoutingDescent(AbstractRule[Network]):
    """Full-batch gradient descent on `summed_route_loss`, without momentum.

    The state is the network itself: a `RoutingNetwork`, `SharedPathways` or any other module that
    sends items along all routes with `outputs(X)`.

    One step is a step of 1 epoch in the paper's gradient flow with the time constant
    `tau = features / (2 n learning_rate)`, n the number of trained routes.

    **Arguments:**

    - `X`, `Y`: inputs and targets, a row an item.
    - `mask`: the trained routes, rows are input domains.
    - `learning_rate`: the step size.
    - `spectrum`: also observe singular values of the first domain's input map, of the hidden map
        (the 10 largest) and of the first domain's output map.
    - `modes`: also observe the strengths of the singular modes of Y^T X in the maps of the trained
        and of the untrained routes, and, in `SharedPathways`, in those of each scheme.
    """

    X: Float[Array, "items inputs"] = eqx.field(converter=jnp.asarray)
    Y: Float[Array, "items features"] = eqx.field(converter=jnp.asarray)
    mask: Bool[Array, "M_in M_out"] = eqx.field(converter=jnp.asarray)
    learning_rate: float | Float[Array, ""]
    spectrum: bool = eqx.field(static=True, default=False)
    modes: bool = eqx.field(static=True, default=False)

    def loss(self, network: Network) -> Float[Array, ""]:
        """The loss that is descended."""
        return summed_route_loss(network.outputs(self.X), self.Y, self.mask)

    def step(self, state, t):
        gradient = jax.grad(self.loss)(state)
        return jax.tree.map(lambda W, dW: W - self.learning_rate * dW, state, gradient)

    def observe(self, state):
        """See the losses and errors, and what `spectrum` and `modes` ask for.

        **Returns:** `loss` and `paper_loss` (Eq. 1); `trained_error` and `untrained_error`, the
        mean of 1/2 ||Y - Yhat||_F^2 over those routes (NaN if there are none). With `spectrum`:
        `singular_in [inputs]`, `singular_hidden [10]`, `singular_out [features]`, with a leading
        axis of schemes in `SharedPathways`. With `modes`: `trained_modes [modes]`,
        `untrained_modes [modes]`, and `scheme_modes [schemes, modes]` where there are schemes.
        """
        outputs = state.outputs(self.X)
        errors = route_means(route_errors(outputs, self.Y), self.mask)
        seen = {
            "loss": summed_route_loss(outputs, self.Y, self.mask),
            "paper_loss": mean_route_loss(outputs, self.Y, self.mask),
            "trained_error": errors.trained,
            "untrained_error": errors.untrained,
        }
        if self.spectrum:
            seen |= _spectrum(state)
        if self.modes:
            seen |= _modes(state, self.Y.T @ self.X, self.mask)
        return seen


def _spectrum(network):
    W1, W2, W3 = network.first_pathway()
    return {
        "singular_in": singular_values(W1),
        "singular_hidden": singular_values(W2, 10),
        "singular_out": singular_values(W3),
    }


def _modes(network, target_map, mask):
    U, _, Vt = jnp.linalg.svd(target_map, full_matrices=False)

    # Sending the right singular vectors gives W V, at the cost of the modes instead of the inputs.
    def strengths(outputs):
        return jnp.sum(outputs * U.T, axis=-1)

    means = route_means(strengths(network.outputs(Vt)), mask)
    seen = {"trained_modes": means.trained, "untrained_modes": means.untrained}
    if isinstance(network, SharedPathways):
        schemes = jax.vmap(route_means, (0, None))(strengths(network.scheme_outputs(Vt)), mask)
        seen["scheme_modes"] = schemes.trained
    return seen
