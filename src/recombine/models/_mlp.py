"""Fully connected networks, with their scaling and biases in the open."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._dense import Dense
from ._initializers import truncated_normal


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
