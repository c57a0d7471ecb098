"""The model of Theorems 1 and 2, drawn at random and fitted: what the closed forms must equal."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ._scaling_spectrum import AbstractSpectrum


class SimulatedLosses(NamedTuple):
    """Losses of fitted models: means over draws, and the standard errors of these means."""

    train: float
    test: float
    train_error: float
    test_error: float


@eqx.filter_jit
def _draw_errors(
    eigenvalues: Float[Array, " p"], T: Float[Array, ""], keys: PRNGKeyArray, rows: int
) -> tuple[Float[Array, " draws"], Float[Array, " draws"]]:
    """||A theta - t||^2 and ||theta - W_1||^2 of every draw, for `rows` equations."""
    p = len(eigenvalues)

    def draw(key):
        normal = jax.random.normal(key, (rows * p + p + rows,))
        A, W, z = jnp.split(normal, (rows * p, rows * p + p))
        A, W = A.reshape(rows, p), jnp.sqrt(eigenvalues) * W
        t = A @ W + jnp.sqrt(T) * z
        theta = jnp.linalg.lstsq(A, t)[0]
        return jnp.sum((A @ theta - t) ** 2), jnp.sum((theta - W) ** 2)

    # One after another: on a CPU a batch of small factorisations is no faster, and XLA's may hang.
    return jax.lax.map(draw, keys)


def simulate_interpolation(
    n: int,
    p: int,
    spectrum: AbstractSpectrum,
    *,
    d: int = 1,
    draws: int = 3000,
    key: PRNGKeyArray,
) -> SimulatedLosses:
    """Fit random targets by minimum-norm least squares, theta = A^+ t (Eq. 20-22).

    Features are Gaussian, so that all that a target has beyond the first `p` coordinates is noise
    of variance Tr(Lambda_2) to the model, and infinitely many coordinates take no more than p
    numbers. The test loss is exact for every draw, d (||theta - W_1||^2 + Tr(Lambda_2)). With a
    `ModularSpectrum` this is the model of Theorem 2.

    **Arguments:**

    - `n`: the number of samples, each with d outputs.
    - `p`: the number of parameters.
    - `spectrum`: the spectrum of the target, with one m.
    - `d`: the number of outputs.
    - `draws`: the number of targets and sets of samples; all are one compiled program.
    - `key`: for all draws.

    Within |dn - p| <= 3 the variance of the test loss is infinite, and its standard error says
    nothing.
    """
    if min(n, p, d) < 1 or draws < 2:
        raise ValueError("n, p and d must be 1 or more, and draws 2 or more")
    eigenvalues, T = jnp.asarray(spectrum.eigenvalues(p)), jnp.asarray(spectrum.tail(p))
    if eigenvalues.ndim != 1:
        raise ValueError("a simulation is of one target: give a spectrum with a single m")
    errors = _draw_errors(eigenvalues, T, jax.random.split(key, draws), d * n)
    misfit, distance = (np.asarray(x, float) for x in errors)
    train, test = misfit / n, d * (distance + float(T))
    return SimulatedLosses(
        train=float(train.mean()),
        test=float(test.mean()),
        train_error=float(train.std(ddof=1) / draws**0.5),
        test_error=float(test.std(ddof=1) / draws**0.5),
    )
