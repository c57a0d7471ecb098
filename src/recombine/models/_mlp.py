"""Fully connected networks, with their scaling and biases in the open."""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def truncated_normal(shape: Sequence[int], std: float, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Normal numbers cut off at two nominal standard deviations.

    They are not scaled up again, so that their true standard deviation is 0.88 `std`.
    """
    return std * jax.random.truncated_normal(key, -2.0, 2.0, tuple(shape), float)


def fan_in_uniform(shape: Sequence[int], inputs: int, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Uniform numbers on ±1/√inputs, with which PyTorch starts the layers of a network."""
    # A flat draw compiles three times as fast as one with three axes.
    drawn = jax.random.uniform(key, (math.prod(shape),), float, minval=-1.0)
    return (drawn * inputs**-0.5).reshape(shape)


class Dense(eqx.Module):
    """One layer: x W s + b, with s = 1 or, scaled, 1 / √inputs."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None
    scaled: bool = eqx.field(static=True)

    @classmethod
    def uniform(
        cls, inputs: int, outputs: int, *, biases: bool = True, key: PRNGKeyArray
    ) -> "Dense":
        """A layer whose weights and biases start as `fan_in_uniform`."""
        of_weight, of_bias = jax.random.split(key)
        bias = fan_in_uniform((outputs,), inputs, key=of_bias) if biases else None
        return cls(fan_in_uniform((inputs, outputs), inputs, key=of_weight), bias, False)

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
        return cls(weight, jnp.full(outputs, bias), False)

    def __call__(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples outputs"]:
        # The scale is applied to the weights, which are fewer than the activations.
        scale = len(self.weight) ** -0.5 if self.scaled else 1.0
        y = x @ (self.weight * scale)
        return y if self.bias is None else y + self.bias


class MLP(eqx.Module):
    """A multi-layer perceptron with ReLU between its layers.

    **Arguments:**

    - `sizes`: the numbers of inputs, of units of every hidden layer, and of outputs.
    - `scaled`: if true, weights have unit variance and every layer divides by √inputs; if false,
        weights have a variance of 1 / inputs. Weights are truncated normal, biases 0.
    - `biases`: whether layers have biases.
    - `offset`: whether to add a vector of its own, at first 0, to the output.
    - `uniform`: if true, weights and biases start as `fan_in_uniform` instead. Not for `scaled`.
    - `layer`: makes every layer instead, from its numbers of inputs and outputs and a `key`, as
        `Dense.bounded` does.
    - `output`: a function that outputs pass through, such as `jnp.tanh`.
    """

    layers: tuple[Dense, ...]
    offset: Float[Array, " outputs"] | None
    output: Callable[[Array], Array] | None = eqx.field(static=True)

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        scaled: bool = False,
        biases: bool = True,
        offset: bool = False,
        uniform: bool = False,
        layer: Callable[..., Dense] | None = None,
        output: Callable[[Array], Array] | None = None,
        key: PRNGKeyArray,
    ):
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"sizes must name inputs and outputs, all at least 1; got {sizes}")
        if uniform and scaled:
            raise ValueError("uniform weights are scaled by their inputs already; drop `scaled`")
        if layer is not None and (uniform or scaled or not biases):
            raise ValueError(
                "`layer` makes layers as it sees fit; drop `uniform`, `scaled`, `biases`"
            )

        def make(a: int, b: int, key: PRNGKeyArray) -> Dense:
            if layer is not None:
                return layer(a, b, key=key)
            if uniform:
                return Dense.uniform(a, b, biases=biases, key=key)
            weight = truncated_normal((a, b), 1.0 if scaled else a**-0.5, key=key)
            return Dense(weight, jnp.zeros(b) if biases else None, scaled)

        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(map(make, sizes[:-1], sizes[1:], keys))
        self.offset = jnp.zeros(sizes[-1]) if offset else None
        self.output = output

    def __call__(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples outputs"]:
        """The outputs for a batch of inputs."""
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        y = self.layers[-1](x)
        y = y if self.offset is None else y + self.offset
        return y if self.output is None else self.output(y)
