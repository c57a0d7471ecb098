"""Exact solutions of the reduced routing dynamics (Eq. 15), and the times they predict.

Eq. 15 is separable. Its time as a function of B2 is elementary, and B2 as a function of time is the
inverse of that. Here everything is NumPy in double precision: no compilation, and digits to spare
near the fixed point.
"""

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar

Numbers = Float[np.ndarray, "..."]


class RoutingSolution:
    """The exact solution B2(t) of tau B2' = (1/M) (B2^2 + C) [S - B2 (B2^2 + C) D / M].

    **Arguments:**

    - `S`, `D`: the singular values of the correlations, positive; one per mode.
    - `M`: the number of domains.
    - `start`: B2 at time 0, positive.
    - `C`: the conserved quantity M B1^2 - B2^2 (by default that of equal weights, B1 = B2 at
        time 0, which is (M - 1) start^2). B1^2 = (B2^2 + C) / M is positive at time 0.
    - `tau`: the time constant.

    All of them broadcast to one value per mode.

    A sharing scheme with q = sqrt(P) routes per side has the same solution with q in place of M and
    tau (M / q)^2 in place of tau: see `RoutingSolution.of_scheme`.
    """

    def __init__(self, S, D, *, M, start, C=None, tau=1.0):
        C = (M - 1) * np.square(start, dtype=float) if C is None else C
        self.S, self.D, self.M, self.start, self.C, self.tau = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, float)) for x in (S, D, M, start, C, tau))
        )
        self.roots = self._roots(self.S / self.D)
        self.fixed_point = self._hidden_at(self.S / self.D)
        """B2 when everything is learned: the positive root of B2 (B2^2 + C) / M = S / D."""

    def _roots(self, strength: Numbers) -> Numbers:
        """The three B2, `[modes, 3]`, at which B2 (B2^2 + C) / M is the given strength."""
        cubics = zip(self.C, self.M * strength, strict=True)
        return np.stack([np.roots([1.0, 0.0, C, -constant]) for C, constant in cubics])

    def _hidden_at(self, strength: Numbers) -> Numbers:
        """The positive B2 at which each mode has the given strength."""
        roots = self._roots(strength)
        B2 = np.where(np.abs(roots.imag) < 1e-9 * np.abs(roots), roots.real, 0.0).max(axis=-1)
        # The companion matrix gives about 13 digits; one Newton step gives the rest.
        return B2 - (B2**3 + self.C * B2 - self.M * strength) / (3 * B2**2 + self.C)

    @classmethod
    def of_scheme(cls, S, D, *, M, q, start, C=None, tau=1.0) -> "RoutingSolution":
        """The solution of Eq. 16-17 for q = sqrt(P); `C` is q B1^2 - B2^2."""
        return cls(S, D, M=q, start=start, C=C, tau=tau * np.square(M / np.asarray(q, float)))

    def mode_strength(self, B2: Numbers) -> Numbers:
        """B2 B1^2, the strength of the map from inputs to outputs."""
        return B2 * (B2**2 + self.C) / self.M

    def rate(self, B2: Numbers) -> Numbers:
        """Eq. 15."""
        return (B2**2 + self.C) * (self.S - self.D * self.mode_strength(B2)) / (self.M * self.tau)

    def time(self, B2: Numbers) -> Numbers:
        """When each mode reaches `B2`: the closed form.

        With delta = D / M and p(x) = S - delta C x - delta x^3, t = (tau M / S) [G(B2) - G(B2(0))],
        G(x) = arctan(x / sqrt(C)) / sqrt(C) + sum over the roots r of p of
        delta r log(x - r) / p'(r).

        **Arguments:** `B2`: from the start up to, and excluding, the fixed point; `[..., modes]`.
        """
        x, x0 = np.asarray(B2, float), self.start
        # One arctan of the difference: it needs no cancellation as C goes to zero, and for C < 0 it
        # turns into an artanh.
        root_C = np.sqrt(self.C.astype(complex))
        step = (x - x0) / (self.C + x * x0)
        with np.errstate(invalid="ignore", divide="ignore"):
            gate = np.where(root_C == 0, step, np.arctan(root_C * step) / root_C)
        r, C = self.roots, self.C[..., None]
        # The common factor delta has been cancelled.
        weight = -r / (3 * r**2 + C)
        logs = np.log(x[..., None] - r) - np.log(x0[..., None] - r)
        total = gate + np.sum(weight * logs, axis=-1)
        return self.tau * self.M / self.S * total.real

    def time_without_offset(self, B2: Numbers) -> Numbers:
        """When each mode reaches `B2` if C = 0: the closed form in real numbers.

        With q = (M S / D)^(1/3), t = (tau M / S) [F(B2) - F(B2(0))], F(x) = -1 / x +
        {-log(q - x) + log(x^2 + q x + q^2) / 2 - sqrt(3) arctan((2 x + q) / (sqrt(3) q))} / (3 q).
        """
        if np.any(self.C != 0):
            raise ValueError("this closed form holds for C = 0 only; use `time`")
        q = np.cbrt(self.M * self.S / self.D)

        def F(x):
            curve = np.log(x**2 + q * x + q**2) / 2 - np.log(q - x)
            angle = np.sqrt(3) * np.arctan((2 * x + q) / (np.sqrt(3) * q))
            return -1 / x + (curve - angle) / (3 * q)

        return self.tau * self.M / self.S * (F(np.asarray(B2, float)) - F(self.start))

    def time_by_quadrature(self, B2: Float[np.ndarray, " modes"]) -> Float[np.ndarray, " modes"]:
        """When each mode reaches `B2`: the integral of 1 / (Eq. 15) over B2, done numerically."""
        ends = np.broadcast_to(np.asarray(B2, float), self.S.shape)
        times = []
        for mode, (start, end) in enumerate(zip(self.start, ends, strict=True)):
            slowness = lambda x, mode=mode: 1 / self.rate(x)[mode]  # noqa: E731
            times.append(quad(slowness, start, end, epsabs=0, epsrel=1e-12, limit=500)[0])
        return np.array(times)

    def hidden_strength(self, t: Numbers) -> Numbers:
        """B2 at the times `t`, `[...] -> [..., modes]`: `time`, inverted by bisection."""
        t = np.asarray(t, float)[..., None]
        low = np.broadcast_to(self.start, np.broadcast_shapes(t.shape, self.start.shape))
        high = np.broadcast_to(self.fixed_point, low.shape)
        if np.any(self.start >= self.fixed_point):
            raise ValueError("the start must lie below the fixed point")
        for _ in range(64):
            middle = (low + high) / 2
            # Within rounding of the fixed point the time may be infinite or undefined.
            with np.errstate(all="ignore"):
                early = self.time(middle) < t
            low, high = np.where(early, middle, low), np.where(early, high, middle)
        return low

    def strength(self, t: Numbers) -> Numbers:
        """The strength B2 B1^2 of every mode at the times `t`, `[...] -> [..., modes]`."""
        return self.mode_strength(self.hidden_strength(t))

    def half_rise_times(self) -> Float[np.ndarray, " modes"]:
        """When the strength of each mode is half of what it becomes, S / D."""
        return self.time(self._hidden_at(self.S / self.D / 2))


def escape_time(S, *, b0, M, tau=1.0, q=None):
    """When a mode escapes from small equal initial strengths `b0`, to leading order in b0.

    (tau M^2 / (S b0)) arctan(sqrt(q - 1)) / (q sqrt(q - 1)) for a sharing scheme with q = sqrt(P)
    (1 / q in place of the last factor if q = 1); full sharing is q = M, the default, for which it
    is (tau M / (S b0)) arctan(sqrt(M - 1)) / sqrt(M - 1).
    """
    q = np.asarray(M if q is None else q, float)
    root = np.sqrt(q - 1)
    angle = np.where(root > 0, np.arctan(root) / np.where(root > 0, root, 1.0), 1.0)
    return tau * M**2 / (np.asarray(S) * b0) * angle / q


def predicted_drop_times(
    levels: Float[np.ndarray, " levels"], solution: RoutingSolution
) -> Float[np.ndarray, " levels"]:
    """When the loss predicted by `solution` falls to the given fractions of the loss of no weights.

    A fraction is the same for the loss of Eq. 1 and for any multiple of it. Levels above the
    initial loss are passed at time 0.
    """
    target, weight = solution.S / solution.D, solution.D
    baseline = np.sum(weight * target**2)
    almost = solution.start + (solution.fixed_point - solution.start) * (1 - 1e-9)
    end = solution.time(almost).max()

    def loss(t):
        return np.sum(weight * (target - solution.strength(t)) ** 2) / baseline

    first = loss(0.0)
    return np.array(
        [
            0.0 if first <= v else brentq(lambda t, v=v: loss(t) - v, 0.0, end, rtol=1e-10)
            for v in levels
        ]
    )


def fit_effective_b0(
    drop_times: Float[np.ndarray, " levels"],
    levels: Float[np.ndarray, " levels"],
    S: Float[np.ndarray, " modes"],
    D: float | Float[np.ndarray, " modes"],
    *,
    M: int,
    tau: float,
    bounds: tuple[float, float] = (1e-3, 0.5),
) -> float:
    """The initial strength b0 with which the theory drops when a simulation did.

    Minimises the sum over levels of log(predicted / measured drop time)^2.

    **Arguments:**

    - `drop_times`: when the measured loss fell to each of `levels`; see
        `recombine.probes.drop_times`.
    - `levels`: fractions of the loss of no weights at all.
    - `S`, `D`, `M`, `tau`: as in `RoutingSolution`.
    - `bounds`: where b0 is sought; above, it must stay below the smallest learned strength.
    """
    measured = np.log(np.asarray(drop_times, float))
    if not np.all(np.isfinite(measured)):
        raise ValueError(f"every drop time must be positive and finite, not {drop_times}")

    def misfit(log_b0):
        solution = RoutingSolution(S, D, M=M, start=np.exp(log_b0), tau=tau)
        predicted = np.maximum(predicted_drop_times(levels, solution), 1e-12 * tau)
        return np.sum((np.log(predicted) - measured) ** 2)

    fit = minimize_scalar(
        misfit, bounds=tuple(np.log(bounds)), method="bounded", options={"xatol": 1e-7}
    )
    return float(np.exp(fit.x))
