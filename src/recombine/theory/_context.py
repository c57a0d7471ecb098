"""Contextual classification: report the first or the second input, as the context says.

Inputs are independent and uniform on (-1, 1), both contexts equally likely, the target is the input
that the context names. A deep linear network cannot solve it; a gated one with one path per
context can.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._two_layer import two_layer_mode_strength


class ContextStatistics(NamedTuple):
    """Correlations of the linear network's one path and of the gated network's path per context."""

    linear_Sigma_yx: Float[Array, "1 2"]
    """⟨y x^T⟩ (Eq. 24)."""
    linear_Sigma_x: Float[Array, "2 2"]
    """⟨x x^T⟩ (Eq. 25)."""
    Sigma_yx: Float[Array, "paths 1 2"]
    """⟨g_p y x^T⟩ (Eq. 26-27)."""
    Sigma_x: Float[Array, "paths paths 2 2"]
    """⟨g_j x x^T g_p⟩; zero for different paths, as only one of them is on (Eq. 28-29)."""
    Sigma_y: Float[Array, "1 1"]
    """⟨y y^T⟩."""


def context_statistics() -> ContextStatistics:
    """The statistics of the whole population (Eq. 24-29)."""
    eye = jnp.eye(2)
    return ContextStatistics(
        linear_Sigma_yx=jnp.full((1, 2), 1 / 6),
        linear_Sigma_x=eye / 3,
        Sigma_yx=eye[:, None, :] / 6,
        Sigma_x=eye[:, :, None, None] * eye / 6,
        Sigma_y=jnp.full((1, 1), 1 / 3),
    )


class LinearContext:
    """Closed forms for the deep linear network, which has one path whatever the context."""

    @staticmethod
    def solution(statistics: ContextStatistics) -> Float[Array, "1 2"]:
        """The map that the network learns, Sigma_yx Sigma_x^-1: [1/2, 1/2] (population)."""
        return jnp.linalg.solve(statistics.linear_Sigma_x, statistics.linear_Sigma_yx.T).T

    @staticmethod
    def loss(
        W: Float[Array, "*batch 1 2"], statistics: ContextStatistics
    ) -> Float[Array, "*batch"]:
        """The loss of a network with total map `W`: 1/6 at zero, 1/12 when it has learned."""
        yx, x, y = statistics.linear_Sigma_yx, statistics.linear_Sigma_x, statistics.Sigma_y
        return 0.5 * jnp.trace(y) - jnp.sum(W * yx, (-1, -2)) + 0.5 * jnp.sum(W @ x * W, (-1, -2))

    @staticmethod
    def mode_strength(t: Float[Array, "..."], a0: float, tau: float) -> Float[Array, "..."]:
        """The strength of the mode [1, 1] / sqrt(2); it approaches 1 / sqrt(2).

        Eq. 21 with s = sqrt(2) / 6 and d = 1/3.
        """
        return two_layer_mode_strength(t, a0=a0, s=2**0.5 / 6, d=1 / 3, tau=tau)


class GatedContext:
    """Closed forms for the gated network with one path per context."""

    @staticmethod
    def solution(statistics: ContextStatistics) -> Float[Array, "paths 1 2"]:
        """The map that each path learns: [1, 0] and [0, 1]."""
        own = statistics.Sigma_x[jnp.arange(2), jnp.arange(2)]
        return jnp.linalg.solve(own, jnp.swapaxes(statistics.Sigma_yx, -1, -2)).swapaxes(-1, -2)

    @staticmethod
    def loss(
        W: Float[Array, "*batch paths 1 2"], statistics: ContextStatistics
    ) -> Float[Array, "*batch"]:
        """The loss of a network whose paths have the maps `W`: 1/6 at zero, 0 when learned."""
        yx, x, y = statistics.Sigma_yx, statistics.Sigma_x, statistics.Sigma_y
        quadratic = jnp.einsum("...poi,pqik,...qok->...", W, x, W)
        return 0.5 * jnp.trace(y) - jnp.sum(W * yx, (-1, -2, -3)) + 0.5 * quadratic

    @staticmethod
    def mode_strength(t: Float[Array, "..."], a0: float, tau: float) -> Float[Array, "..."]:
        """The strength of a path's mode, [1, 0] or [0, 1]; it approaches 1.

        Eq. 21 with s = d = 1/6.
        """
        return two_layer_mode_strength(t, a0=a0, s=1 / 6, d=1 / 6, tau=tau)
