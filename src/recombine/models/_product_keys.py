"""Product-key memories: n² values whose keys are pairs of n sub-keys."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._feed_forward import AbstractFeedForward


def sum_scores(
    first: Float[Array, "*rows keys"], second: Float[Array, "*rows keys"]
) -> Float[Array, "*rows values"]:
    """The scores of all pairs of sub-keys, u[i] = second[i div n] + first[i mod n]: Eq. 7.8."""
    scores = second[..., :, None] + first[..., None, :]
    return scores.reshape(*scores.shape[:-2], -1)


def largest_sums(
    first: Float[Array, "rows keys"], second: Float[Array, "rows keys"], count: int
) -> tuple[Float[Array, "rows {count}"], Int[Array, "rows {count}"]]:
    """The largest of all n² sums and their places, from the largest of both halves.

    It is exact: a pair among the largest has halves that are among the largest.
    """
    keys = first.shape[1]
    few = min(count, keys)
    (of_first, at_first), (of_second, at_second) = (
        jax.lax.top_k(half, few) for half in (first, second)
    )
    scores, places = jax.lax.top_k(sum_scores(of_first, of_second), count)
    rows = jnp.arange(len(first))[:, None]
    return scores, at_second[rows, places // few] * keys + at_first[rows, places % few]


class ProductKeyMemory(AbstractFeedForward):
    """Values that are read by the scores of product keys, of every half of a column: Eq. 7.8.

    The scores of all n² keys are summed over heads and activated, Σ_i f(u[i]) v_i. With `largest`,
    every head finds its K largest scores, the activation acts on those of all heads together, and
    heads share the values. Summing heads that read the same halves is one head with summed keys.
    """

    keys: Float[Array, "heads 2 half keys"]
    """The sub-keys of every head, for both halves of a column."""
    values: Float[Array, "values width"]
    softmax: bool = eqx.field(static=True, default=False)
    """Whether scores are activated by softmax, as in the original, or by ReLU."""
    largest: int | None = eqx.field(static=True, default=None)
    """K; None for all scores, summed over heads."""

    def __check_init__(self):
        values = len(self.values)
        if self.largest is not None and not 1 <= self.largest <= values:
            raise ValueError(f"largest={self.largest} is not between 1 and values={values}")

    def __call__(
        self, x: Float[Array, "batch length width"], *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, "batch length width"], dict[str, Array]]:
        rows = x.reshape(-1, x.shape[2])
        halves = jnp.split(rows, 2, axis=1)
        activate = jax.nn.softmax if self.softmax else jax.nn.relu
        if self.largest is None:
            # The sum over heads of linear scores: the keys are summed first.
            summed = self.keys.sum(axis=0)
            scores = activate(sum_scores(halves[0] @ summed[0], halves[1] @ summed[1]))
            return (scores @ self.values).reshape(x.shape), {"active": _active(scores, x)}
        found = [
            largest_sums(halves[0] @ own[0], halves[1] @ own[1], self.largest) for own in self.keys
        ]
        scores, places = (jnp.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        scores = activate(scores)
        y = jnp.einsum("rk,rkd->rd", scores, self.values[places])
        return y.reshape(x.shape), {"active": _active(scores, x)}


def _active(scores, x) -> Int[Array, "batch length"]:
    """How many scores of a column are positive."""
    return (scores > 0).sum(axis=1).reshape(x.shape[:2])
