"""One layer of weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._initializers import fan_in_uniform, xavier_uniform


class Dense(eqx.Module):
    """One layer: x W s + b, with s = 1 or, scaled, 1 / √inputs."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None
    scaled: bool = eqx.field(static=True, default=False)

    @classmethod
    def uniform(
        cls, inputs: int, outputs: int, *, biases: bool = True, key: PRNGKeyArray
    ) -> "Dense":
        """A layer whose weights and biases start as `fan_in_uniform`."""
        of_weight, of_bias = jax.random.split(key)
        bias = fan_in_uniform((outputs,), inputs, key=of_bias) if biases else None
        return cls(fan_in_uniform((inputs, outputs), inputs, key=of_weight), bias)

    @classmethod
    def xavier(cls, inputs: int, outputs: int, *, key: PRNGKeyArray) -> "Dense":
        """A layer whose weights start as `xavier_uniform`, and biases at 0."""
        return cls(xavier_uniform((inputs, outputs), key=key), jnp.zeros(outputs))

    @classmethod
    def bounded(
        cls,
        inputs: int,
        outputs: int,
        *,
        bound: float = 0.5,
        bias: float = 0.1,
        key: PRNGKeyArray,
    ) -> "Dense":
        """A layer with weights uniform on ±bound, however many, and biases that are all alike.

        By default as the layers of the TensorFlow playground start.
        """
        weight = jax.random.uniform(key, (inputs, outputs), float, -bound, bound)
        return cls(weight, jnp.full(outputs, bias))

    def __call__(self, x: Float[Array, "*rows inputs"]) -> Float[Array, "*rows outputs"]:
        """The outputs for every row of inputs."""
        # Products of two matrices are faster than those of three-dimensional arrays.
        rows = x.reshape(-1, x.shape[-1])
        # The scale is applied to the weights, which are fewer than the activations.
        y = rows @ (self.weight * len(self.weight) ** -0.5 if self.scaled else self.weight)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*x.shape[:-1], y.shape[-1])
