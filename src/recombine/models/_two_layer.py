"""Networks of two layers: one with an activation function, and gated linear ones with pathways."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._gated_linear import GatedLinearNetwork, Graph


class TwoLayerNetwork(eqx.Module):
    """A network with one hidden layer and no biases, W2 f(W1 x).

    The activation function f is passed in: `jax.nn.relu` for the network of Figure 3,
    `jax.nn.identity` for the linear one beside it.
    """

    W1: Float[Array, "hidden inputs"]
    W2: Float[Array, "outputs hidden"]
    activation: Callable[[Array], Array] = eqx.field(static=True, default=jax.nn.relu)

    @classmethod
    def random(
        cls,
        scale: float | Float[Array, ""],
        *,
        inputs: int = 2,
        hidden: int = 128,
        outputs: int = 1,
        activation: Callable[[Array], Array] = jax.nn.relu,
        key: PRNGKeyArray,
    ) -> "TwoLayerNetwork":
        """Independent normal weights of standard deviation `scale`, the paper's sigma_0."""
        first, second = jax.random.split(key)
        return cls(
            scale * jax.random.normal(first, (hidden, inputs)),
            scale * jax.random.normal(second, (outputs, hidden)),
            activation,
        )

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """The output for one input."""
        return self.W2 @ self.activation(self.W1 @ x)

    def loss(
        self, x: Float[Array, "examples inputs"], y: Float[Array, "examples outputs"]
    ) -> Float[Array, ""]:
        """Half the squared error, averaged over examples (Eq. 1)."""
        return 0.5 * jnp.mean(jnp.sum((jax.vmap(self)(x) - y) ** 2, axis=-1))


def pathway_graph(paths: int, *, inputs: int = 2, width: int = 8, outputs: int = 1) -> Graph:
    """`paths` pathways of two layers between one input node `x` and one output node `y`.

    Pathway p, from 0 on, is `x -> h{p} -> y` over the edges `in{p}` and `out{p}`; a gate on the
    node `h{p}` switches it. With four pathways it is the network of Figure 3b.
    """
    nodes = {"x": inputs} | {f"h{p}": width for p in range(paths)} | {"y": outputs}
    edges = {f"in{p}": ("x", f"h{p}") for p in range(paths)}
    return Graph(nodes, edges | {f"out{p}": (f"h{p}", "y") for p in range(paths)})


def decoupled_pathways(
    a0: float | Float[Array, ""],
    V: Float[Array, "paths inputs"],
    U: Float[Array, "paths outputs"],
    *,
    width: int = 8,
    key: PRNGKeyArray,
) -> GatedLinearNetwork:
    """Pathways each of which starts with one mode, aligned and balanced, of strength `a0`.

    Pathway p has input weights sqrt(a0) r V[p]^T and output weights sqrt(a0) U[p] r^T with a random
    unit vector r of its own, so that its map is a0 U[p] V[p]^T and Eq. 21 holds exactly.

    **Arguments:**

    - `a0`: the initial strength.
    - `V`, `U`: the input and output singular vector of every pathway's mode, of norm 1.
    - `width`: the width of a pathway.
    """
    (paths, inputs), (_, outputs) = V.shape, U.shape
    R = jax.random.normal(key, (paths, width))
    R = jnp.sqrt(a0) * R / jnp.linalg.norm(R, axis=-1, keepdims=True)
    weights = {f"in{p}": jnp.outer(R[p], V[p]) for p in range(paths)}
    weights |= {f"out{p}": jnp.outer(U[p], R[p]) for p in range(paths)}
    graph = pathway_graph(paths, inputs=inputs, width=width, outputs=outputs)
    return GatedLinearNetwork(graph, weights)
