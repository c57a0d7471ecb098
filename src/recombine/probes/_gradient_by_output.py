"""What each component of the output adds to a gradient, and whether the terms cancel."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

Model = TypeVar("Model", bound=Callable[[Array], Array])


class GradientByOutput(NamedTuple):
    """The terms of a gradient that come from each component of the output."""

    terms: Float[Array, "components parameters"]
    """(∂Ŷ_i/∂θ)ᵀ ∂L/∂Ŷ_i, with all parameters in one row."""
    gradient: Float[Array, " parameters"]
    """∂L/∂θ, by automatic differentiation of the whole."""

    @property
    def cosines(self) -> Float[Array, "components components"]:
        """Cosines between the terms. Terms cancel only where a cosine is near −1."""
        unit = self.terms / jnp.linalg.norm(self.terms, axis=1, keepdims=True)
        return unit @ unit.T


def gradient_by_output(
    model: Model, loss: Callable[[Array], Float[Array, ""]], x: Float[Array, " batch *inputs"]
) -> GradientByOutput:
    """∂L/∂θ = Σ_i (∂Ŷ_i/∂θ)ᵀ ∂L/∂Ŷ_i, term by term (the proof of Proposition 5).

    The proof argues that the terms are unlikely to cancel; their cosines show how far they do.

    **Arguments:**

    - `model`: maps a batch to outputs `[batch, components, ...]`.
    - `loss`: maps the outputs to the loss.
    - `x`: the batch.
    """
    learns, stays = eqx.partition(model, eqx.is_inexact_array)
    theta, unravel = ravel_pytree(learns)

    def outputs(theta: Float[Array, " parameters"]) -> Float[Array, "batch components ..."]:
        return eqx.combine(unravel(theta), stays)(x)

    y, pull = jax.vjp(outputs, theta)
    slope = jax.grad(loss)(y)
    components = y.shape[1]

    def term(chosen: Bool[Array, " components"]) -> Float[Array, " parameters"]:
        mask = jnp.expand_dims(chosen, (0, *range(2, y.ndim)))
        return pull(jnp.where(mask, slope, 0))[0]

    terms = jax.vmap(term)(jnp.eye(components, dtype=bool))
    return GradientByOutput(terms, jax.grad(lambda theta: loss(outputs(theta)))(theta))
