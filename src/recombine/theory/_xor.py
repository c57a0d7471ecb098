"""Exclusive-or: what the gated linear network with one pathway per example learns, and how fast."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize_scalar

from ._two_layer import two_layer_mode_strength


class XorStatistics(NamedTuple):
    """Correlations of one pathway, which is gated on for one of the examples."""

    Sigma_yx: Float[Array, "1 2"]
    """⟨g y x^T⟩ (Eq. 18), for the pathway of x = (1, 1) with y = 1; the others mirror it."""
    Sigma_x: Float[Array, "2 2"]
    """⟨g x x^T⟩ (Eq. 19)."""
    Sigma_y: Float[Array, "1 1"]
    """⟨g y y^T⟩ (Eq. 20)."""
    s: float
    """The singular value of `Sigma_yx`, sqrt(2) / P."""
    d: float
    """v^T Sigma_x v = 2 / P."""
    v: Float[Array, "2"]
    """The right singular vector, along the example."""


def xor_statistics(paths: int = 4) -> XorStatistics:
    """The statistics of a pathway, if each of `paths` pathways serves one example (Eq. 18-20)."""
    return XorStatistics(
        Sigma_yx=jnp.ones((1, 2)) / paths,
        Sigma_x=jnp.ones((2, 2)) / paths,
        Sigma_y=jnp.ones((1, 1)) / paths,
        s=2**0.5 / paths,
        d=2 / paths,
        v=jnp.ones(2) / 2**0.5,
    )


def xor_mode_strength(
    t: Float[Array, "..."], a0: float, tau: float, *, paths: int = 4
) -> Float[Array, "..."]:
    """The strength of the one mode that a pathway learns (Eq. 21); it approaches 1 / sqrt(2)."""
    _, _, _, s, d, _ = xor_statistics(paths)
    return two_layer_mode_strength(t, a0=a0, s=s, d=d, tau=tau)


def xor_loss(a: Float[Array, "..."], *, paths: int = 4) -> Float[Array, "..."]:
    """The loss at mode strength `a`: 1/2 - P s a + P d a^2 / 2 = 1/2 - sqrt(2) a + a^2 (Eq. 22-23).

    The number of pathways drops out.
    """
    _, _, _, s, d, _ = xor_statistics(paths)
    return 0.5 - paths * s * a + paths / 2 * d * a**2


def estimate_a0(
    W1: Float[Array, "hidden 2"],
    W2: Float[Array, "1 hidden"],
    x: Float[Array, "examples 2"],
    y: Float[Array, "examples 1"],
) -> Float[Array, " examples"]:
    """What the initial weights of a ReLU network say about a0, before any training.

    A unit with output weight a belongs to the pathway of that example on which it is active and
    whose target has the sign of a; exactly one of the four examples of exclusive-or is such. Of
    its weight w along v = x / |x| and its own |a| only the balanced part grows, so that a pathway
    starts at the sum over its units of ((w . v + |a|) / 2)^2. The time in which weights turn toward
    v is not modelled: the drop is predicted some epochs early.

    **Returns:** a0 of every example's pathway.
    """
    along = W1 @ (x / jnp.linalg.norm(x, axis=-1, keepdims=True)).T
    out = W2[0][:, None]
    member = (along > 0) & (out * y[:, 0] > 0)
    return jnp.sum(jnp.where(member, (along + jnp.abs(out)) ** 2 / 4, 0.0), axis=0)


def fit_a0(
    epochs: Float[np.ndarray, " epochs"],
    losses: Float[np.ndarray, " epochs"],
    tau: float,
    *,
    bounds: tuple[float, float] = (1e-12, 0.5),
) -> float:
    """The a0 with which Eq. 23 comes closest to measured losses, in the mean of squares."""
    epochs, losses = np.asarray(epochs, float), np.asarray(losses, float)
    s, d = 2**0.5 / 4, 0.5

    def misfit(log_a0):
        a = (s / d) / (1 - (1 - s / (d * np.exp(log_a0))) * np.exp(-2 * s * epochs / tau))
        return np.mean((0.5 - 2**0.5 * a + a**2 - losses) ** 2)

    # The misfit is flat where theory and measurement drop at quite different times: look around
    # before going downhill.
    grid = np.linspace(np.log(bounds[0]), np.log(bounds[1]), 200)
    best = int(np.argmin([misfit(x) for x in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    fit = minimize_scalar(misfit, bounds=around, method="bounded", options={"xatol": 1e-9})
    return float(np.exp(fit.x))
