"""Singular values of weights, and the strengths of singular modes in a network's maps."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float


@partial(jax.jit, static_argnames="top")
def singular_values(
    W: Float[ArrayLike, "*batch rows columns"], top: int | None = None
) -> Float[Array, "*batch values"]:
    """Singular values, largest first; the `top` largest if given."""
    return jnp.linalg.svd(jnp.asarray(W), compute_uv=False)[..., :top]


@jax.jit
def mode_strengths(
    maps: Float[ArrayLike, "*batch features inputs"],
    U: Float[ArrayLike, "features modes"],
    V: Float[ArrayLike, "inputs modes"],
) -> Float[Array, "*batch modes"]:
    """The strength of each singular mode in a linear map: diag(U^T W V)."""
    return jnp.einsum("fm,...fi,im->...m", jnp.asarray(U), jnp.asarray(maps), jnp.asarray(V))


@jax.jit
def off_diagonal_residual(
    W: Float[ArrayLike, "*batch rows columns"],
    left: Float[ArrayLike, "rows modes_left"],
    right: Float[ArrayLike, "columns modes_right"],
) -> Float[Array, "*batch"]:
    """Largest off-diagonal entry of B = left^T W right: 0 where W is decoupled (Eq. 9)."""
    B = jnp.asarray(left).T @ jnp.asarray(W) @ jnp.asarray(right)
    off_diagonal = ~jnp.eye(B.shape[-2], B.shape[-1], dtype=bool)
    return jnp.max(jnp.abs(B), axis=(-2, -1), where=off_diagonal, initial=0)


@jax.jit
def hidden_to_input_ratio(
    W1: Float[ArrayLike, "*batch hidden inputs"],
    W2: Float[ArrayLike, "hidden hidden"],
) -> Float[Array, "*batch modes"]:
    """Singular values of the hidden map over those of an input map, mode by mode.

    The shared solution tends to sqrt(M) in every mode (Eq. 49-51): the hidden map lies on M times
    as many trained routes.
    """
    s1 = singular_values(W1)
    return singular_values(W2, s1.shape[-1]) / s1
