"""Have modules found the directions of the task? Directions count up to their sign."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ._module_alignment import _unit


def _cosines(u_hat: Float[ArrayLike, "K m"], u: Float[ArrayLike, "k m"]) -> Float[Array, "K k"]:
    return _unit(jnp.asarray(u_hat)) @ _unit(jnp.asarray(u)).T


def module_similarity(
    u_hat: Float[ArrayLike, "K m"], u: Float[ArrayLike, "k m"]
) -> Float[Array, ""]:
    """The similarity score (1/K) Σ_i max_j |cos(û_i, u_j)| (Appendix E.3).

    1 if every module has one of the true directions. Random directions have a high score as well:
    compare with `chance_similarity`.

    **Arguments:**

    - `u_hat`: the directions of a network's modules.
    - `u`: the true directions.
    """
    return jnp.abs(_cosines(u_hat, u)).max(axis=1).mean()


def chance_similarity(k: int, m: int) -> float:
    """The expected `module_similarity` of random directions with k random directions in R^m.

    The squared cosine of two of them follows a Beta(1/2, (m−1)/2) distribution, and given û the
    k cosines are independent. So with G the distribution function of |cos|, the expectation of the
    largest is ∫ 1 − G(t)^k dt over [0, 1]: 8/π² for k = m = 2, and 3/4 for k = m = 3.
    """
    from scipy.integrate import quad
    from scipy.special import betainc

    if min(k, m) < 1:
        raise ValueError(f"k and m must be 1 or more; got {k, m}")
    if m == 1:
        return 1.0
    return quad(lambda t: 1 - betainc(0.5, (m - 1) / 2, t * t) ** k, 0, 1)[0]


def sign_aligned(u_hat: Float[ArrayLike, "K m"], u: Float[ArrayLike, "k m"]) -> Float[Array, "K m"]:
    """Directions with their signs set so that each points along the true one it is closest to."""
    cosines = _cosines(u_hat, u)
    best = jnp.abs(cosines).argmax(axis=1)
    away = jnp.take_along_axis(cosines, best[:, None], axis=1) < 0
    return jnp.asarray(u_hat) * jnp.where(away, -1, 1)


class DirectionEmbedding(NamedTuple):
    """Directions as points of a plane."""

    learned: Float[np.ndarray, "K 2"]
    true: Float[np.ndarray, "k 2"]


def embed_directions(
    u_hat: Float[ArrayLike, "K m"],
    u: Float[ArrayLike, "k m"],
    *,
    perplexity: float = 5.0,
    by_cosine: bool = False,
    seed: int = 0,
) -> DirectionEmbedding:
    """Learned and true directions in one plane, by t-SNE (Figure 11).

    **Arguments:**

    - `u_hat`, `u`: learned and true directions.
    - `perplexity`: about how many neighbours a point has; below the number of points.
    - `by_cosine`: take 1 − |cos| as the distance, in place of the Euclidean distance after
        `sign_aligned`.
    - `seed`: seed of the initial positions. The same seed gives the same embedding.
    """
    from sklearn.manifold import TSNE

    learned, true = np.asarray(sign_aligned(u_hat, u)), np.asarray(u)
    points = np.concatenate([learned, true])
    if perplexity >= len(points):
        raise ValueError(
            f"a perplexity of {perplexity:g} needs more than {len(points)} directions; lower it"
        )
    if by_cosine:
        points = np.maximum(1 - np.abs(np.asarray(_cosines(points, points))), 0)
        np.fill_diagonal(points, 0)
    embedded = TSNE(
        perplexity=perplexity,
        metric="precomputed" if by_cosine else "euclidean",
        init="random",
        method="exact",
        random_state=seed,
    ).fit_transform(points)
    return DirectionEmbedding(embedded[: len(learned)], embedded[len(learned) :])
