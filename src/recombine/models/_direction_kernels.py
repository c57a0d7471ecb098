"""Kernels that see an input through one module's projection (Eq. 73, 74 and 76).

A kernel says how alike two inputs are to a module. All of them are sums of Gaussians,
κ = Σ_f exp(−‖z_f − z'_f‖² / 2), of features z of the inputs, and what tells them apart is the
features. `learning.KernelDirections` minimises yᵀ K⁻¹ y over the parameters of a kernel.
"""

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Direction = TypeVar("Direction")


class AbstractDirectionKernel(eqx.Module, Generic[Direction]):
    """The likeness of inputs to one module, given its direction."""

    @abstractmethod
    def start(self, u: Float[Array, "..."]) -> Direction:
        """The parameters with which a module begins that has the projection `u`."""

    @abstractmethod
    def features(
        self, direction: Direction, x: Float[Array, "batch inputs"]
    ) -> "tuple[Feature, ...]":
        """z_f of every input, for every Gaussian."""

    def __call__(
        self, direction: Direction, x: Float[Array, "batch inputs"]
    ) -> Float[Array, "batch batch"]:
        """The likeness of all pairs of inputs."""
        return sum(map(gaussian, self.features(direction, x)), jnp.zeros(()))

    @abstractmethod
    def kept(self, direction: Direction, before: Direction) -> Direction:
        """`direction` after a step from `before`, without what the objective should not change."""

    @abstractmethod
    def projection(self, direction: Direction) -> Float[Array, "..."]:
        """The projection to hand over to the module."""

    def margin(self, direction: Direction) -> Float[Array, ""]:
        """A number that changes its sign where the kernel is not defined; 1 if it always is."""
        return jnp.ones(())


class Rest(NamedTuple):
    """The feature z = x − s vᵀ: what is left of inputs without their share of a direction.

    Beside ‖x_i − x_j‖², its distances take two numbers per input, s and q = x v; ‖x_i − x_j‖² is
    the same for all modules that see the same inputs.
    """

    x: Float[Array, "batch inputs"]
    s: Float[Array, " batch"]
    v: Float[Array, " inputs"]

    @property
    def q(self) -> Float[Array, " batch"]:
        """x v."""
        return self.x @ self.v


Feature = Float[Array, "batch _"] | Rest


def half_distances(z: Float[Array, "batch features"]) -> Float[Array, "batch batch"]:
    """‖z_i − z_j‖² / 2 of all pairs."""
    if z.shape[1] == 1:
        return 0.5 * jnp.square(z - z.T)
    norms = jnp.square(z).sum(axis=1)
    # From inner products: one matrix product instead of one difference per pair.
    return jnp.maximum(0.5 * (norms[:, None] + norms) - z @ z.T, 0)


def gaussian(z: Feature) -> Float[Array, "batch batch"]:
    """exp(−‖z_i − z_j‖² / 2) of all pairs."""
    if not isinstance(z, Rest):
        return jnp.exp(-half_distances(z))
    # ‖z_i − z_j‖² = ‖x_i − x_j‖² − 2 (s_i − s_j) (q_i − q_j) + ‖v‖² (s_i − s_j)².
    s, p = z.s[:, None], (z.q - 0.5 * (z.v @ z.v) * z.s)[:, None]
    return jnp.exp(jnp.minimum((s - s.T) * (p - p.T) - half_distances(z.x), 0))


class Split(NamedTuple):
    """The direction of a module, and the direction that is taken out of what the others see."""

    u: Float[Array, " inputs"]
    v: Float[Array, " inputs"]


class SplitKernel(AbstractDirectionKernel[Split]):
    """What a module sees beside what the others see, for linear projections (Eq. 73).

        κ = exp(−(s₁ − s₂)² / 2σ²) + exp(−‖r₁ − r₂‖² / 2σ²),
        s = xᵀu / vᵀu,  r = x − s v.

    The module sees s, and r has none of it (rᵀu = 0). The other modules see r unchanged where
    their directions are orthogonal to v. Only the direction of u matters, and the length of v is a
    bandwidth of the first term.

    yᵀ K⁻¹ y falls as vᵀu goes to 0, whatever u is: then s tells all inputs apart, and the first
    term is the identity. So the angle between u and v is kept from widening too far.

    **Arguments:**

    - `sigma`: σ.
    - `least_cosine`: vᵀu stays at `least_cosine` ‖u‖ ‖v‖ or above; 0 lets it go anywhere.
    """

    sigma: float | Float[Array, ""] = 1.0
    least_cosine: float | Float[Array, ""] = 1e-3

    def start(self, u):
        """v = u: at first r is what is orthogonal to u."""
        return Split(u, u)

    def features(self, direction, x):
        """s / σ and r / σ."""
        u, v = direction
        s = x @ u / (v @ u)
        return s[:, None] / self.sigma, Rest(x / self.sigma, s, v / self.sigma)

    def kept(self, direction, before):
        """A step that would widen the angle of u and v too far is not taken."""
        fine = (self.margin(direction) >= self.least_cosine) | (jnp.asarray(self.least_cosine) <= 0)
        return jax.tree.map(lambda a, b: jnp.where(fine, a, b), direction, before)

    def projection(self, direction):
        """u at unit length."""
        return direction.u / jnp.linalg.norm(direction.u)

    def margin(self, direction: Split) -> Float[Array, ""]:
        """vᵀu / ‖u‖ ‖v‖."""
        u, v = direction
        return v @ u / (jnp.linalg.norm(u) * jnp.linalg.norm(v))


class DistanceKernel(AbstractDirectionKernel[Array]):
    """Inputs are alike that are as far from u (Eq. 74): κ = exp(−(‖x₁ − u‖ − ‖x₂ − u‖)² / 2σ²).

    A Gaussian kernel of one number on a hundred inputs is singular in floating point: it needs
    jitter.
    """

    sigma: float | Float[Array, ""] = 1.0

    def start(self, u):
        return u

    def features(self, direction, x):
        """‖x − u‖ / σ."""
        return (jnp.linalg.norm(x - direction, axis=1, keepdims=True) / self.sigma,)

    def kept(self, direction, before):
        """All of it."""
        return direction

    def projection(self, direction):
        return direction


class ProjectionKernel(AbstractDirectionKernel[Array]):
    """Inputs are alike whose projections are close (Eq. 76): κ = exp(−‖Uᵀx₁ − Uᵀx₂‖² / 2σ²).

    A larger U makes all inputs unlike and K the identity, which says nothing about U. Therefore its
    norm stays, or σ² is the mean squared distance of the projected inputs.

    **Arguments:**

    - `sigma`: σ; `None`: the root mean squared distance, which is differentiated.
    """

    sigma: float | Float[Array, ""] | None = 20.0

    def start(self, u):
        return u

    def features(self, direction, x):
        """Uᵀx / σ."""
        z = x @ direction
        # The mean squared distance is twice the variance.
        sigma = jnp.sqrt(2 * z.var(axis=0).sum()) if self.sigma is None else self.sigma
        return (z / sigma,)

    def kept(self, direction, before):
        """At the norm that it had."""
        return direction * (jnp.linalg.norm(before) / jnp.linalg.norm(direction))

    def projection(self, direction):
        return direction


class AdditiveKernel(NamedTuple):
    """K = Σ_j a_j² exp(−(w_jᵀ(x − x'))² / 2) + ν² I: functions of one projection each, added up."""

    w: Float[Array, "modules m"]
    """Directions; the length of one is the inverse of its bandwidth."""
    log_a: Float[Array, " modules"]
    """Log amplitudes of the modules."""
    log_nu: Float[Array, ""]
    """Log deviation of what no module explains."""

    def __call__(self, x: Float[Array, "batch m"]) -> Float[Array, "batch batch"]:
        """The kernel matrix of a batch."""
        s = self.w @ x.T
        parts = jnp.exp(-0.5 * jnp.square(s[:, :, None] - s[:, None, :]))
        noise = jnp.exp(2 * self.log_nu) * jnp.eye(len(x), dtype=x.dtype)
        return jnp.einsum("j,jab->ab", jnp.exp(2 * self.log_a), parts) + noise
