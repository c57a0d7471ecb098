"""Objectives with a price: on the slope by a part of the input, on the size of a hidden layer."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ._losses import counted_mean
from ._optimizer import Number


def _mean(values: Float[Array, " batch"], batch: Any) -> Float[Array, ""]:
    """The mean over the examples of a batch, by their weights if they have some."""
    return counted_mean(values, getattr(batch, "weight", jnp.ones_like(values)))


class SlopePenalty(eqx.Module):
    """An objective plus `weight` times the mean over examples of ‖∂ŷ/∂x‖², by a part of x.

    The square is that of one random combination of outputs per example, with signs ±1: an unbiased
    estimate, and exact for one output.

    **Arguments:**

    - `objective`: `(model, batch, key)` to the loss.
    - `part`: True where the part lies in one example's `x`.
    """

    objective: Callable[..., Array]
    weight: Number
    part: Bool[Array, "..."]

    def __call__(self, model: Any, batch: Any, key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss and the price."""
        of_objective, of_signs = jax.random.split(key)
        outputs, pull = jax.vjp(model, batch.x)
        (slopes,) = pull(jax.random.rademacher(of_signs, outputs.shape, outputs.dtype))
        squares = jnp.where(self.part, jnp.square(slopes), 0).reshape(len(slopes), -1).sum(axis=1)
        return self.objective(model, batch, of_objective) + self.weight * _mean(squares, batch)


class HiddenNoise(eqx.Module):
    """A bound on what a hidden layer h holds: noise on it, and `weight` times the mean of ‖h‖².

    **Arguments:**

    - `parts`: the two halves of a network, from inputs to h and from h to outputs.
    - `loss`: a function of outputs and batch.
    - `weight`: the price of the size of h.
    - `deviation`: standard deviation of the noise.
    """

    parts: Callable[[Any], tuple[Callable[[Array], Array], Callable[[Array], Array]]]
    loss: Callable[[Array, Any], Array]
    weight: Number
    deviation: Number = 1.0

    def __call__(self, model: Any, batch: Any, key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss with noise, and the price."""
        encode, decode = self.parts(model)
        h = encode(batch.x)
        noise = self.deviation * jax.random.normal(key, h.shape, h.dtype)
        size = jnp.square(h).sum(axis=1)
        return self.loss(decode(h + noise), batch) + self.weight * _mean(size, batch)
