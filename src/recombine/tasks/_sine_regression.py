"""Sums of sine waves along k projections of the input."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..models._modular_regressor import (
    Projection,
    check_projection,
    module_inputs,
    random_directions,
)
from ._task import AbstractTask


class SineBatch(NamedTuple):
    """Inputs and targets."""

    x: Float[Array, "size m"]
    y: Float[Array, " size"]


class SineRegression(AbstractTask):
    """Regress y(x) = k^(−1/2) Σ_i Σ_j a_ij sin(ω_ij s_i + φ_ij) (Eq. 69 and 71).

    Module i sees the projection s_i = u_iᵀ x, or s_i = ‖u_i − x‖. Inputs are normal with mean 0 and
    covariance I, targets have no noise. An instance is one target function; a random one has
    E[y²] = τ/2 for any k and m.

    For example, with k = τ = 1, a = 1, ω = π, φ = 0 and u = (1, 0), the input (0.5, 3) has the
    target sin(π/2) = 1.
    """

    a: Float[Array, "k tau"]
    """Amplitudes."""
    omega: Float[Array, "k tau"]
    """Frequencies."""
    phi: Float[Array, "k tau"]
    """Phases."""
    u: Float[Array, "k m"]
    """Directions of the modules."""
    projection: Projection = eqx.field(static=True, default="linear")

    def __check_init__(self):
        check_projection(self.projection)

    @classmethod
    def random(
        cls,
        k: int,
        m: int,
        tau: int = 5,
        *,
        projection: Projection = "linear",
        key: PRNGKeyArray,
    ) -> "SineRegression":
        """A target with a ~ N(0, 1), ω ~ N(0, 4π²), φ ~ U(−π, π), and u on the unit sphere.

        **Arguments:**

        - `k`: the number of modules.
        - `m`: the number of inputs.
        - `tau`: the number of sine waves per module.
        - `projection`: `"linear"`, u_iᵀ x; or `"distance"`, ‖u_i − x‖.
        """
        if min(k, m, tau) < 1:
            raise ValueError(f"k, m and tau must be 1 or more; got {k, m, tau}")
        of_a, of_omega, of_phi, of_u = jax.random.split(key, 4)
        return cls(
            a=jax.random.normal(of_a, (k, tau)),
            omega=2 * jnp.pi * jax.random.normal(of_omega, (k, tau)),
            phi=jax.random.uniform(of_phi, (k, tau), float, minval=-jnp.pi, maxval=jnp.pi),
            u=random_directions(k, m, key=of_u),
            projection=projection,
        )

    def parts(self, x: Float[Array, "*batch m"]) -> Float[Array, "*batch k tau"]:
        """Every sine wave of every module; their sum is the target (Figure 6)."""
        k, m = self.u.shape
        s = module_inputs(self.u, x.reshape(-1, m), self.projection).T[:, :, None]
        waves = k**-0.5 * self.a * jnp.sin(self.omega * s + self.phi)
        return waves.reshape(*x.shape[:-1], *self.a.shape)

    def __call__(self, x: Float[Array, "*batch m"]) -> Float[Array, "*batch"]:
        """The target y(x)."""
        return self.parts(x).sum(axis=(-2, -1))

    def sample(self, size: int, *, key: PRNGKeyArray) -> SineBatch:
        """Draw `size` inputs with their targets.

        With one key, a larger sample begins with the smaller: training sets are nested.
        """
        x = jax.random.normal(key, (size, self.u.shape[1]))
        return SineBatch(x, self(x))
