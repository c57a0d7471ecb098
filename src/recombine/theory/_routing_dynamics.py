"""Reduced dynamics of the routing task: one small system of ODEs per singular mode.

Notation of the paper: S and D are the singular values of the input-output and the input
correlations, B1, B2, B3 the strengths of a mode in the input, hidden and output weights, M the
number of domains, tau the time constant. Everything is elementwise over modes, and over any
leading axes (times) before them.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._mode_dynamics import AbstractModeDynamics, as_numbers


class RouteStrengths(NamedTuple):
    """Strengths of each mode in the input, hidden and output weights."""

    B1: Float[Array, "*times modes"]
    B2: Float[Array, "*times modes"]
    B3: Float[Array, "*times modes"]


class Strengths(NamedTuple):
    """Strengths of each mode in the input (equal to the output) and the hidden weights."""

    B1: Float[Array, "*times modes"]
    B2: Float[Array, "*times modes"]


class RoutingDynamics(AbstractModeDynamics[RouteStrengths]):
    """Three variables per mode (Eq. 44-46).

    An input or output weight lies on K of the K M trained paths, the hidden weight on all of them,
    hence the factor 1 / M; K itself cancels.
    """

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        b = jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), self.S.shape)
        return RouteStrengths(b, b, b)

    def rate(self, state):
        B1, B2, B3 = state
        error = (self.S - self.D * self.strength(state)) / self.tau
        return RouteStrengths(B3 * B2 * error / self.M, B3 * B1 * error, B2 * B1 * error / self.M)

    def strength(self, state):
        return state.B3 * state.B2 * state.B1

    def conserved(self, state):
        """M B1^2 - B2^2 and M B3^2 - B2^2."""
        return self.M * state.B1**2 - state.B2**2, self.M * state.B3**2 - state.B2**2


class BalancedRoutingDynamics(AbstractModeDynamics[Strengths]):
    """Two variables per mode, for B1 = B3 (Eq. 13-14)."""

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        b = jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), self.S.shape)
        return Strengths(b, b)

    def rate(self, state):
        error = (self.S - self.D * self.strength(state)) / self.tau
        return Strengths(state.B2 * state.B1 * error / self.M, state.B1**2 * error)

    def strength(self, state):
        return state.B2 * state.B1**2

    def conserved(self, state):
        """C = M B1^2 - B2^2."""
        return self.M * state.B1**2 - state.B2**2


class HiddenRoutingDynamics(AbstractModeDynamics[Float[Array, "*times modes"]]):
    """One variable per mode, B2, for a given constant C = M B1^2 - B2^2 (Eq. 15)."""

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    C: Float[Array, "..."] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        """B2 = `b0`; B1 equals it only if C = (M - 1) b0^2."""
        return jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), self.S.shape)

    def rate(self, state):
        error = (self.S - self.D * self.strength(state)) / self.tau
        return (state**2 + self.C) * error / self.M

    def strength(self, state):
        return state * (state**2 + self.C) / self.M

    def conserved(self, state):
        """C, by construction."""
        return jnp.broadcast_to(self.C, jnp.shape(state))


class HyperbolicRoutingDynamics(AbstractModeDynamics[Float[Array, "*times modes"]]):
    """Eq. 15 in the coordinate theta of B2 = sqrt(C) sinh(theta / 2); C > 0."""

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    C: Float[Array, "..."] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        """The theta at which B2 = `b0`."""
        b = jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), self.S.shape)
        return 2 * jnp.arcsinh(b / jnp.sqrt(self.C))

    def hidden(self, state: Float[Array, "*times modes"]) -> Float[Array, "*times modes"]:
        """B2 at the given theta."""
        return jnp.sqrt(self.C) * jnp.sinh(state / 2)

    def rate(self, state):
        error = (self.S - self.D * self.strength(state)) / self.tau
        return 2 * jnp.sqrt(self.C) * jnp.cosh(state / 2) * error / self.M

    def strength(self, state):
        return self.C**1.5 * jnp.sinh(state / 2) * jnp.cosh(state / 2) ** 2 / self.M

    def conserved(self, state):
        """C, by construction."""
        return jnp.broadcast_to(self.C, jnp.shape(state))


@jax.jit
def routing_fixed_point(
    S: Float[Array, " modes"], D: Float[Array, "..."], M: float, C: float | Array = 0.0
) -> Strengths:
    """The learned strengths: B2 (B2^2 + C) / M = S / D and B1 = sqrt((B2^2 + C) / M).

    For a sharing scheme pass sqrt(P) in place of `M`. Without an offset (C = 0) the result is
    B1 = (S / (D sqrt(M)))^(1/3), B2 = sqrt(M) B1; in general B2 / B1 = sqrt(M - C / B1^2)
    (Eq. 49-51).

    **Arguments:**

    - `S`, `D`: the singular values, positive.
    - `M`: the number of domains.
    - `C`: the conserved quantity M B1^2 - B2^2; (M - 1) b0^2 if all weights start at b0.
    """
    cube = M * as_numbers(S) / D
    offset = jnp.broadcast_to(jnp.asarray(C, cube.dtype), cube.shape)
    # From this side of the root the cubic is convex, so that Newton's method cannot overshoot.
    above = jnp.cbrt(cube) + jnp.sqrt(jnp.maximum(-offset, 0))

    def newton(_, x):
        return x - (x**3 + offset * x - cube) / (3 * x**2 + offset)

    B2 = jax.lax.fori_loop(0, 60, newton, above)
    return Strengths(jnp.sqrt((B2**2 + offset) / M), B2)


def time_constant(*, outputs: int, M: int, K: int, learning_rate: float) -> float:
    """tau in steps of gradient descent on the summed loss (see `summed_loss`).

    One step of gradient descent with this learning rate is a time step of 1 in the reduced
    dynamics with tau = outputs / (2 K M learning_rate).
    """
    return outputs / (2 * K * M * learning_rate)


def mode_loss(
    strength: Float[Array, "*times modes"], S: Float[Array, " modes"], D: Float[Array, "..."]
) -> Float[Array, "*times"]:
    """The paper's loss (Eq. 1) of a network whose modes have these strengths.

    The mean over trained routes and items of half the squared error, minus the part that no linear
    map can explain (nothing, if the items' inputs are linearly independent).
    """
    return 0.5 * jnp.sum(D * (jnp.asarray(S) / D - strength) ** 2, axis=-1)


def summed_loss(
    strength: Float[Array, "*times modes"],
    S: Float[Array, " modes"],
    D: Float[Array, "..."],
    *,
    outputs: int,
    M: int,
    K: int,
) -> Float[Array, "*times"]:
    """The sum over the K M trained routes of the squared error averaged over items and outputs.

    This is what the paper's simulations minimise: 2 K M / outputs times the loss of Eq. 1.
    """
    return 2 * K * M / outputs * mode_loss(strength, S, D)
