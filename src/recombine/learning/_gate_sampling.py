"""Weights under sampled masks: the Gumbel-sigmoid with a straight-through gradient."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

_LARGEST = 60.0
"""Beyond ±60 a logit is certain in 32-bit numbers; its exponential must stay finite."""


def cheap_uniform(words: UInt32[Array, " 2"], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Numbers between 0 and 1, uniform up to 2⁻²⁴, from two random words.

    A hash of a counter, twice: a tenth of the time of `jax.random.uniform`, which would be most of
    the time of a step of learning. It serves to sample masks, and nothing else.
    """
    size = math.prod(shape)
    if size >= 2**32:
        raise ValueError(f"{size} numbers are more than the counter has; mask fewer weights")
    x = jax.lax.iota(jnp.uint32, size).reshape(shape) * jnp.uint32(0x9E3779B9)
    for word in (words[0], words[1]):
        x = x + word
        x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
        x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
        x = x ^ (x >> 16)
    return ((x >> 8).astype(jnp.float32) + 0.5) * jnp.float32(2**-24)


def _relaxed(logits, uniform, temperature):
    """s = σ((l - L) / τ), with logistic noise L = log u - log(1 - u) in the place of log E₁/E₂."""
    logits = jnp.clip(logits, -_LARGEST, _LARGEST)
    if temperature == 1:  # needs no logarithm
        kept = jnp.exp(logits) * (1 - uniform)
        return kept / (kept + uniform)
    noise = jnp.log(uniform) - jnp.log1p(-jnp.minimum(uniform, 1 - 2**-24))
    return jax.nn.sigmoid((logits - noise) / temperature)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def sampled_weights(
    weights: Float[Array, "..."],
    logits: Float[Array, "..."],
    words: UInt32[Array, " 2"],
    temperature: float = 1.0,
) -> Float[Array, "..."]:
    """Weights w·b under a sampled mask b: the Gumbel-sigmoid, with a straight-through gradient.

    b = 1[s > 0.5], which is 1 with probability σ(l) for every temperature τ. Its derivative by l is
    that of s, s (1 - s) / τ. The ratio of the two exponential numbers log U₁ / log U₂ has the
    distribution of u / (1 - u), so that one uniform number does for both.

    **Arguments:**

    - `words`: two random 32-bit words, which the mask is drawn with.
    """
    return _sampled(weights, logits, words, temperature)[0]


def _sampled(weights, logits, words, temperature):
    kept = cheap_uniform(words, logits.shape) < jax.nn.sigmoid(logits)
    return jnp.where(kept, weights, 0), (weights, logits, words)


def _slope(temperature, residual, slope):
    weights, logits, words = residual
    # The noise is drawn again: it costs less than to keep it.
    uniform = cheap_uniform(words, logits.shape)
    s = _relaxed(logits, uniform, temperature)
    of_logits = slope * weights * s * (1 - s) / temperature
    return jnp.where(uniform < jax.nn.sigmoid(logits), slope, 0), of_logits, None


sampled_weights.defvjp(_sampled, _slope)
