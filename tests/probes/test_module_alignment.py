"""Module alignment: blind to what the theory leaves free, and to nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import models, probes
from recombine.probes._module_alignment import in_teacher_basis, latent_decoder

M, HIDDEN, INPUTS = 4, 5, 6


def disguised(teacher, seed, *, extra_modules=0, extra_neurons=0):
    """A student that equals the teacher up to a basis, an order, signs and scales, and its F."""
    basis, order, sign, scale, neurons = jax.random.split(jax.random.key(seed), 5)
    F = jax.random.normal(basis, (M + extra_modules, M))
    Theta_hat = jnp.einsum("mhi,mk->khi", teacher.Theta, jnp.linalg.pinv(F))
    Theta_hat = Theta_hat * jnp.exp(jax.random.normal(scale, (HIDDEN, 1)))
    Theta_hat = Theta_hat * jax.random.rademacher(sign, (HIDDEN, 1), Theta_hat.dtype)
    others = jax.random.normal(neurons, (M + extra_modules, extra_neurons, INPUTS))
    Theta_hat = jnp.concatenate([Theta_hat, others], axis=1)
    Theta_hat = jax.random.permutation(order, Theta_hat, axis=1)
    return Theta_hat, F


def network(seed=0):
    return models.ModularNetwork.random(
        modules=M, inputs=INPUTS, hidden=HIDDEN, key=jax.random.key(seed)
    )


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_disguised_teacher_is_fully_aligned(seed):
    with jax.enable_x64(True):
        teacher = network(seed)
        Theta_hat, F = disguised(teacher, seed + 1, extra_modules=3, extra_neurons=2)
        z = jax.random.normal(jax.random.key(seed), (50, M))
        fitted = probes.latent_map(z, z @ F.T, ridge=1e-8)
        alignment = probes.module_alignment(teacher.Theta, Theta_hat, fitted)
        assert alignment.shape == (HIDDEN,)
        assert np.allclose(alignment, 1, atol=1e-6)


def test_a_random_student_is_not_aligned():
    teacher, student = network(0), network(1)
    alignment = probes.module_alignment(teacher.Theta, student.Theta, jnp.eye(M))
    assert alignment.min() < 0.6


def test_modules_with_neurons_in_inconsistent_orders_are_known_but_not_aligned(x64):
    teacher = network()
    orders = [jnp.roll(jnp.arange(HIDDEN), m) for m in range(M)]
    Theta_hat = jnp.stack([module[o] for module, o in zip(teacher.Theta, orders, strict=True)])
    together = probes.module_alignment(teacher.Theta, Theta_hat, jnp.eye(M))
    by_module = probes.alignment_by_module(teacher.Theta, Theta_hat, jnp.eye(M))
    assert by_module.shape == (M, HIDDEN)
    assert np.allclose(by_module, 1, atol=1e-12)
    assert together.min() < 0.8
    # Weights of single modules agree if neurons are matched for each task anew, only then.
    z = jnp.eye(M)
    W, W_hat = teacher.weights(z), models.ModularNetwork(Theta_hat, teacher.a).weights(z)
    assert np.allclose(probes.generated_alignment(W, W_hat, matched_by_task=True), 1, atol=1e-12)
    assert probes.generated_alignment(W, W_hat).min() < 0.8


def slow_alignment(Theta, Theta_hat, F):
    """The definition, neuron by neuron."""
    best = []
    for i in range(Theta.shape[1]):
        slice_i = np.stack([Theta[m, i] for m in range(len(Theta))], axis=1)  # inputs x modules
        cosines = []
        for j in range(Theta_hat.shape[1]):
            slice_j = np.stack([Theta_hat[k, j] for k in range(len(Theta_hat))], axis=1) @ F
            dot = np.sum(slice_i * slice_j)
            cosines.append(abs(dot) / np.linalg.norm(slice_i) / np.linalg.norm(slice_j))
        best.append(max(cosines))
    return best


def test_alignment_is_that_of_the_definition(x64):
    teacher = network()
    student = models.ModularNetwork.random(
        modules=7, inputs=INPUTS, hidden=8, key=jax.random.key(3)
    )
    F = jax.random.normal(jax.random.key(4), (7, M))
    expected = slow_alignment(*map(np.asarray, (teacher.Theta, student.Theta, F)))
    found = probes.module_alignment(teacher.Theta, student.Theta, F)
    assert np.allclose(found, expected, atol=1e-12)


def test_the_decoder_is_the_ridge_regression_of_true_on_inferred_latents(x64):
    z = jax.random.normal(jax.random.key(0), (30, 3))
    z_hat = jax.random.normal(jax.random.key(1), (30, 5))
    ridge = 0.3
    # Ridge regression is least squares with √ridge times the identity as further examples.
    X = np.concatenate([z_hat, ridge**0.5 * np.eye(5)])
    Y = np.concatenate([z, np.zeros((5, 3))])
    expected = np.linalg.lstsq(X, Y)[0].T
    assert np.allclose(latent_decoder(z, z_hat, ridge=ridge), expected, atol=1e-12)
    F = probes.latent_map(z, z_hat, ridge=ridge)
    assert F.shape == (5, 3)
    assert np.allclose(expected @ F, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("extra_modules", [0, 3])
def test_the_map_of_latents_is_recovered(x64, extra_modules):
    F = jax.random.normal(jax.random.key(0), (M + extra_modules, M))
    z = jax.random.normal(jax.random.key(1), (100, M))
    assert np.allclose(probes.latent_map(z, z @ F.T, ridge=1e-8), F, atol=1e-6)


def test_the_map_is_found_in_32_bits_where_a_student_uses_few_of_its_modules():
    F = jax.random.normal(jax.random.key(0), (60, M))
    z = jax.random.normal(jax.random.key(1), (600, M))
    assert np.allclose(probes.latent_map(z, z @ F.T), F, atol=1e-3)


def test_the_published_variant_counts_signs_and_ignores_the_size_of_modules(x64):
    teacher = network()
    flipped = -teacher.Theta
    scaled = teacher.Theta * jnp.array([1.0, 100, 1, 1])[:, None, None]

    def align(Theta_hat, **variant):
        return probes.module_alignment(teacher.Theta, Theta_hat, jnp.eye(M), **variant).min()

    assert align(flipped) == pytest.approx(1)
    assert align(flipped, absolute=False) < 0.8
    assert align(scaled) < 0.8
    assert align(scaled, unit_modules=True) == pytest.approx(1)
    assert align(scaled, unit_modules=True, absolute=False) == pytest.approx(1)


def test_the_basis_change_undoes_itself(x64):
    teacher = network()
    F = jax.random.normal(jax.random.key(2), (M, M))
    Theta_hat = jnp.einsum("mhi,mk->khi", teacher.Theta, jnp.linalg.inv(F))
    assert np.allclose(in_teacher_basis(Theta_hat, F), teacher.Theta, atol=1e-12)


def test_a_dead_student_neuron_aligns_with_nothing():
    teacher = network()
    dead = jnp.zeros_like(teacher.Theta)
    assert np.all(probes.module_alignment(teacher.Theta, dead, jnp.eye(M)) == 0)


def test_a_sign_that_differs_between_tasks_breaks_the_alignment_of_generated_weights(x64):
    W = jax.random.normal(jax.random.key(0), (2, 3, 40))
    W_hat = W * jnp.array([1.0, -1.0])[:, None, None]
    assert np.allclose(probes.generated_alignment(W, -W), 1)
    assert probes.generated_alignment(W, W_hat).max() < 0.6
    assert np.allclose(probes.generated_alignment(W, W_hat, matched_by_task=True), 1)
