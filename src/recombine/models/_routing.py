"""The routing network: input and output maps for each domain around one shared hidden map."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._gated_linear import GatedExamples, GatedLinearNetwork, Graph
from ._initializers import orthogonal, xavier_uniform


def _xavier(shape, scale, *, key):
    # Leading axes are a stack of matrices, not the field of a kernel.
    return xavier_uniform(shape, fans=sum(shape[-2:]), gain=scale, key=key)


def _in_and_out(num_domains: int | tuple[int, int]) -> tuple[int, int]:
    return (num_domains, num_domains) if isinstance(num_domains, int) else num_domains


class RoutingNetwork(eqx.Module):
    """A gated deep linear network with a shared hidden stage (Figure 4a).

    The route from input domain i to output domain j computes `W3[j] W2 W1[i] x`: the gates switch
    on input map i and output map j, the hidden map is always on.

    Gating a route costs nothing: the maps of all domains, side by side, make up one matrix, and
    the whole grid of routes is three matrix products.

    The constructors take `num_domains`, which is M, or the numbers of input and output domains, and
    `batch`, leading axes of a stack of independent networks (the methods are then to be vmapped).
    """

    W1: Float[Array, "*batch M_in hidden inputs"]
    W2: Float[Array, "*batch hidden hidden"]
    W3: Float[Array, "*batch M_out features hidden"]

    @classmethod
    def _drawn(cls, weights, scale, num_domains, inputs, features, width, batch, key):
        M_in, M_out = _in_and_out(num_domains)
        keys = jax.random.split(key, 3)
        return cls(
            W1=weights((*batch, M_in, width, inputs), scale, key=keys[0]),
            W2=weights((*batch, width, width), scale, key=keys[1]),
            W3=weights((*batch, M_out, features, width), scale, key=keys[2]),
        )

    @classmethod
    def orthogonal(
        cls,
        scale: float | Float[Array, ""],
        *,
        num_domains: int | tuple[int, int],
        inputs: int = 4,
        features: int = 7,
        width: int = 64,
        batch: tuple[int, ...] = (),
        key: PRNGKeyArray,
    ) -> "RoutingNetwork":
        """Random weights: every singular value of every matrix is `scale`, the paper's sigma_0."""
        return cls._drawn(orthogonal, scale, num_domains, inputs, features, width, batch, key)

    @classmethod
    def xavier(
        cls,
        scale: float | Float[Array, ""],
        *,
        num_domains: int | tuple[int, int],
        inputs: int = 4,
        features: int = 7,
        width: int = 64,
        batch: tuple[int, ...] = (),
        key: PRNGKeyArray,
    ) -> "RoutingNetwork":
        """Uniform Xavier weights times `scale`."""
        return cls._drawn(_xavier, scale, num_domains, inputs, features, width, batch, key)

    @classmethod
    def decoupled(
        cls,
        b0: float | Float[Array, ""],
        T: Float[Array, "features inputs"],
        *,
        num_domains: int | tuple[int, int],
        width: int = 64,
        batch: tuple[int, ...] = (),
        key: PRNGKeyArray,
    ) -> "RoutingNetwork":
        """Weights aligned with the singular modes of T = Y^T X = U S V^T, all of strength `b0`.

        In the variables of Eq. 9 every weight is diagonal, so that the modes never mix and learning
        follows the exact reduction. All domains start out identical.
        """
        features, inputs = T.shape
        M_in, M_out = _in_and_out(num_domains)
        if width < max(T.shape):
            raise ValueError(f"decoupled weights need width >= {max(T.shape)}, not {width}")
        U, _, Vt = jnp.linalg.svd(T, full_matrices=True)
        R1, R2 = orthogonal((2, *batch, width, width), 1.0, key=key)
        W1 = b0 * (R1[..., :inputs] @ Vt)
        W3 = b0 * (U @ jnp.swapaxes(R2[..., :features], -1, -2))
        return cls(
            W1=jnp.repeat(W1[..., None, :, :], M_in, axis=-3),
            W2=b0 * (R2 @ jnp.swapaxes(R1, -1, -2)),
            W3=jnp.repeat(W3[..., None, :, :], M_out, axis=-3),
        )

    def __call__(
        self,
        x: Float[Array, " inputs"],
        input_domain: int | Int[Array, ""],
        output_domain: int | Int[Array, ""],
    ) -> Float[Array, " features"]:
        """Send one input along one route."""
        return self.W3[output_domain] @ (self.W2 @ (self.W1[input_domain] @ x))

    def hidden(self, X: Float[Array, "items inputs"]) -> Float[Array, "M_in items hidden"]:
        """Activity of the first hidden layer for all items on all input domains."""
        return jnp.einsum("mhd,kd->mkh", self.W1, X)

    def outputs(self, X: Float[Array, "items inputs"]) -> Float[Array, "M_in M_out items features"]:
        """Send all items along all routes."""
        M_in, width, _ = self.W1.shape
        M_out, features, _ = self.W3.shape
        # Columns are (domain, item), rows are (domain, feature): the fastest order on a CPU.
        H1 = jnp.einsum("mhd,kd->hmk", self.W1, X).reshape(width, -1)
        grid = self.W3.reshape(-1, width) @ (self.W2 @ H1)
        return grid.reshape(M_out, features, M_in, -1).transpose(2, 0, 3, 1)

    def route_maps(self) -> Float[Array, "M_in M_out features inputs"]:
        """The linear map of every route, `W3[j] W2 W1[i]`."""
        return self.outputs(jnp.eye(self.W1.shape[-1], dtype=self.W1.dtype)).swapaxes(-1, -2)

    def first_pathway(
        self,
    ) -> tuple[
        Float[Array, "hidden inputs"],
        Float[Array, "hidden hidden"],
        Float[Array, "features hidden"],
    ]:
        """Input, hidden and output map from the first input to the first output domain."""
        return self.W1[0], self.W2, self.W3[0]

    def to_gated_linear(self) -> GatedLinearNetwork:
        """The same network as a general gated deep linear network on `routing_graph`."""
        M_in, width, inputs = self.W1.shape
        M_out, features, _ = self.W3.shape
        weights = {f"in {i}": self.W1[i] for i in range(M_in)}
        weights |= {"hidden": self.W2}
        weights |= {f"out {j}": self.W3[j] for j in range(M_out)}
        graph = routing_graph((M_in, M_out), inputs=inputs, features=features, width=width)
        return GatedLinearNetwork(graph, weights)


def routing_graph(
    num_domains: int | tuple[int, int], *, inputs: int = 4, features: int = 7, width: int = 64
) -> Graph:
    """The graph of a routing network with M input and M output domains (Figure 4a).

    Nodes: `input i`, `first`, `second`, `output j`. Edges: `in i` from input i to `first`, `hidden`
    from `first` to `second`, `out j` from `second` to output j.
    """
    M_in, M_out = _in_and_out(num_domains)
    widths = {f"input {i}": inputs for i in range(M_in)}
    widths |= {"first": width, "second": width}
    widths |= {f"output {j}": features for j in range(M_out)}
    edges = {f"in {i}": (f"input {i}", "first") for i in range(M_in)}
    edges |= {"hidden": ("first", "second")}
    edges |= {f"out {j}": ("second", f"output {j}") for j in range(M_out)}
    return Graph(widths, edges)


def routing_examples(
    X: Float[Array, "items inputs"],
    Y: Float[Array, "items features"],
    mask: Bool[Array, "M_in M_out"],
) -> GatedExamples:
    """Every item on every trained route, as examples for the network on `routing_graph`.

    Examples run over routes (row by row of `mask`), then items. Every input domain shows an item,
    a different one on neighbouring domains; the gates let through that of the active one only.
    Inactive output domains have target 0 and receive nothing.
    """
    routes = jnp.argwhere(mask)
    items = jnp.tile(jnp.arange(len(X)), len(routes))
    active_in, active_out = jnp.repeat(routes, len(X), axis=0).T
    M_in, M_out = mask.shape
    return GatedExamples(
        x={f"input {i}": X[(items + i - active_in) % len(X)] for i in range(M_in)},
        y={f"output {j}": Y[items] * (active_out == j)[:, None] for j in range(M_out)},
        edge_gates={f"in {i}": active_in == i for i in range(M_in)}
        | {f"out {j}": active_out == j for j in range(M_out)},
    )
