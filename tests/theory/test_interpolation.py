"""The norm of the smallest interpolating weights and the evidence, by inverses and densities."""

import jax
import jax.numpy as jnp
import numpy as np

from recombine.theory._interpolation import interpolation_norm, log_evidence


def normal(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def test_the_norm_is_that_of_the_smallest_weights_that_interpolate(x64):
    features, y = normal(12, 40), normal(12, 3, seed=1)
    theta = jnp.linalg.pinv(features) @ y
    np.testing.assert_allclose(
        interpolation_norm(features @ features.T, y), jnp.sum(theta**2), rtol=1e-8
    )


def test_the_norm_has_the_derivatives_of_the_inverse(x64):
    A, y = normal(6, 6), normal(6, 2, seed=1)
    K = A @ A.T + jnp.eye(6)
    ours = jax.grad(interpolation_norm, argnums=(0, 1))(K, y)
    plain = jax.grad(lambda K, y: jnp.trace(y.T @ jnp.linalg.inv(K) @ y), argnums=(0, 1))(K, y)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_the_evidence_is_a_normal_density(x64):
    from scipy.stats import multivariate_normal

    A, y = normal(6, 6), normal(6, 2, seed=1)
    K = A @ A.T + jnp.eye(6)
    slow = sum(multivariate_normal(np.zeros(6), K).logpdf(np.asarray(y).T))
    ours, slopes = jax.value_and_grad(log_evidence, argnums=(0, 1))(K, y)
    np.testing.assert_allclose(ours, slow + 6 * np.log(2 * np.pi), rtol=1e-10)

    def plain(K, y):
        norm = jnp.trace(y.T @ jnp.linalg.inv(K) @ y)
        return -0.5 * (norm + 2 * jnp.linalg.slogdet(K)[1])

    for a, b in zip(slopes, jax.grad(plain, argnums=(0, 1))(K, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_the_norm_of_an_indefinite_kernel_is_not_a_number():
    assert jnp.isnan(interpolation_norm(jnp.diag(jnp.array([1.0, -1.0])), jnp.ones((2, 1))))
