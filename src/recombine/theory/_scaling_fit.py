"""Theorem 1 for networks: how many parameters they have, and which constants describe them."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ._scaling_laws import monolithic_losses
from ._scaling_spectrum import ScalingSpectrum

_OMEGAS = 1 + np.geomspace(0.02, 4, 20)
_ALPHAS = np.geomspace(0.02, 2, 30)


def mlp_parameter_count(width: int, layers: int, *, inputs: int = 1, outputs: int = 1) -> int:
    """The number of weights and biases of a multi-layer perceptron.

    The theory counts them as if the network had one input, whatever the dimension of the task.

    **Arguments:**

    - `width`: the width of all hidden layers.
    - `layers`: the number of linear maps, two or more: three are two hidden layers.
    - `inputs`, `outputs`: the dimensions.
    """
    if layers < 2:
        raise ValueError(f"layers count linear maps and must be 2 or more, not {layers}")
    hidden = (layers - 2) * (width + 1) * width
    return (inputs + 1) * width + hidden + (width + 1) * outputs


class ScalingFit(NamedTuple):
    """The constants with which Theorem 1 comes closest to measured losses."""

    c: float
    """The scale."""
    Omega: float
    """The base: the effective dimension of the target grows as Omega^(2 m)."""
    alpha: float
    """Effective parameters for each parameter of the network."""
    residual: float
    """The root mean square of predicted minus measured losses, both transformed."""

    def spectrum(self, m: ArrayLike) -> ScalingSpectrum:
        """The spectrum with these constants for inputs of dimension `m`."""
        return ScalingSpectrum(m, self.c, self.Omega)


def fit_scaling_constants(
    n: ArrayLike,
    parameters: ArrayLike,
    m: ArrayLike,
    losses: ArrayLike,
    *,
    of: Literal["train", "test"] = "train",
    d: int = 1,
    transform: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> ScalingFit:
    """Fit c > 0, Omega > 1 and 0 < alpha <= 2 to measured losses, p = alpha x parameters.

    Least squares over all measurements: the best point of a coarse grid, then Nelder and Mead's
    method, as losses have a kink wherever the samples equal the effective parameters.

    **Arguments:**

    - `n`, `parameters`, `m`: samples, parameters (see `mlp_parameter_count`) and dimension of every
        measurement; they broadcast with `losses`.
    - `losses`: the measured losses, all finite.
    - `of`: which losses they are. The paper's constants (1.15, 1.57, 0.85) match training losses.
        The test loss of the theory is infinite at the interpolation threshold; to fit it, give a
        transform such as `np.log1p`, or the fit may end in a local minimum.
    - `d`: the number of outputs.
    - `transform`: a function applied to predicted and to measured losses; `np.log1p` gives small
        ones more weight.
    """
    n, parameters, m, losses = np.broadcast_arrays(
        *(np.asarray(values, float) for values in (n, parameters, m, losses))
    )
    if losses.size < 3 or not np.all(np.isfinite(losses)):
        raise ValueError("a fit of three constants needs three or more losses, all of them finite")
    measured = transform(losses)

    def predict(c, Omega, alpha):
        spectrum = ScalingSpectrum(m, c, Omega)
        return getattr(monolithic_losses(n, alpha * parameters, spectrum, d=d), of)

    def misfit(constants):
        square = np.mean((transform(predict(*constants)) - measured) ** 2)
        return min(square, 1e30)

    def best_scale(Omega, alpha):
        """Losses are proportional to c: without a transform, the best one has a closed form."""
        shape = predict(1.0, Omega, alpha)
        finite = np.isfinite(shape)
        scale = np.sum(shape[finite] ** 2)
        return np.sum(shape[finite] * losses[finite]) / scale if scale > 0 else 0.0

    starts = [
        (c, Omega, alpha)
        for Omega in _OMEGAS
        for alpha in _ALPHAS
        if (c := best_scale(Omega, alpha)) > 0
    ]
    if not starts:
        raise ValueError(
            f"the {of} losses determine no constants: measure with more samples than parameters"
        )
    best, bounds = min(starts, key=misfit), [(1e-12, None), (1 + 1e-9, None), (1e-6, 2.0)]
    options = {"xatol": 1e-9, "fatol": 1e-16, "maxiter": 3000}
    # A second start from the end of the first: a simplex may have collapsed at a kink.
    for _ in range(2):
        fit = minimize(misfit, best, method="Nelder-Mead", bounds=bounds, options=options)
        best = fit.x
    c, Omega, alpha = map(float, best)
    return ScalingFit(c, Omega, alpha, residual=float(fit.fun) ** 0.5)
