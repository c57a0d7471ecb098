"""The learning of one mode by a pathway of two layers."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def two_layer_mode_strength(
    t: Float[Array, "..."], *, a0: float, s: float, d: float, tau: float = 1.0
) -> Float[Array, "..."]:
    """The strength a(t) of a mode in a balanced pathway of two layers (Eq. 21).

    Solves tau da/dt = 2 a (s - d a) with a(0) = a0 > 0, for a mode whose input-output and input
    correlations are s and d; a approaches s / d.
    """
    decay = jnp.exp(-2 * s * jnp.asarray(t, float) / tau)
    return (s / d) / (1 - (1 - s / (d * a0)) * decay)
