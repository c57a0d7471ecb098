"""Can the hidden code of a task be read out linearly from what a learner adapted?

Fitted once, after training, and on the host: these are numpy functions in double precision.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Real


class Decodability(NamedTuple):
    """How well modules can be decoded (Figures 3C, 3D, A6)."""

    r2: Float[np.ndarray, "layers modules"]
    """R² for each module of each layer, about its mean over the scored tasks; NaN if undefined."""
    defined: Bool[np.ndarray, "layers modules"]
    """False where a module is the same in all scored tasks, which leaves nothing to explain."""
    pooled: float
    """R² over all modules and layers together, about the means over the *fitted* tasks. Defined
    even for a module that no fitted task and every scored task uses, and then mostly negative."""


def linear_decodability(
    features: Real[ArrayLike, "fitted features"],
    codes: Real[ArrayLike, "fitted layers modules"],
    held_out_features: Real[ArrayLike, "scored features"],
    held_out_codes: Real[ArrayLike, "scored layers modules"],
    *,
    penalty: float = 1.0,
) -> Decodability:
    """Fit the codes of some tasks by ridge regression, and score the fit on other tasks.

    **Arguments:**

    - `features`: all fast parameters after adaptation, flattened, for each task to fit.
    - `codes`: the true mixture of modules behind each of these tasks.
    - `held_out_features`, `held_out_codes`: features and codes of the tasks to score.
    - `penalty`: weight of ||slope||² against the summed squared error; the intercept is free.
    """
    if penalty <= 0:
        raise ValueError(f"the penalty of a ridge regression must be positive, not {penalty}")
    fitted = np.asarray(codes, float)
    scored = np.asarray(held_out_codes, float)
    shape = scored.shape[1:]
    fitted, scored = fitted.reshape(len(fitted), -1), scored.reshape(len(scored), -1)
    residual = scored - decoded_codes(features, fitted, held_out_features, penalty=penalty)
    unexplained = np.sum(residual**2, axis=0)
    variation = np.sum((scored - scored.mean(axis=0)) ** 2, axis=0)
    # A constant column: comparing with its first entry, its mean may be off by a rounding error.
    defined = np.any(scored != scored[:1], axis=0)
    r2 = 1 - np.divide(unexplained, variation, out=np.full_like(unexplained, np.nan), where=defined)
    about_fitted = np.sum((scored - fitted.mean(axis=0)) ** 2)
    pooled = 1 - np.sum(unexplained) / about_fitted if about_fitted > 0 else np.nan
    return Decodability(r2.reshape(shape), defined.reshape(shape), float(pooled))


def decoded_codes(
    features: Real[ArrayLike, "fitted features"],
    codes: Real[ArrayLike, "fitted modules"],
    held_out_features: Real[ArrayLike, "scored features"],
    *,
    penalty: float = 1.0,
) -> Float[np.ndarray, "scored modules"]:
    """What ridge regression on some features and codes makes of other features."""
    slope, intercept = _ridge_regression(
        np.asarray(features, float), np.asarray(codes, float), penalty
    )
    return np.asarray(held_out_features, float) @ slope + intercept


def _ridge_regression(
    x: Float[np.ndarray, "samples features"],
    y: Float[np.ndarray, "samples targets"],
    penalty: float,
) -> tuple[Float[np.ndarray, "features targets"], Float[np.ndarray, " targets"]]:
    """Slope and intercept that minimise sum ||y - x slope - intercept||² + penalty ||slope||²."""
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    # By singular values, the cost is that of the smaller side: samples or features.
    U, s, Vt = np.linalg.svd(x - x_mean, full_matrices=False)
    slope = Vt.T @ ((s / (s**2 + penalty))[:, None] * (U.T @ (y - y_mean)))
    return slope, y_mean - x_mean @ slope
