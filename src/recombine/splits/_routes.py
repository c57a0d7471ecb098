"""Which routes of the routing task are trained: families of masks.

A mask is a bool array, rows are input domains, columns output domains, True is trained.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from .._host_random import host_generator


def _circulant(M: int, offsets: np.ndarray) -> np.ndarray:
    """Input i is trained with the outputs i + offset, modulo M."""
    offset = (np.arange(M)[None, :] - np.arange(M)[:, None]) % M
    return np.isin(offset, offsets % M)


def _check_routes(M: int, K: int) -> None:
    if not 0 <= K <= M:
        raise ValueError(f"K must lie between 0 and M = {M}, not {K}")


def ring_mask(M: int, K: int) -> Bool[Array, "M M"]:
    """Input i is trained with its K nearest outputs on a ring (Figures 4 and 6).

    The offsets are -floor((K-1)/2) ... floor(K/2): -1, 0, 1, 2 for K = 4.
    """
    _check_routes(M, K)
    return jnp.asarray(_circulant(M, np.arange(K) - (K - 1) // 2))


def permuted_ring_mask(M: int, K: int, *, key: PRNGKeyArray) -> Bool[Array, "M M"]:
    """A ring mask with its columns permuted at random."""
    _check_routes(M, K)
    order = host_generator(key).permutation(M)
    return jnp.asarray(_circulant(M, np.arange(K))[:, order])


def random_regular_mask(M: int, K: int, *, key: PRNGKeyArray) -> Bool[Array, "M M"]:
    """A mask drawn (almost) uniformly among all in which each domain has K trained routes.

    Such masks are the unions of K disjoint permutations. Drawing permutations until they are
    disjoint need not end, and greedy completion is not uniform. Instead, starting at a permuted
    ring, random pairs of inputs pool the outputs that only one of them has and deal them out anew:
    a symmetric chain, hence uniform in the limit, that reaches every regular mask.
    """
    _check_routes(M, K)
    rng = host_generator(key)
    mask = _circulant(M, np.arange(K))[:, rng.permutation(M)]
    trades = 10 * M * M.bit_length() if M > 1 else 0
    first_of_pair = rng.integers(M, size=trades)
    second_of_pair = (first_of_pair + rng.integers(1, max(M, 2), size=trades)) % M
    for i, k in zip(first_of_pair, second_of_pair, strict=True):
        pool = rng.permutation(np.flatnonzero(mask[i] ^ mask[k]))
        half = len(pool) // 2
        mask[i, pool[:half]], mask[k, pool[:half]] = True, False
        mask[i, pool[half:]], mask[k, pool[half:]] = False, True
    return jnp.asarray(mask)


def diagonal_mask(M: int, routes: int | None = None) -> Bool[Array, "M M"]:
    """The routes from a domain to that of the same number; the first `routes` of them if given."""
    routes = M if routes is None else routes
    _check_routes(M, routes)
    return jnp.asarray(np.diag(np.arange(M) < routes))


def full_mask(M: int) -> Bool[Array, "M M"]:
    """All M^2 routes."""
    return jnp.ones((M, M), bool)
