"""Losses of monolithic and modular models, and the samples they need (Theorems 1 and 2).

Everything is NumPy in double precision. Numbers of samples and parameters, and dimensions, may be
arrays: they broadcast, so that a whole map of losses is one call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from numpy.typing import ArrayLike

from ._scaling_spectrum import AbstractSpectrum, ModularSpectrum

Numbers = Float[np.ndarray, "..."]


class PredictedLosses(NamedTuple):
    """Expected mean squared errors of a model."""

    train: Numbers
    test: Numbers


@dataclass(frozen=True, eq=False)
class SampledNorm:
    """||R^+||_F^2 of some random matrices, where the expectation is infinite (Appendix D).

    The mean of 100 draws is how the paper fills the diagonal of Figure 1. It is a random number
    that grows with the number of draws; the median is not.

    A Gaussian matrix has the singular values of a lower bidiagonal one with independent chi
    entries, n, n - 1, ... degrees of freedom on the diagonal and p - 1, ..., 1 below it for p <= n.
    Its inverse is a recursion down the diagonal: a draw takes O(min(n, p)) operations.

    **Arguments:**

    - `key`: for all draws; the same n and p give the same number.
    - `statistic`: the statistic of the draws; `np.mean` or `np.median`.
    - `draws`: the number of matrices.
    """

    key: PRNGKeyArray
    statistic: Callable[[Float[np.ndarray, " draws"]], float] = np.mean
    draws: int = 100

    def __call__(self, n: float, p: float) -> float:
        """The statistic for matrices of `n` by `p`, each rounded to a whole number."""
        small, large = sorted((max(round(n), 1), max(round(p), 1)))
        rng = np.random.default_rng(np.asarray(jax.random.bits(self.key, (4,))))
        diagonal = rng.chisquare(large - np.arange(small), (self.draws, small))
        below = rng.chisquare(small - 1 - np.arange(small - 1), (self.draws, small - 1))
        # A column of the inverse is 1 / x_j and then, entry by entry, times -y_j / x_(j+1).
        column = np.ones(self.draws)
        norm = column / diagonal[:, -1]
        for j in reversed(range(small - 1)):
            column = 1 + below[:, j] / diagonal[:, j + 1] * column
            norm += column / diagonal[:, j]
        return float(self.statistic(norm))


def pseudoinverse_norm(
    n: ArrayLike, p: ArrayLike, *, near: Callable[[float, float], float] | None = None
) -> Numbers:
    """F(n, p) = E ||R^+||_F^2 of an n by p standard normal matrix: min(n, p) / (|n - p| - 1).

    That is Eq. 12, and holds for |n - p| >= 2. Closer to the diagonal the expectation is infinite,
    as the smallest singular value is too often too close to 0.

    **Arguments:**

    - `n`, `p`: the sides, positive; they need not be whole numbers.
    - `near`: the value where |n - p| < 2, as a function of `n` and `p`, such as a
        `SampledNorm`; by default infinity.
    """
    n, p = np.broadcast_arrays(np.asarray(n, float), np.asarray(p, float))
    if not np.all((n > 0) & (p > 0)):
        raise ValueError("numbers of samples and of parameters must be positive")
    gap = np.abs(n - p)
    F = np.full(gap.shape, np.inf)
    np.divide(np.minimum(n, p), gap - 1, out=F, where=gap >= 2)
    if near is not None:
        for index in map(tuple, np.argwhere(gap < 2)):
            F[index] = near(float(n[index]), float(p[index]))
    return F[()]


def _losses(n, p, T, trace, d, near) -> PredictedLosses:
    """Eq. 1 and 2 for Tr(Lambda_2) = T."""
    n, p = np.asarray(n, float), np.asarray(p, float)
    F = pseudoinverse_norm(d * n, p, near=near)
    # If nothing is left beyond the parameters, F has no noise to amplify.
    amplified = T * np.where(T > 0, F, 0.0)
    rank = np.minimum(d * n, p)
    return PredictedLosses(
        train=(d * n - rank) / n * T,
        test=d * (amplified - rank / p * (trace - T) + trace),
    )


def monolithic_losses(
    n: ArrayLike,
    p: ArrayLike,
    spectrum: AbstractSpectrum,
    *,
    d: int = 1,
    near: Callable[[float, float], float] | None = None,
) -> PredictedLosses:
    """Losses of the minimum-norm interpolator with `p` parameters on `n` samples (Theorem 1).

        test  = d [Tr(Lambda_2) F(dn, p) - min(dn, p) / p Tr(Lambda_1) + Tr(Lambda)],
        train = (dn - min(dn, p)) / n Tr(Lambda_2).

    The middle line of Eq. 2 lacks the 1 / n, Eq. 61 has it. For dn > p the test loss is
    d Tr(Lambda_2) (1 + F); for dn < p it approaches d Tr(Lambda) as p grows, which is the loss of
    having learned nothing.

    **Arguments:**

    - `n`: the number of samples.
    - `p`: the number of parameters; for networks, alpha times their number.
    - `spectrum`: the spectrum of the target.
    - `d`: the number of outputs.
    - `near`: F near the interpolation threshold dn = p, see `pseudoinverse_norm`; by default the
        test loss is infinite for |dn - p| < 2.

    **Returns:** losses in the common shape of `n`, `p` and the `m` of the spectrum.
    """
    return _losses(n, p, spectrum.tail(p), spectrum.trace, d, near)


def modular_losses(
    n: ArrayLike,
    p: ArrayLike,
    spectrum: ModularSpectrum,
    *,
    d: int = 1,
    variant: Literal["printed", "total", "module"] = "printed",
    near: Callable[[float, float], float] | None = None,
) -> PredictedLosses:
    """Losses of a modular model with `p` parameters on `n` samples (Theorem 2).

    The theorem as printed lets the model control m b + p coordinates and has p of them in F and in
    min(dn, p). Strict independence of m for dn > p is a property of that form. If the counts are
    consistent, losses depend on m mildly, through m b, and never exponentially; of the readings,
    simulation confirms `total`, and rejects `printed` where m b is not small against p.

    **Arguments:**

    - `n`: the number of samples.
    - `p`: the number of parameters.
    - `spectrum`: the spectrum of the target, with its m and b.
    - `d`: the number of outputs.
    - `variant`: what `p` counts. `printed`: see above, p > m b; `total`: everything, p > m b;
        `module`: the weights of modules, to which the m b of the projections are added.
    - `near`: see `monolithic_losses`.
    """
    p = np.asarray(p, float)
    mb = spectrum.projections
    counts = {"printed": (p, p), "total": (p, p - mb), "module": (p + mb, p)}
    if variant not in counts:
        raise ValueError(f"no variant {variant!r} of Theorem 2: choose one of {', '.join(counts)}")
    if variant != "module" and np.any(p <= mb):
        raise ValueError(f"variant {variant!r} holds for p > m b only: use more parameters")
    total, of_modules = counts[variant]
    return _losses(n, total, spectrum.modules.tail(of_modules), spectrum.trace, d, near)


def required_samples(
    eps: ArrayLike, p: ArrayLike, spectrum: AbstractSpectrum, *, d: int = 1
) -> Numbers:
    """The number of samples with which the test loss of Theorem 1 falls to `eps` (Figure 3).

    The solution with dn > p, beyond the interpolation peak: with T = Tr(Lambda_2) and
    r = eps / (d T) - 1, it is n = (p + 1 + p / r) / d, or infinity if eps <= d T. It is not the
    smallest n with a loss below `eps`: for eps > d Tr(Lambda), as in Figure 3, no samples at all
    would do.

    In Figure 3 n grows about exponentially with m over the range shown. At fixed p and eps > c it
    saturates, at p + 1 + p / (eps / c - 1) for d = 1. For eps < c it is finite only if
    p + 1 > (c / eps)^(Omega^m): the number of parameters must grow doubly exponentially with m.

    For a modular model, pass its `ModularSpectrum` (p counts everything), or `ScalingSpectrum(b)`
    for Theorem 2 as printed.

    **Arguments:**

    - `eps`: the test loss.
    - `p`: the number of parameters.
    - `spectrum`: the spectrum of the target.
    - `d`: the number of outputs.
    """
    eps, p = np.asarray(eps, float), np.asarray(p, float)
    if not np.all((eps > 0) & (p > 0)):
        raise ValueError("the test loss and the number of parameters must be positive")
    noise = d * spectrum.tail(p)
    with np.errstate(divide="ignore"):
        beyond = p * noise / np.maximum(eps - noise, 0)
    # Closer than that to the peak, at dn < p + 2, the loss is infinite.
    return (p + 1 + np.maximum(beyond, 1)) / d
