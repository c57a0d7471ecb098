"""When learning happens: crossing times of curves, and how far weights have moved.

Curves are read on the host, so these are numpy functions.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree, Real


def crossing_time(
    times: Real[ArrayLike, " times"], curve: Real[ArrayLike, " times"], level: float
) -> float:
    """When `curve` first reaches `level`, from whichever side it starts on.

    Linear between the points of the curve. The first time if the curve starts at the level, NaN if
    it never gets there.
    """
    times, distance = np.asarray(times, float), np.asarray(curve, float) - level
    if distance[0] == 0:
        return float(times[0])
    reached = np.flatnonzero(distance * np.sign(distance[0]) <= 0)
    if not len(reached):
        return float("nan")
    after = reached[0]
    before = after - 1
    fraction = distance[before] / (distance[before] - distance[after])
    return float(times[before] + fraction * (times[after] - times[before]))


def drop_times(
    times: Real[ArrayLike, " times"],
    loss: Real[ArrayLike, " times"],
    levels: Sequence[float],
) -> Float[np.ndarray, " levels"]:
    """When a loss first falls to each of `levels`; NaN where it does not.

    A level that lies above the whole curve was passed at the first time.
    """
    times, loss = np.asarray(times, float), np.asarray(loss, float)
    return np.array(
        [times[0] if loss[0] <= level else crossing_time(times, loss, level) for level in levels]
    )


def delay_index(times: Real[ArrayLike, " times"], loss: Real[ArrayLike, " times"]) -> float:
    """Time to 95 % over time to 50 % of the initial loss.

    Near 1 for a plateau and a sudden drop, as in the race from small weights; near 0.07 for
    exponential decay from the first step, as in the lazy regime.
    """
    times, loss = np.asarray(times, float), np.asarray(loss, float)
    late, half = drop_times(times - times[0], loss, [0.95 * loss[0], 0.5 * loss[0]])
    return float(late / half)


def relative_change(
    after: PyTree[Float[Array, "..."]], before: PyTree[Float[Array, "..."]]
) -> PyTree[Float[Array, ""]]:
    """||W - W(0)|| / ||W(0)||, for each array of a network."""
    return jax.tree.map(
        lambda W, W0: jnp.linalg.norm(jnp.ravel(W - W0)) / jnp.linalg.norm(jnp.ravel(W0)),
        after,
        before,
    )
