"""Balanced scores of assignments of tokens to experts, after Sinkhorn and Knopp."""

import jax.numpy as jnp
from jax.nn import logsumexp
from jaxtyping import Array, Float


def sinkhorn(
    logits: Float[Array, "tokens experts"], *, iterations: int = 3, released: bool = False
) -> Float[Array, "tokens experts"]:
    """z + a + b, the logarithms of scores whose rows and columns have about the same sums.

    b_x = log A − LSE_e(z + a) and a_e = log B − LSE_x(z + b) in turns, for A tokens and B experts.

    **Arguments:**

    - `released`: as the published code has it, with z − a and z − b in the sums: with sharp logits
        its loads are far from balanced.
    """
    tokens, experts = logits.shape
    sign = -1 if released else 1
    a, b = jnp.zeros(experts, logits.dtype), jnp.zeros((tokens, 1), logits.dtype)
    for _ in range(iterations):
        b = jnp.log(tokens) - logsumexp(logits + sign * a, axis=1, keepdims=True)
        a = jnp.log(experts) - logsumexp(logits + sign * b, axis=0)
    return logits + a + b
