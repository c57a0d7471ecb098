"""What adaptation does to embeddings, and to the weights that are generated from them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float


def _unit(vectors: Float[Array, "*tasks features"]) -> Float[Array, "*tasks features"]:
    """Vectors of length 1; a vector of zeros stays one, and has cosine 0 with all others."""
    norm = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / jnp.where(norm > 0, norm, 1)


@jax.jit
def pairwise_cosine(vectors: Float[ArrayLike, "tasks features"]) -> Float[Array, ""]:
    """The mean cosine between the vectors of two different tasks; NaN for a single task.

    1 if all tasks have one direction in common (nothing is specific to a task), 0 if they are
    orthogonal on average. For adapted embeddings, or for generated weights, flattened.
    """
    unit = _unit(jnp.asarray(vectors))
    # The sum over all pairs is the squared length of the sum, without a matrix of pairs.
    same = jnp.sum(unit**2)
    different = jnp.sum(jnp.sum(unit, axis=0) ** 2) - same
    tasks = len(unit)
    return different / (tasks * (tasks - 1) if tasks > 1 else jnp.nan)
