"""The modular network for regression: K small networks, each on one projection of the input."""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._initializers import fan_in_uniform

Projection = Literal["linear", "distance"]


def check_projection(projection: str) -> None:
    """Refuse what is not a projection."""
    if projection not in get_args(Projection):
        raise ValueError(f"projection must be one of {get_args(Projection)}, not {projection!r}")


def module_inputs(
    u: Float[Array, "modules m"], x: Float[Array, "samples m"], projection: Projection
) -> Float[Array, "modules samples"]:
    """What every module sees of every input: u_jᵀ x, or the distance ‖u_j − x‖."""
    if projection == "linear":
        return u @ x.T
    squared = jnp.square(u[:, :, None] - x.T).sum(axis=1)
    # The derivative of a root is infinite at 0; that of the distance is set to 0 there.
    apart = squared > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, squared, 1)), 0)


def random_directions(K: int, m: int, *, key: PRNGKeyArray) -> Float[Array, "K m"]:
    """Directions drawn uniformly on the unit sphere."""
    u = jax.random.normal(key, (K, m))
    return u / jnp.linalg.norm(u, axis=1, keepdims=True)


class ModularRegressor(eqx.Module):
    """ŷ(x) = K^(−1/2) Σ_j f_j(û_jᵀ x), or f_j(‖û_j − x‖): K modules of one number each (Eq. 3).

    Every f_j is a ReLU network of its own, from one number to one number. All of them are computed
    together, in products of [modules, units, units] with [modules, units, samples].
    """

    u: Float[Array, "modules m"]
    """The directions û."""
    weights: tuple[Float[Array, "modules _inputs _outputs"], ...]
    biases: tuple[Float[Array, "modules _outputs"], ...]
    projection: Projection = eqx.field(static=True)

    @classmethod
    def random(
        cls,
        K: int,
        m: int,
        *,
        width: int = 32,
        layers: int = 4,
        projection: Projection = "linear",
        key: PRNGKeyArray,
    ) -> "ModularRegressor":
        """Random directions on the unit sphere, weights and biases as `fan_in_uniform`.

        **Arguments:**

        - `K`: modules.
        - `m`: inputs.
        - `width`: units of every hidden layer of a module.
        - `layers`: linear layers of a module, after the projection.
        - `projection`: `"linear"` or `"distance"`.
        - `key`: of directions and of modules, in streams of their own.
        """
        if min(K, m, width, layers) < 1:
            raise ValueError(f"K, m, width, layers must be 1 or more; got {K, m, width, layers}")
        check_projection(projection)
        of_u, of_modules = jax.random.split(key)
        sizes = (1, *[width] * (layers - 1), 1)
        weights, biases = [], []
        for a, b, of_layer in zip(
            sizes[:-1], sizes[1:], jax.random.split(of_modules, layers), strict=True
        ):
            of_weight, of_bias = jax.random.split(of_layer)
            weights.append(fan_in_uniform((K, a, b), a, key=of_weight))
            biases.append(fan_in_uniform((K, b), a, key=of_bias))
        u = random_directions(K, m, key=of_u)
        return cls(u, tuple(weights), tuple(biases), projection)

    def with_directions(self, u: Float[Array, "given m"]) -> "ModularRegressor":
        """The same modules with other directions, which they take in turns if there are fewer.

        With the k true directions and K = 5k modules, every direction goes to five modules.
        """
        given, m = u.shape
        K = len(self.u)
        if m != self.u.shape[1] or not 1 <= given <= K:
            raise ValueError(
                f"directions of shape {u.shape} do not fit {K} modules of {self.u.shape[1]} inputs"
            )
        return eqx.tree_at(lambda network: network.u, self, u[jnp.arange(K) % given])

    def trainable(self, *, learn_directions: bool = True) -> "ModularRegressor":
        """True for what learns: a filter for `learning.Descent`."""
        learns = jax.tree.map(eqx.is_inexact_array, self)
        return eqx.tree_at(lambda n: n.u, learns, learn_directions)

    def modules(self, s: Float[Array, "modules samples"]) -> Float[Array, "modules samples"]:
        """f_j(s_j): every module's output for what it sees of every sample."""
        h = s[:, None, :]
        # Samples last: a fifth faster on a CPU than units last.
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = jax.nn.relu(weight.swapaxes(1, 2) @ h + bias[:, :, None])
        return (self.weights[-1].swapaxes(1, 2) @ h)[:, 0] + self.biases[-1]

    def __call__(self, x: Float[Array, "samples m"]) -> Float[Array, "samples 1"]:
        """The outputs for a batch of inputs."""
        f = self.modules(module_inputs(self.u, x, self.projection))
        return f.sum(axis=0)[:, None] * len(self.u) ** -0.5
