"""The smallest weights that interpolate targets, from a kernel alone (Eq. 15 and 16).

If Σ_i φ(X; U_i) θ_i interpolates y with the smallest weights, then Σ_i ‖θ_i‖² = yᵀ K⁻¹ y with the
kernel K = Σ_i φ(X; U_i) φ(X; U_i)ᵀ. Beside it stands the evidence of a Gaussian process; both also
for sums of Gaussians of features of the inputs, with slopes by the features.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from ..models._direction_kernels import Feature, Rest, gaussian


@jax.custom_vjp
def interpolation_norm(
    K: Float[Array, "batch batch"], y: Float[Array, "batch columns"]
) -> Float[Array, ""]:
    """Σ_c y_cᵀ K⁻¹ y_c by Cholesky: the squared norm of the smallest interpolating weights.

    Not a number if K is not positive definite. Its derivative by K is −Σ_c a_c a_cᵀ with
    a = K⁻¹ y, which is exact and needs no derivative of the factor.
    """
    return _interpolation_norm(K, y)[0]


def _factor(K):
    """L of K = L Lᵀ."""
    # LAPACK reads columns where XLA writes rows: of the transpose no copy is made.
    return jnp.linalg.cholesky(K.T, symmetrize_input=False)


def _interpolation_norm(K, y):
    a = cho_solve((_factor(K), True), y)
    return jnp.sum(y * a), a


def _backward(a, g):
    return -g * a @ a.T, 2 * g * a


interpolation_norm.defvjp(_interpolation_norm, _backward)


@jax.custom_vjp
def log_evidence(
    K: Float[Array, "batch batch"], y: Float[Array, "batch columns"]
) -> Float[Array, ""]:
    """−½ Σ_c (y_cᵀ K⁻¹ y_c + log det K): the log-likelihood of a Gaussian process, but a constant.

    Beside the norm of the interpolating weights it counts how much else such weights could have
    interpolated, so that a kernel to which all inputs are unlike gains nothing.
    """
    return _log_evidence(K, y)[0]


def _log_evidence(K, y):
    L = _factor(K)
    a = cho_solve((L, True), y)
    determinant = 2 * jnp.log(jnp.diagonal(L)).sum()
    return -0.5 * (jnp.sum(y * a) + y.shape[1] * determinant), (L, a)


def _log_evidence_backward(residual, g):
    L, a = residual
    inverse = cho_solve((L, True), jnp.eye(len(L), dtype=L.dtype))
    return 0.5 * g * (a @ a.T - a.shape[1] * inverse), -g * a


log_evidence.defvjp(_log_evidence, _log_evidence_backward)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def gaussian_objective(
    features: tuple[Feature, ...],
    y: Float[Array, "batch columns"],
    jitter: Float[Array, ""],
    determinant: bool,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """yᵀ K⁻¹ y for K = Σ_f exp(−‖z_f − z'_f‖² / 2) + `jitter` I, and the likeness of the inputs.

    With the determinant it is −2 `log_evidence`. By the features, Σ_j W_ij (z_j − z_i) with
    W = 2 ∂/∂K ∘ exp(…): two passes over K, where the derivative of every operation takes many.
    """
    return _gaussian_objective(features, y, jitter, determinant)[0]


def _gaussian_objective(features, y, jitter, determinant):
    parts = tuple(map(gaussian, features))
    batch = len(y)
    K = sum(parts, jitter * jnp.eye(batch, dtype=y.dtype))
    if determinant:
        evidence, (L, a) = _log_evidence(K, y)
        objective = -2 * evidence
        inverse = cho_solve((L, True), jnp.eye(batch, dtype=y.dtype))
        slope = a.shape[1] * inverse - a @ a.T
    else:
        objective, a = _interpolation_norm(K, y)
        slope = -a @ a.T

    def pulled(part, rows):
        """Σ_j W_ij (z_j − z_i) of features z, one per row, and the sum of a Gaussian."""
        if a.shape[1] == 1 and not determinant:
            # W = −2 a aᵀ ∘ exp(…) is never formed. From the left the product is fastest.
            weighted = jnp.concatenate([a.T * rows, a.T, jnp.ones_like(a.T)])
            sums = weighted @ part
            return -2 * a.T * (sums[:-2] - sums[-2] * rows), sums[-1].sum()
        W = 2 * slope * part
        return rows @ W - W.sum(axis=0) * rows, part.sum()

    def by(z, part):
        """The slope by a feature, and the sum of its Gaussian."""
        if not isinstance(z, Rest):
            slopes, total = pulled(part, z.T)
            return slopes.T, total
        (of_s, of_q), total = pulled(part, jnp.stack([z.s, z.q]))
        of_x, _ = pulled(part, z.x.T)
        # With G = Σ_j W_ij (z_j − z_i) for z = x − s vᵀ: −G v by s, −Gᵀ s by v.
        by_s = (z.v @ z.v) * of_s - of_q
        by_v = (z.s @ of_s) * z.v - of_s @ z.x
        return Rest(of_x.T - jnp.outer(of_s, z.v), by_s, by_v), total

    slopes, sums = zip(*map(by, features, parts), strict=True)
    # The diagonal of every Gaussian is 1.
    likeness = (sum(sums) / (len(parts) * batch) - 1) / (batch - 1)
    return (objective, likeness), (slopes, a)


def _gaussian_objective_backward(determinant, residual, g):
    slopes, a = residual
    slopes = jax.tree.map(lambda slope: g[0] * slope, slopes)
    return slopes, 2 * g[0] * a, jnp.zeros((), a.dtype)


gaussian_objective.defvjp(_gaussian_objective, _gaussian_objective_backward)
