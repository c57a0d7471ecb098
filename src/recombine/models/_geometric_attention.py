"""Geometric attention: every column reads the closest column that matches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ._attention import AbstractScores
from ._dropout import dropout
from ._mlp import Dense

_NO_MATCH = -1e9
"""The logit of a source that cannot be read. It is finite, so that no gradient is 0 times ∞."""
_SHORT = 64
"""Up to this length a product of matrices is faster than running sums, of which there are fewer."""


def closer_sources(length: int) -> Bool[np.ndarray, "targets sources others"]:
    """Which other sources come before a source in the eyes of a target: S_ij of Eq. 5.9.

    Those that are nearer, and of two at one distance the one to the right.
    """
    i, j, k = np.ogrid[:length, :length, :length]
    nearer = np.abs(i - k) < np.abs(i - j)
    right_of_two = (j < i) & (k - i == i - j)
    return (nearer | right_of_two) & (k != i) & (k != j)


def geometric_weights(
    logits: Float[Array, "heads batch targets sources"],
    there: Bool[Array, "batch sources"],
    *,
    normalised: bool = False,
) -> Float[Array, "heads batch targets sources"]:
    """Geometric attention of Eqs. 5.6 to 5.10, from the logits of every match.

    With P = σ(logits), 0 for a column itself and for padding, target i reads source j with weight
    A_ij = P_ij Π_k (1 − P_ik), over the sources k that are closer than j. A row sums to
    1 − Π_k (1 − P_ik).

    **Arguments:**

    - `there`: false for padding, which nobody reads.
    - `normalised`: divide every row by its sum.
    """
    readable = there[:, None, :] & ~jnp.eye(logits.shape[-1], dtype=bool)
    logs = _log_weights(jnp.where(readable, logits, _NO_MATCH))
    return jax.nn.softmax(logs, axis=3) * readable if normalised else jnp.exp(logs)


@jax.custom_vjp
def _log_weights(logits):
    """log A, from logits that are `_NO_MATCH` where nobody reads.

    Its derivative by the logit of k is 1 − P_ik in log A_ik, and −P_ik in every A_ij for which k is
    closer. Written down it takes half the time that the derivative of every operation takes.
    """
    # Both log P and log (1 − P) to full precision, from one logarithm.
    rest = jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return jnp.minimum(logits, 0) - rest + _sums_of_closer(jnp.minimum(-logits, 0) - rest)


def _log_weights_backward(logits, slope):
    unlikely = jnp.exp(-jnp.abs(logits))
    matches = jnp.where(logits < 0, unlikely, 1) / (1 + unlikely)
    (of_farther,) = jax.linear_transpose(_sums_of_closer, slope)(slope)
    return (slope - matches * (slope + of_farther),)


_log_weights.defvjp(lambda logits: (_log_weights(logits), logits), _log_weights_backward)


def _sums_of_closer(rows):
    """The sum over the sources that are closer to the target, for every source.

    Sums of numbers of one sign lose no digits, which differences of running sums do.
    """
    length = rows.shape[-1]
    if length <= _SHORT:
        # One product of matrices a target, so targets lead.
        closer = jnp.asarray(closer_sources(length).swapaxes(1, 2), rows.dtype)
        by_target = jnp.moveaxis(rows, 2, 0).reshape(length, -1, length)
        sums = (by_target @ closer).reshape(length, *rows.shape[:2], length)
        return jnp.moveaxis(sums, 0, 2)
    target, source = np.ogrid[:length, :length]
    order = np.argsort(2 * np.abs(target - source) - (source > target), axis=1)
    place = np.argsort(order, axis=1)
    sums = jnp.cumsum(rows[:, :, target, order], axis=3)
    # The first in order is the target itself, which counts for nothing.
    before = jnp.pad(sums[..., :-1], [(0, 0)] * 3 + [(1, 0)])
    return before[:, :, target, place]


class GeometricScores(AbstractScores):
    """Weights that match content and direction, of the closest match.

    The logit of target i and source j is α q_i · k_j + β D_ij + γ, where D_ij is linear in column
    i: one number a head for the sources to its right and one for those to its left. Dropout acts on
    the keys.
    """

    direction: Dense
    """To D for sources to the right, of all heads, then to the left."""
    alpha: Float[Array, ""]
    beta: Float[Array, ""]
    gamma: Float[Array, ""]
    normalised: bool = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        normalised: bool = False,
        dropout: float = 0.0,
        bias: float = 0.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `size`, `heads`: of the columns, and of the attention.
        - `normalised`: whether rows of weights are divided by their sums.
        - `dropout`: the rate at which numbers of the keys are dropped.
        - `bias`: where γ starts. At 0 half of all weight is on the closest source, and little on
            those far away; below 0 all are read more alike.
        """
        self.direction = Dense.uniform(size, 2 * heads, key=key)
        self.alpha = jnp.asarray((size // heads) ** -0.5)
        self.beta, self.gamma = jnp.ones(()), jnp.asarray(float(bias))
        self.normalised, self.rate = normalised, dropout

    def __call__(
        self,
        columns: Float[Array, "batch_and_length size"],
        queries: Float[Array, "heads batch length head_size"],
        keys: Float[Array, "heads batch length head_size"],
        there: Bool[Array, "batch length"],
        *,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "heads batch length length"]:
        keys = dropout(keys, self.rate, key=key)
        content = jnp.einsum("hbid,hbjd->hbij", queries * self.alpha, keys)
        heads, batch, length, _ = queries.shape
        sides = self.beta * self.direction(columns) + self.gamma
        right, left = jnp.moveaxis(sides.reshape(batch, length, 2, heads), (2, 3), (0, 1))
        is_right = jnp.arange(length)[:, None] < jnp.arange(length)
        direction = jnp.where(is_right, right[..., None], left[..., None])
        return geometric_weights(content + direction, there, normalised=self.normalised)
