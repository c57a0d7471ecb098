"""The pathway race: sharing schemes alone (Eq. 16-17), and several of them in one network.

Input and output domains are grouped into blocks of q = sqrt(P), and the P routes between two blocks
share one hidden weight: q = 1 gives every route its own pathway, q = M shares one among all. All
routes are trained.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import brentq

from ._mode_dynamics import AbstractModeDynamics, as_numbers
from ._routing_dynamics import Strengths


class SharingDynamics(AbstractModeDynamics[Strengths]):
    """One sharing scheme: two variables per mode (Eq. 16-17, 52-53), q = sqrt(P).

    With q = M these are the balanced dynamics of the routing network. The ratio B2 / B1 approaches
    P^(1/4) = sqrt(q) (Eq. 56).
    """

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    q: float | Float[Array, "..."] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        shape = jnp.broadcast_shapes(self.S.shape, jnp.shape(self.q))
        b = jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), shape)
        return Strengths(b, b)

    def rate(self, state):
        error = (self.S - self.D * self.strength(state)) / (self.tau * self.M**2)
        B1, B2 = state
        return Strengths(self.q * B2 * B1 * error, self.q**2 * B1**2 * error)

    def strength(self, state):
        return state.B2 * state.B1**2

    def conserved(self, state):
        """q B1^2 - B2^2."""
        return self.q * state.B1**2 - state.B2**2


class RaceDynamics(AbstractModeDynamics[Strengths]):
    """Several sharing schemes in one network whose outputs add: they race for a common error.

    For scheme k, tau B1_k' = (q_k / M^2) B2_k B1_k E and tau B2_k' = (q_k^2 / M^2) B1_k^2 E, where
    E = S - D sum_l B2_l B1_l^2. The state's arrays are `[schemes, modes]`.
    """

    S: Float[Array, " modes"] = eqx.field(converter=as_numbers)
    D: Float[Array, "..."] = eqx.field(converter=as_numbers)
    M: float | Float[Array, ""] = eqx.field(converter=as_numbers)
    q: Float[Array, " schemes"] = eqx.field(converter=as_numbers)
    tau: float | Float[Array, ""] = eqx.field(converter=as_numbers, default=1.0)

    def start(self, b0):
        """Strength `b0` everywhere; `[schemes, 1]` or `[schemes, modes]` gives head starts."""
        b = jnp.broadcast_to(jnp.asarray(b0, self.S.dtype), (*self.q.shape, *self.S.shape))
        return Strengths(b, b)

    def rate(self, state):
        error = (self.S - self.D * self.strength(state)) / (self.tau * self.M**2)
        error, q = error[..., None, :], self.q[:, None]
        return Strengths(q * state.B2 * state.B1 * error, q**2 * state.B1**2 * error)

    def strength(self, state):
        return jnp.sum(state.B2 * state.B1**2, axis=-2)

    def shares(self, state: Strengths) -> Float[Array, "*times schemes modes"]:
        """The part of every mode's strength that each scheme carries."""
        return state.B2 * state.B1**2 / self.strength(state)[..., None, :]

    def conserved(self, state):
        """q_k B1_k^2 - B2_k^2."""
        return self.q[:, None] * state.B1**2 - state.B2**2


def _unforced_strength(sigma: float, q, b0):
    """The strength of a scheme after it has been driven by an accumulated error of `sigma`.

    The schemes of a race meet only in the error. In the clock d sigma = E dt / (tau M^2) each
    follows B2' = q (B2^2 + C) on its own, with C = (q - 1) b0^2, which a tangent solves.
    """
    root_C = np.sqrt(q - 1) * b0
    dedicated = root_C == 0
    safe = np.where(dedicated, 1.0, root_C)
    tangent = np.where(dedicated, q * sigma, np.tan(q * root_C * sigma) / safe)
    B2 = (b0 + root_C**2 * tangent) / (1 - b0 * tangent)
    return B2 * (B2**2 + root_C**2) / q


def _blow_up(q, b0):
    """The accumulated error at which an unforced scheme would diverge."""
    root = np.sqrt(q - 1)
    safe = np.where(root == 0, 1.0, root)
    return np.where(root == 0, 1.0, np.arctan(root) / safe) / (q * b0)


def race_outcome(
    S: Float[np.ndarray, " modes"],
    D: float | Float[np.ndarray, " modes"],
    *,
    q: Float[np.ndarray, " schemes"],
    b0: float | Float[np.ndarray, " schemes"],
) -> Float[np.ndarray, "schemes modes"]:
    """How a race ends: the final strength of every mode in every scheme, exactly.

    A scheme that starts with all weights at strength b0 is a known function of the accumulated
    error alone, so that the end of the race is one equation in one unknown: the accumulated error
    at which the strengths add up to S / D. Neither M nor tau matters to the outcome.
    """
    q, target = np.asarray(q, float), np.atleast_1d(np.asarray(S, float) / D)
    b0 = np.broadcast_to(np.asarray(b0, float), q.shape)
    if np.any(np.sum(b0**3) >= target):
        raise ValueError("the initial strengths must lie below S / D")
    end = np.min(_blow_up(q, b0)) * (1 - 1e-12)
    ends = [
        brentq(lambda x, a=a: np.sum(_unforced_strength(x, q, b0)) - a, 0.0, end, rtol=1e-15)
        for a in target
    ]
    return np.stack([_unforced_strength(x, q, b0) for x in ends], axis=-1)


def head_start_ratio(
    S: Float[np.ndarray, " modes"],
    D: float | Float[np.ndarray, " modes"],
    *,
    b0: float,
    shared: float,
    dedicated: float = 1.0,
) -> Float[np.ndarray, " modes"]:
    """The head start a dedicated pathway needs: a measure of the bias toward sharing.

    The ratio b0(dedicated) / b0(shared) of initial strengths at which the two end up with one half
    of the mode each; with a larger one the dedicated pathway wins.

    **Arguments:**

    - `S`, `D`: the singular values.
    - `b0`: the initial strength of the shared pathway.
    - `shared`, `dedicated`: q = sqrt(P) of the two schemes.
    """
    ratios = []
    for half in np.atleast_1d(np.asarray(S, float) / D) / 2:
        if b0**3 >= half:
            raise ValueError("the shared pathway must start below half of S / D")
        end = _blow_up(shared, b0) * (1 - 1e-12)
        sigma = brentq(
            lambda x, a=half: _unforced_strength(x, shared, b0) - a, 0.0, end, rtol=1e-15
        )

        def gap(b, sigma=sigma, half=half):
            return _unforced_strength(sigma, dedicated, b) - half

        # The dedicated pathway starts below the half, and must not diverge before `sigma`.
        most = min(np.cbrt(half), _blow_up(dedicated, 1.0) / sigma * (1 - 1e-12))
        ratios.append(brentq(gap, 0.0, most, rtol=1e-14) / b0)
    return np.array(ratios)
