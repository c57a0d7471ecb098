"""The routing task: one target map, from any input domain to any output domain."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from ._task import AbstractTask


class Items(NamedTuple):
    """Items with inputs and targets; rows are items."""

    X: Float[Array, "items inputs"]
    Y: Float[Array, "items features"]


def orthonormal_inputs(items: int, *, key: PRNGKeyArray) -> Float[Array, "items items"]:
    """Random orthonormal input vectors, one per row: a uniformly distributed orthogonal matrix."""
    return jax.random.orthogonal(key, items)


def hierarchical_items(
    values: tuple[float, ...] = (6.0, 4.0, 3.0), *, key: PRNGKeyArray | None = None
) -> Items:
    """Items at the leaves of a binary tree, described by the branches above them.

    Every node of the tree is a feature; an item has `values[l]` in the feature of its ancestor at
    level l and 0 in all others. The default is the paper's data set (Figure 4c), four items:

        6 4 0 3 0 0 0
        6 4 0 0 3 0 0
        6 0 4 0 0 3 0
        6 0 4 0 0 0 3

    **Arguments:**

    - `values`: the value of a feature at each level, root first.
    - `key`: if given, the inputs are random orthonormal vectors; without it they are one-hot.

    **Returns:** `X [items, items]` and `Y [items, features]` with `2**(levels - 1)` items and
    `2**levels - 1` features.
    """
    items = 2 ** (len(values) - 1)
    levels = [
        value * np.repeat(np.eye(2**level), items // 2**level, axis=0)
        for level, value in enumerate(values)
    ]
    X = jnp.eye(items) if key is None else orthonormal_inputs(items, key=key)
    return Items(X, jnp.asarray(np.concatenate(levels, axis=1), X.dtype))


class Modes(NamedTuple):
    """The correlations of a data set in their singular bases (Eq. 7-8).

    `Y^T X / items = U diag(S) V^T` and, where the assumption of the exact reduction holds,
    `X^T X / items = V diag(D) V^T`.
    """

    U: Float[Array, "features modes"]
    S: Float[Array, " modes"]
    D: Float[Array, " modes"]
    V: Float[Array, "inputs modes"]
    residual: Float[Array, ""]
    """Largest entry of `X^T X V / items - V diag(D)`: 0 where the reduction is exact."""


class RoutingBatch(NamedTuple):
    """Examples of the routing task: an item on one route."""

    x: Float[Array, "size inputs"]
    y: Float[Array, "size features"]
    input_domain: Int[Array, " size"]
    output_domain: Int[Array, " size"]
    item: Int[Array, " size"]


def _all_routes(mask: ArrayLike | None, num_domains: int) -> Bool[Array, "..."]:
    return jnp.ones((num_domains, num_domains), bool) if mask is None else jnp.asarray(mask, bool)


class RoutingTask(AbstractTask):
    """Map an item on the active input domain to its target on the active output domain.

    The target map is the same on all routes; only the routes of `mask` are trained. For example,
    with `hierarchical_items()` the third item arriving on input domain 0 with output domain 5
    active has to appear there as `6 0 4 0 0 3 0`.

    **Arguments:**

    - `X`: inputs, one row per item. They must span the input space: the input correlation has full
        rank.
    - `Y`: targets, one row per item.
    - `num_domains`: M, the number of input domains and of output domains.
    - `mask`: the routes that `sample` draws from, rows are input domains; all M^2 by default.
    """

    X: Float[Array, "items inputs"]
    Y: Float[Array, "items features"]
    mask: Bool[Array, "M_in M_out"]
    num_domains: int = eqx.field(static=True)

    def __init__(self, X, Y, num_domains: int, mask=None):
        self.X, self.Y = jnp.asarray(X, float), jnp.asarray(Y, float)
        self.mask = _all_routes(mask, num_domains)
        self.num_domains = num_domains

    def __check_init__(self):
        if self.X.shape[0] != self.Y.shape[0]:
            raise ValueError(f"{self.X.shape[0]} inputs but {self.Y.shape[0]} targets")
        if self.mask.shape != (self.num_domains, self.num_domains):
            raise ValueError(
                f"the mask of {self.num_domains} domains must be square, not {self.mask.shape}"
            )
        if isinstance(self.X, jax.core.Tracer) or isinstance(self.mask, jax.core.Tracer):
            return
        rank = np.linalg.matrix_rank(np.asarray(self.X))
        if rank < self.X.shape[1]:
            raise ValueError(
                f"the items span {rank} of {self.X.shape[1]} input dimensions: the input"
                " correlation must have full rank"
            )
        if not np.asarray(self.mask).any():
            raise ValueError("the mask trains no route")

    @property
    def target_map(self) -> Float[Array, "features inputs"]:
        """T = Y^T X. It is the map to be learned where the inputs are orthonormal."""
        return self.Y.T @ self.X

    @property
    def singular_values(self) -> Float[Array, " modes"]:
        """Singular values of T = Y^T X: 13.60147, 6.40312, 3, 3 for the paper's items."""
        return jnp.linalg.svd(self.target_map, compute_uv=False)

    def modes(self) -> Modes:
        """S and D of the correlations averaged over items, and their bases (Eq. 7-8, 11-12)."""
        items = self.X.shape[0]
        U, S, Vt = jnp.linalg.svd(self.target_map / items, full_matrices=False)
        V = Vt.T
        correlated = self.X.T @ (self.X @ V) / items
        D = jnp.sum(V * correlated, axis=0)
        return Modes(U=U, S=S, D=D, V=V, residual=jnp.max(jnp.abs(correlated - V * D)))

    def sample(self, size: int, *, key: PRNGKeyArray) -> RoutingBatch:
        """Draw `size` examples: a trained route and an item each, uniformly and independently."""
        route_key, item_key = jax.random.split(key)
        routes = self.mask.reshape(-1).astype(self.X.dtype)
        route = jax.random.choice(
            route_key, self.num_domains**2, (size,), p=routes / jnp.sum(routes)
        )
        item = jax.random.randint(item_key, (size,), 0, self.X.shape[0])
        return RoutingBatch(
            x=self.X[item],
            y=self.Y[item],
            input_domain=route // self.num_domains,
            output_domain=route % self.num_domains,
            item=item,
        )
