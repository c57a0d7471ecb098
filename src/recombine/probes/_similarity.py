"""Do domains share a representation? Comparisons of their hidden activity.

Throughout, `H [M, items, hidden]` is the hidden activity that each item evokes when it arrives on
each of M input domains.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float


@jax.jit
def similarity_blocks(
    H: Float[ArrayLike, "M items hidden"],
) -> Float[Array, "M M items items"]:
    """Representational similarity: block (i, j) holds the dot products H_i^T H_j (Figure 4g).

    Neither centred nor normalised.
    """
    H = jnp.asarray(H)
    M, items, hidden = H.shape
    rows = H.reshape(M * items, hidden)
    return (rows @ rows.T).reshape(M, items, M, items).swapaxes(1, 2)


@jax.jit
def similarity_matrix(H: Float[ArrayLike, "M items hidden"]) -> Float[Array, "M*items M*items"]:
    """The blocks of `similarity_blocks` side by side, domain by domain."""
    M, items, hidden = jnp.shape(H)
    rows = jnp.reshape(jnp.asarray(H), (M * items, hidden))
    return rows @ rows.T


def _pairs(values: Float[Array, "M M"]) -> Float[Array, ""]:
    """The mean over pairs of different domains; NaN for a single one."""
    M = len(values)
    different = ~jnp.eye(M, dtype=bool)
    return jnp.sum(jnp.where(different, values, 0)) / (M * (M - 1) if M > 1 else jnp.nan)


@jax.jit
def sharing_index(H: Float[ArrayLike, "M items hidden"]) -> Float[Array, ""]:
    """How much of the representation is common to all domains.

    The mean over i != j of ⟨R_ij, R⟩ / ‖R‖², where R is the mean diagonal block: 1 if all
    domains share one code, 0 if their codes are orthogonal.
    """
    blocks = similarity_blocks(H)
    mean = jnp.mean(jnp.einsum("iiab->iab", blocks), axis=0)
    return _pairs(jnp.sum(blocks * mean, axis=(-2, -1)) / jnp.sum(mean**2))


@jax.jit
def off_diagonal_cosines(H: Float[ArrayLike, "M items hidden"]) -> Float[Array, " pairs"]:
    """Cosine between each block (i, j), i != j, and the mean diagonal block.

    It measures the shape of what is shared, `sharing_index` its amount.
    """
    blocks = similarity_blocks(H)
    M = len(blocks)
    mean = jnp.mean(jnp.einsum("iiab->iab", blocks), axis=0)
    norms = jnp.sqrt(jnp.sum(blocks**2, axis=(-2, -1)) * jnp.sum(mean**2))
    cosines = jnp.sum(blocks * mean, axis=(-2, -1)) / norms
    return cosines[~np.eye(M, dtype=bool)]


@jax.jit
def distance_ratio(H: Float[ArrayLike, "M items hidden"]) -> Float[Array, ""]:
    """Distance between domains for one item, over the distance between items in one domain.

    0 if activity carries only what the item is, about 1 if it says as much about where it came
    from.
    """
    H = jnp.asarray(H)
    distances = jnp.sqrt(jnp.sum((H[:, None, :, None] - H[None, :, None, :]) ** 2, axis=-1))
    between = _pairs(jnp.mean(jnp.einsum("ijaa->ija", distances), axis=-1))
    within = _pairs(jnp.mean(jnp.einsum("iiab->iab", distances), axis=0))
    return between / within


@jax.jit
def centred_cosine(H: Float[ArrayLike, "M items hidden"]) -> Float[Array, ""]:
    """Mean cosine between the activity of different domains, each centred over items.

    Centring removes what all items have in common, such as a bias or mean image, so that real data
    can be compared.
    """
    activity = jnp.asarray(H)
    centred = (activity - jnp.mean(activity, axis=1, keepdims=True)).reshape(len(activity), -1)
    unit = centred / jnp.linalg.norm(centred, axis=1, keepdims=True)
    return _pairs(unit @ unit.T)
