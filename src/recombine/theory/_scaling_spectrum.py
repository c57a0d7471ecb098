"""Spectra of targets: how much of a target is left beyond the parameters that a model has.

A target is phi(x) W with Gaussian features and weights of covariance Lambda, which is diagonal and
infinite; a model controls the first p coordinates. The theorems on losses need no more of Lambda
than its trace and the trace of what is not controlled. Everything is NumPy in double precision.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

Numbers = Float[np.ndarray, "..."]


class AbstractSpectrum(ABC):
    """The eigenvalues of a target's covariance Lambda, in the order that models control them."""

    @property
    @abstractmethod
    def trace(self) -> Numbers:
        """Tr(Lambda)."""

    @property
    @abstractmethod
    def squares(self) -> Numbers:
        """Tr(Lambda^2)."""

    @abstractmethod
    def tail(self, p: ArrayLike) -> Numbers:
        """Tr(Lambda_2), of all coordinates beyond the first `p`; `p` may be fractional."""

    @abstractmethod
    def eigenvalues(self, count: int) -> Float[np.ndarray, "... {count}"]:
        """The first `count` eigenvalues."""

    def head(self, p: ArrayLike) -> Numbers:
        """Tr(Lambda_1), of the first `p` coordinates."""
        return self.trace - self.tail(p)


@dataclass(frozen=True, eq=False)
class ScalingSpectrum(AbstractSpectrum):
    """lambda_i = c [i^(-s) - (i + 1)^(-s)] with s = Omega^(-m) (Eq. 19).

    Sums telescope: Tr(Lambda) = c and Tr(Lambda_2) = c (p + 1)^(-s) (Eq. 48-50). Only that makes
    them computable: for m = 9 the first million eigenvalues hold but a fifth of the trace. The
    defaults are the constants that the paper fitted to networks.

    **Arguments:**

    - `m`: the dimension of the input, one or an array; it broadcasts with the `p` of the methods.
        For a module, the dimension b of its own input.
    - `c`: the scale, positive.
    - `Omega`: the base, greater than 1.
    """

    m: ArrayLike
    c: float = 1.15
    Omega: float = 1.57

    def __post_init__(self):
        if not (self.c > 0 and self.Omega > 1):
            raise ValueError(f"c must be > 0 and Omega > 1, not {self.c} and {self.Omega}")

    @property
    def s(self) -> Numbers:
        """The exponent Omega^(-m)."""
        return self.Omega ** -np.asarray(self.m, float)

    @property
    def trace(self) -> Numbers:
        return np.full(np.shape(self.m), float(self.c))[()]

    @property
    def squares(self) -> Numbers:
        """Tr(Lambda^2), to about 12 digits.

        The sum beyond its first N terms is that of c^2 s^2 x^(-2 s - 2) at x = i + 1/2, to a
        relative order of N^-2, and so is the integral.
        """
        s, N = self.s, 10_000
        beyond = (self.c * s) ** 2 * (N + 1.0) ** (-2 * s - 1) / (2 * s + 1)
        return np.sum(self.eigenvalues(N) ** 2, axis=-1) + beyond

    def tail(self, p):
        return self.c * (np.asarray(p, float) + 1) ** -self.s

    def eigenvalues(self, count):
        i, s = np.arange(1.0, count + 1), self.s[..., None]
        # The difference of the two powers, without cancellation as s goes to zero.
        return -self.c * i**-s * np.expm1(-s * np.log1p(1 / i))


@dataclass(frozen=True, eq=False)
class ListedSpectrum(AbstractSpectrum):
    """Any finite spectrum, given by its eigenvalues; all others are 0.

    Between whole numbers of parameters, traces are interpolated linearly.

    **Arguments:**

    - `values`: the eigenvalues, not negative, in the order in which models control them.
    """

    values: Float[ArrayLike, " P"]
    _tails: Float[np.ndarray, " P+1"] = field(init=False, repr=False)

    def __post_init__(self):
        values = np.asarray(self.values, float)
        if values.ndim != 1 or not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError("the eigenvalues must be a list of finite numbers, none negative")
        tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_tails", tails)

    @property
    def trace(self) -> Numbers:
        return self._tails[0]

    @property
    def squares(self) -> Numbers:
        return np.sum(np.square(self.values))

    def tail(self, p):
        return np.interp(np.asarray(p, float), np.arange(len(self._tails)), self._tails)

    def eigenvalues(self, count):
        first = np.asarray(self.values)[:count]
        return np.append(first, np.zeros(count - len(first)))


@dataclass(frozen=True, eq=False)
class ModularSpectrum(AbstractSpectrum):
    """diag(I_mb, Lambda): a modular target, linearised in its projections and its modules (Eq. 10).

    The first m b coordinates are the projections of the input, of unit variance; those of a
    module's weights follow. Theorem 1 with this spectrum is Theorem 2 with consistent counts.

    **Arguments:**

    - `modules`: the spectrum of a module's weights; in the paper `ScalingSpectrum(b)`.
    - `m`: the dimension of the input, one or an array.
    - `b`: the dimension of a module's input.
    """

    modules: AbstractSpectrum
    m: ArrayLike
    b: ArrayLike = 1

    @property
    def projections(self) -> Numbers:
        """m b, the number of coordinates of the projections."""
        return np.asarray(self.m, float) * np.asarray(self.b, float)

    @property
    def trace(self) -> Numbers:
        return self.projections + self.modules.trace

    @property
    def squares(self) -> Numbers:
        return self.projections + self.modules.squares

    def tail(self, p):
        beyond = np.asarray(p, float) - self.projections
        return np.maximum(-beyond, 0) + self.modules.tail(np.maximum(beyond, 0))

    def eigenvalues(self, count):
        ones = min(int(self.projections), count)
        return np.append(np.ones(ones), self.modules.eigenvalues(count - ones))


def effective_dimension(spectrum: AbstractSpectrum) -> Numbers:
    """Tr(Lambda)^2 / Tr(Lambda^2), roughly the number of coordinates of a target.

    For `ScalingSpectrum` it approaches 1.0233 Omega^(2 m): the paper's Omega^(2 m) is right to some
    per cent for m of 8 or more, and half of the true value at m = 2.
    """
    return spectrum.trace**2 / spectrum.squares
