"""Geometric attention: every target reads the closest source that matches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._attention import AbstractScores
from ._dense import Dense
from ._dropout import dropout

_NO_MATCH = -1e9
"""The logit of a source that cannot be read. It is finite, so that no gradient is 0 times ∞."""
_SHORT = 192
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
    mask: Bool[Array, "..."],
    *,
    at: Int[Array, "batch targets"] | None = None,
    normalised: bool = False,
) -> Float[Array, "heads batch targets sources"]:
    """Geometric attention of Eqs. 5.6 to 5.10, from the logits of every match.

    With P = σ(logits), 0 for a column itself and where the mask is false, target i reads source j
    with weight A_ij = P_ij Π_k (1 − P_ik), over the sources k that are closer than j. A row sums to
    1 − Π_k (1 − P_ik).

    **Arguments:**

    - `mask`: false for what nobody reads; it broadcasts to `[batch, targets, sources]`.
    - `at`: positions of the targets among the sources; None if they are the last of them.
    - `normalised`: divide every row by its sum.
    """
    readable = mask & (_positions(logits, at)[..., None] != jnp.arange(logits.shape[3]))
    logs = _log_weights(jnp.where(readable, logits, _NO_MATCH), at)
    return jax.nn.softmax(logs, axis=3) * readable if normalised else jnp.exp(logs)


def _positions(logits, at):
    """Where the targets are: static unless they are given."""
    targets, sources = logits.shape[2:]
    return np.arange(sources - targets, sources) if at is None else at


@jax.custom_vjp
def _log_weights(logits, at):
    """log A, from logits that are `_NO_MATCH` where nobody reads.

    Its derivative by the logit of k is 1 − P_ik in log A_ik, and −P_ik in every A_ij for which k is
    closer. Written down it takes half the time that the derivative of every operation takes.
    """
    # Both log P and log (1 − P) to full precision, from one logarithm.
    rest = jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return jnp.minimum(logits, 0) - rest + _sums_of_closer(jnp.minimum(-logits, 0) - rest, at)


def _log_weights_backward(kept, slope):
    logits, at = kept
    unlikely = jnp.exp(-jnp.abs(logits))
    matches = jnp.where(logits < 0, unlikely, 1) / (1 + unlikely)
    (of_farther,) = jax.linear_transpose(lambda rows: _sums_of_closer(rows, at), slope)(slope)
    return slope - matches * (slope + of_farther), None


_log_weights.defvjp(
    lambda logits, at: (_log_weights(logits, at), (logits, at)), _log_weights_backward
)


def _sums_of_closer(rows, at):
    """The sum over the sources that are closer to the target, for every source.

    Sums of numbers of one sign lose no digits, which differences of running sums do.
    """
    targets, sources = rows.shape[2:]
    if at is not None or sources > _SHORT:
        return _running_sums(rows, at)
    # One product of matrices per target, so targets lead.
    closer = closer_sources(sources)[-targets:].swapaxes(1, 2)
    by_target = jnp.moveaxis(rows, 2, 0)
    sums = by_target.reshape(targets, -1, sources) @ jnp.asarray(closer, rows.dtype)
    return jnp.moveaxis(sums.reshape(by_target.shape), 0, 2)


def _running_sums(rows, at):
    """The same sums in the order of closeness, one after another."""
    sources = np.arange(rows.shape[3])
    order = np.argsort(
        2 * np.abs(sources[:, None] - sources) - (sources > sources[:, None]), axis=1
    )
    place = np.argsort(order, axis=1)
    target = np.arange(rows.shape[2])[:, None]

    def taken(rows, chosen):
        if at is None:
            return rows[:, :, target, chosen[-len(target) :]]
        return jnp.take_along_axis(rows, jnp.asarray(chosen)[at][None], axis=3)

    sums = jnp.cumsum(taken(rows, order), axis=3)
    # The first in order is the target itself, which counts for nothing.
    before = jnp.pad(sums[..., :-1], [(0, 0)] * 3 + [(1, 0)])
    return taken(before, place)


class GeometricScores(AbstractScores):
    """Weights that match content and direction, of the closest match.

    The logit of target i and source j is α q_i · k_j + β D_ij + γ, where D_ij is linear in column
    i: one number per head for the sources to its right and one for those to its left. Dropout acts
    on the keys.
    """

    direction: Dense
    """To D for sources to the right, of all heads, then to the left."""
    alpha: Float[Array, ""]
    beta: Float[Array, ""]
    gamma: Float[Array, ""]
    normalised: bool = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        normalised: bool = False,
        dropout: float = 0.0,
        bias: float = 0.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `width`, `heads`: column width and heads of the attention.
        - `normalised`: whether rows of weights are divided by their sums.
        - `dropout`: the rate at which numbers of the keys are dropped.
        - `bias`: where γ starts. At 0 half of all weight is on the closest source, and little on
            those far away; below 0 all are read more alike.
        """
        self.direction = Dense.uniform(width, 2 * heads, key=key)
        self.alpha = jnp.asarray((width // heads) ** -0.5)
        self.beta, self.gamma = jnp.ones(()), jnp.asarray(float(bias))
        self.normalised, self.dropout = normalised, dropout

    def __call__(
        self,
        targets: Float[Array, "batch targets width"],
        queries: Float[Array, "heads batch targets head_width"],
        keys: Float[Array, "heads batch sources head_width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "heads batch targets sources"]:
        keys = dropout(keys, self.dropout, key=key)
        content = jnp.einsum("hbid,hbjd->hbij", queries * self.alpha, keys)
        sides = self.beta * self.direction(targets) + self.gamma
        sides = jnp.moveaxis(sides.reshape(*targets.shape[:2], 2, -1), (2, 3), (0, 1))
        right, left = sides[..., None]
        is_right = _positions(content, at)[..., None] < jnp.arange(keys.shape[2])
        logits = content + jnp.where(is_right, right, left)
        return geometric_weights(logits, mask, at=at, normalised=self.normalised)
