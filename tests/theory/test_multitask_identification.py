import jax
import numpy as np
import pytest

from recombine.theory import (
    disconnected_tasks,
    figure_a1,
    identify,
    theorem5_assumptions,
    wider_student,
)
from recombine.theory._multitask_identification import latent_map, neuron_vectors, smooth_equality

M, H, N, O = 4, 5, 6, 2  # fmt: skip


def teacher(rng, outputs=O):
    return rng.normal(size=(M, H, N)), rng.normal(size=(outputs, H))


def changed_basis(Theta, F):
    """Θ̂ with Θ̂_j F = Θ_j: the same functions, with ẑ = F z."""
    return np.einsum("pm,phn->mhn", np.linalg.inv(F), Theta)


def transformed(Theta, a, rng):
    """The teacher with its neurons permuted and rescaled, in another basis of task latents."""
    order, scale = rng.permutation(H), rng.uniform(0.2, 5, H)
    F = rng.normal(size=(M, M))
    student = changed_basis(scale[:, None] * Theta[:, order], F)
    return student, a[:, order] / scale, F, order


def relu_network(Theta, a, z, x):
    return np.maximum(x @ np.tensordot(z, Theta, 1).T, 0) @ a.T


@pytest.mark.parametrize("outputs", [1, 4])
def test_a_permuted_rescaled_and_basis_changed_teacher_is_identified(outputs):
    rng = np.random.default_rng(0)
    Theta, a = teacher(rng, outputs)
    Theta_hat, a_hat, F, order = transformed(Theta, a, rng)
    found = identify(Theta, a, Theta_hat, a_hat)
    assert found.identified
    assert np.abs(found.F - F).max() < 1e-8
    assert [order[j] for j in found.permutation] == list(range(H))
    x = rng.normal(size=(100, N))
    for z in rng.normal(size=(5, M)):
        error = relu_network(Theta_hat, a_hat, F @ z, x) - relu_network(Theta, a, z, x)
        assert np.abs(error).max() < 1e-10


def test_the_latent_map_stacks_the_outputs():
    # One output sees only the first module's direction, the other only the second's.
    Theta = np.zeros((2, 2, 1))
    Theta[0, 0], Theta[1, 1] = 1.0, 2.0
    a = np.eye(2)
    F = np.array([[0.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(latent_map(Theta, a, changed_basis(Theta, F), a), F, atol=1e-12)
    assert np.linalg.matrix_rank(latent_map(Theta, a[:1], changed_basis(Theta, F), a[:1])) == 1


def test_neurons_whose_slices_cancel_can_be_flipped_in_all_tasks_and_others_not():
    rng = np.random.default_rng(1)
    Theta, a = rng.normal(size=(M, H, N)), np.ones((1, H))
    Theta[:, 2] = -(Theta[:, 0] + Theta[:, 1])
    signs = np.array([-1, -1, -1, 1, 1])[:, None]
    F = rng.normal(size=(M, M))
    found = identify(Theta, a, changed_basis(signs * Theta, F), a)
    assert found.identified
    assert found.equality.outputs[0].flipped == (0, 1, 2)
    assert np.abs(found.F - F).max() < 1e-8
    signs[3] = -1
    assert not identify(Theta, a, changed_basis(signs * Theta, F), a, F=F).identified


def test_a_wider_student_with_split_and_cancelling_neurons_is_identified():
    rng = np.random.default_rng(2)
    Theta, a = teacher(rng)
    extra = rng.normal(size=(M, 1, N))
    wide = np.concatenate([Theta, 2 * Theta[:, :1], extra, 3 * extra], axis=1)
    split = np.hstack([a, 0.25 * a[:, :1], np.array([[3.0], [6.0]]), np.array([[-1.0], [-2.0]])])
    split[:, 0] *= 0.5
    F = rng.normal(size=(M, M))
    found = identify(Theta, a, changed_basis(wide, F), split)
    assert found.identified
    assert found.permutation is None
    for partition in found.equality.outputs:
        assert partition.S1 == ((0, 5), (1,), (2,), (3,), (4,))
        assert partition.S1_prime == ((6, 7),)


def test_a_student_with_spare_modules_is_identified_by_a_tall_map():
    rng = np.random.default_rng(3)
    Theta, a = teacher(rng)
    spare = np.concatenate([Theta, rng.normal(size=(2, H, N))])
    F = np.eye(M + 2, M)
    found = identify(Theta, a, spare, a, F=F)
    assert found.identified
    assert found.rank == M


@pytest.mark.parametrize("size", [1e-5, 1.0])
def test_a_perturbed_student_is_not_identified(size):
    rng = np.random.default_rng(4)
    Theta, a = teacher(rng)
    Theta_hat, a_hat, _, _ = transformed(Theta, a, rng)
    Theta_hat = Theta_hat + size * rng.normal(size=Theta_hat.shape)
    assert not identify(Theta, a, Theta_hat, a_hat).identified


def test_a_map_that_loses_a_module_identifies_nothing():
    Theta = np.zeros((2, 1, 2))  # the second module is empty, and so is the student's
    Theta[0, 0, 0] = 1.0
    found = identify(Theta, np.ones((1, 1)), Theta, np.ones((1, 1)), F=np.diag([1.0, 0.0]))
    assert found.equality.equal
    assert not found.identified


@pytest.mark.parametrize(
    "example",
    [wider_student(), disconnected_tasks(), figure_a1(consistent=False)],
    ids=["wider", "disconnected", "figure-A1"],
)
def test_the_counterexamples_are_not_identified(example):
    parts = (example.Theta, example.a, example.Theta_hat, example.a_hat)
    assert not identify(*parts).identified
    assert not identify(*parts, F=np.eye(len(example.Theta))).identified


def test_a_neuron_vector_holds_all_modules_of_a_neuron():
    Theta = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_array_equal(neuron_vectors(Theta)[1], [2, 3, 8, 9])


def smooth(u):
    """The sum of a softplus and a sigmoid."""
    return np.logaddexp(0, u) + 1 / (1 + np.exp(-u))


def test_smooth_students_may_split_neurons_and_add_null_ones():
    rng = np.random.default_rng(5)
    W, a = rng.normal(size=(2, 3)), np.array([1.0, -2.0])
    extra = rng.normal(size=3)
    W_hat = np.array([W[1], W[0], W[0], extra, extra])
    a_hat = np.array([-2.0, 0.3, 0.7, 1.5, -1.5])
    found = smooth_equality(W, a, W_hat, a_hat)
    assert found.equal
    (partition,) = found.outputs
    assert partition.S1 == ((1, 2), (0,))
    assert partition.S1_prime == ((3, 4),)
    x = rng.normal(size=(100, 3))
    assert np.abs(smooth(x @ W.T) @ a - smooth(x @ W_hat.T) @ a_hat).max() < 1e-12


@pytest.mark.parametrize(
    "change",
    [
        lambda W, a: (W + 1e-6, a),
        lambda W, a: (W, a + 1e-6),
        lambda W, a: (2 * W, a / 2),  # a ReLU would not notice
    ],
    ids=["weights", "readout", "rescaled"],
)
def test_perturbed_smooth_students_are_rejected(change):
    rng = np.random.default_rng(6)
    W, a = rng.normal(size=(3, 3)), rng.normal(size=3)
    assert smooth_equality(W, a, W[::-1], a[::-1]).equal
    assert not smooth_equality(W, a, *change(W, a)).equal


def test_smooth_identification_finds_the_map_and_demands_equal_slices():
    rng = np.random.default_rng(7)
    Theta, a = teacher(rng)
    order = rng.permutation(H)
    F = rng.normal(size=(M, M))
    student = changed_basis(Theta[:, order], F)
    wide = np.concatenate([student, student[:, :1]], axis=1)
    split = np.hstack([a[:, order], 0.4 * a[:, order[:1]]])
    split[:, 0] *= 0.6
    found = identify(Theta, a, wide, split, compare=smooth_equality)
    assert found.identified
    assert np.abs(found.F - F).max() < 1e-8
    rescaled = identify(Theta, a, 2 * student, a[:, order] / 2, F=F, compare=smooth_equality)
    assert not rescaled.identified


def test_the_assumptions_of_theorem_5_are_measured():
    rng = np.random.default_rng(8)
    Theta, a = teacher(rng)
    sizes = {"student_modules": M, "student_hidden": H + 2}
    report = theorem5_assumptions(Theta, a, **sizes, key=jax.random.key(0))
    assert report.holds
    assert report["some Σ λᵢΘᵢ has full rank"].measured == M
    assert report["no aᵢ is 0"].measured == np.abs(a).min()


@pytest.mark.parametrize(
    ("break_it", "broken"),
    [
        (lambda T, a, s: (T[:, :, :3], a, s), ("M ≤ n", "some Σ λᵢΘᵢ has full rank")),
        (lambda T, a, s: (T, a, (M + 1, H)), ("M̂ = M",)),
        (lambda T, a, s: (T, a, (M, H - 1)), ("ĥ ≥ h",)),
        (lambda T, a, s: (T[[0, 0, 1, 2]], a, s), ("some Σ λᵢΘᵢ has full rank",)),
        (lambda T, a, s: (T, a * (np.arange(H) > 0), s), ("no aᵢ is 0",)),
        (
            lambda T, a, s: (T[:, [0, 0, 1, 2, 3]] * [[-2], [1], [1], [1], [1]], a, s),
            ("some W(Θ, z) has no collinear rows",),
        ),
    ],
)
def test_each_broken_assumption_of_theorem_5_is_named(break_it, broken):
    Theta, a, (modules, hidden) = break_it(*teacher(np.random.default_rng(9)), (M, H))
    report = theorem5_assumptions(
        Theta, a, student_modules=modules, student_hidden=hidden, key=jax.random.key(1)
    )
    assert report.broken == broken
