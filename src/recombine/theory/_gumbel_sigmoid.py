"""Masks that are drawn by a Gumbel-sigmoid: with which probability, and with which gradient."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import quad
from scipy.special import expit

_SMALL = 1e-2
"""Below this logit the closed forms lose digits, and their series are exact to eight."""


def gumbel_sigmoid(
    logit: Float[Array, "..."],
    first: Float[Array, "..."],
    second: Float[Array, "..."],
    temperature: float = 1.0,
) -> Float[Array, "..."]:
    """s = σ((l - log(log U₁ / log U₂)) / τ) of two uniform numbers (Equation B.6)."""
    noise = jnp.log(jnp.log(first) / jnp.log(second))
    return jax.nn.sigmoid((logit - noise) / temperature)


def gumbel_softmax_of_two(
    logit: Float[Array, "..."],
    first: Float[Array, "..."],
    second: Float[Array, "..."],
    temperature: float = 1.0,
) -> Float[Array, "..."]:
    """The first of two Gumbel-softmax weights, with logits l and 0 (Equations B.1 to B.5).

    Gumbel numbers are -log(-log U) of the same uniform numbers as in `gumbel_sigmoid`, whose value
    it has.
    """
    one, other = -jnp.log(-jnp.log(first)), -jnp.log(-jnp.log(second))
    both = jnp.stack(jnp.broadcast_arrays(logit + one, jnp.zeros_like(logit) + other))
    return jax.nn.softmax(both / temperature, axis=0)[0]


def keep_probability(logit: float) -> float:
    """P(b = 1) = 1 - ∫₀¹ U^exp(l) dU, integrated (Equations B.11 to B.24): σ(l) at every τ."""
    return 1.0 - quad(lambda u: u ** np.exp(logit), 0.0, 1.0)[0]


def straight_through_factor(logit: float, temperature: float = 1.0) -> float:
    """The mean of ∂b/∂l = s (1 - s) / τ, by which the gradient of a mask is scaled.

    At τ = 1 it is eˡ [(l - 2) eˡ + l + 2] / (eˡ - 1)³, 1/6 at l = 0; as τ falls it becomes σ'(l).
    So a temperature changes how logits are weighted against each other, not a common scale only.
    """
    if temperature == 1:
        if abs(logit) < _SMALL:
            return 1 / 6 - logit**2 / 60
        e = np.exp(-abs(logit))  # it is even, and finite this way
        return float(e * ((-abs(logit) - 2) * e - abs(logit) + 2) / (e - 1) ** 3)

    def density(noise: float) -> float:
        s = expit((logit - noise) / temperature)
        return s * (1 - s) / temperature / (2 * np.cosh(noise / 2)) ** 2

    # The slope is a peak at the logit, as wide as the temperature.
    near = 20 * temperature
    ends = sorted({-60.0, max(-60.0, logit - near), min(60.0, logit + near), 60.0})
    return float(sum(quad(density, low, high, limit=200)[0] for low, high in pairwise(ends)))


def mean_sample(logit: float) -> float:
    """E[s] = eˡ (eˡ - 1 - l) / (eˡ - 1)² at τ = 1; ½ at l = 0."""
    if abs(logit) < _SMALL:
        return 0.5 + logit / 6
    if logit < 0:
        return 1.0 - mean_sample(-logit)
    e = np.exp(-logit)
    return float((1 - e - logit * e) / (1 - e) ** 2)
