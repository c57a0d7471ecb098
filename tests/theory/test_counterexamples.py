from itertools import product

import jax
import numpy as np
import pytest

from recombine.theory import (
    disconnected_tasks,
    figure_a1,
    memorising_student,
    relu_equality,
    spread_inputs,
    unseen_module,
    wider_student,
)
from recombine.theory._counterexamples import family_latents
from recombine.theory._multitask_identification import neuron_vectors

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
THETA, READOUT, CONTENT = (
    RNG.normal(size=(3, 5, 4)),
    RNG.normal(size=(2, 5)),
    RNG.normal(size=(5, 4)),
)
TASKS = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
NEW = [[1, 0, 1], [1, 1, 1], [0.5, -1, 2]]

FAILING = {
    "wider": wider_student(),
    "disconnected": disconnected_tasks(),
    "figure-A1-A": figure_a1(consistent=False),
    "unseen": unseen_module(THETA, READOUT, CONTENT),
    "memoriser": memorising_student(THETA, TASKS, NEW, consistent=False),
}
GENERALIZING = {
    "figure-A1-B": figure_a1(consistent=True),
    "unseen, guessed right": unseen_module(THETA, READOUT, THETA[-1]),
    "consistent memoriser": memorising_student(THETA, TASKS, NEW, consistent=True),
}
ALL = FAILING | GENERALIZING


def inputs(example, log2_samples=11):
    return spread_inputs(example.Theta.shape[-1], key=KEY, log2_samples=log2_samples)


def power(example, z, x):
    return 0.5 * np.mean(np.sum(example.respond(z, x) ** 2, axis=-1))


@pytest.mark.parametrize("name", ALL)
def test_the_student_fits_every_training_task(name):
    example = ALL[name]
    assert example.train_loss(inputs(example)) < 1e-12
    for z, z_hat in zip(example.train, example.train_hat, strict=True):
        W, W_hat = np.tensordot(z, example.Theta, 1), np.tensordot(z_hat, example.Theta_hat, 1)
        assert relu_equality(W, example.a, W_hat, example.a_hat).equal


@pytest.mark.parametrize("name", [n for n in ALL if "memoriser" not in n])
def test_the_student_fits_all_tasks_of_a_family_not_just_those_listed(name):
    example = ALL[name]
    for mask in example.masks:
        seen, seen_hat = (neuron_vectors(T[mask]) for T in (example.Theta, example.Theta_hat))
        assert relu_equality(seen, example.a, seen_hat, example.a_hat).equal


@pytest.mark.parametrize("name", FAILING)
def test_no_latent_solves_the_new_tasks(name):
    example = FAILING[name]
    x = inputs(example)
    for z in example.ood:
        z_hat, loss = example.best_latent(z, x, key=KEY, starts=4)
        assert loss > 1e-3 * power(example, z, x)
        assert example.loss(z, z_hat, x) == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("name", GENERALIZING)
def test_a_student_with_one_order_of_neurons_solves_the_new_tasks(name):
    example = GENERALIZING[name]
    x = inputs(example)
    for z in example.ood:
        z_hat, loss = example.best_latent(z, x, key=KEY, starts=0)
        assert loss < 1e-12
        W, W_hat = np.tensordot(z, example.Theta, 1), np.tensordot(z_hat, example.Theta_hat, 1)
        assert relu_equality(W, example.a, W_hat, example.a_hat).equal


@pytest.mark.parametrize("seed", [0, 1])
def test_the_losses_on_new_tasks_have_their_known_values(seed):
    key = jax.random.key(seed)
    wide, apart = wider_student(), disconnected_tasks()
    x, y = (spread_inputs(n, key=key, log2_samples=13) for n in (3, 4))
    # By hand: 1/8 from the mean of min(|x1|, |x3|)² where the signs differ; the others exactly.
    assert wide.loss([1, 0, 1], [1, 0, 1], x) == pytest.approx(1 / 8, rel=2e-3)
    assert wide.loss([1, 1, 1], [1, 1, 1], x) == pytest.approx(11 / 160, rel=1e-2)
    assert apart.loss([1, 1], [1, 1], y) == pytest.approx(4 / 15, rel=1e-2)
    assert power(wide, [1, 1, 1], x) == pytest.approx(3 / 4, rel=2e-3)
    assert wide.best_latent([1, 1, 1], x, key=key)[1] == pytest.approx(0.0649, rel=0.01)
    assert wide.best_latent([1, 0, 1], x, key=key)[1] == pytest.approx(0.0885, rel=0.01)
    assert apart.best_latent([1, 1], y, key=key)[1] == pytest.approx(0.253, rel=0.01)
    np.testing.assert_allclose(
        wide.best_latent([1, 1, 1], x, key=key)[0], [0.91, 0.98, 0.91], atol=0.01
    )


def test_the_best_latent_is_no_worse_than_any_on_a_grid():
    example = disconnected_tasks()
    x = inputs(example, 10)
    _, loss = example.best_latent([1, 1], x, key=KEY)
    grid = [example.loss([1, 1], z_hat, x) for z_hat in product(np.linspace(-2, 2, 41), repeat=2)]
    assert loss <= min(grid)
    assert loss > 0.95 * min(grid)


def test_losses_agree_with_independent_draws():
    example = wider_student()
    x = np.random.default_rng(1).uniform(-np.sqrt(3), np.sqrt(3), (200_000, 3))
    teacher = np.maximum(x.sum(axis=1), 0)
    student = np.maximum(x[:, 0] + x[:, 1], 0) + np.maximum(x[:, 1] + x[:, 2], 0)
    sampled = 0.5 * np.mean((student - np.maximum(x[:, 1], 0) - teacher) ** 2)
    assert example.loss([1, 1, 1], [1, 1, 1], inputs(example)) == pytest.approx(sampled, rel=0.02)


def test_other_vectors_and_readouts_make_counterexamples_too():
    for example in (
        wider_student(RNG.normal(size=(3, 5)), readout=-2.0),
        disconnected_tasks(RNG.normal(size=(4, 4)), readout=0.5),
    ):
        x = inputs(example)
        assert example.train_loss(x) < 1e-12
        loss = example.best_latent(example.ood[0], x, key=KEY, starts=4)[1]
        assert loss > 1e-3 * power(example, example.ood[0], x)


def test_training_can_not_tell_any_content_of_an_unseen_module_from_any_other():
    x = inputs(FAILING["unseen"])
    for seed in range(5):
        content = np.random.default_rng(seed).normal(size=(5, 4))
        assert unseen_module(THETA, READOUT, content).train_loss(x) == 0


def test_the_table_of_figure_a1_has_the_papers_letters():
    assert figure_a1(consistent=False).table() == (
        "teacher    m = 1  m = 2  m = 3\n"
        "neuron 1   W_a    W_d    W_g\n"
        "neuron 2   W_b    W_e    W_h\n"
        "neuron 3   W_c    W_f    W_i\n"
        "student    m = 1  m = 2  m = 3\n"
        "neuron 1   W_b    W_d    W_i\n"
        "neuron 2   W_c    W_f    W_g\n"
        "neuron 3   W_a    W_e    W_h"
    )
    # In panel B whole rows have moved.
    rows = figure_a1(consistent=True).table().splitlines()
    assert [row[11:] for row in rows[5:]] == [rows[2][11:], rows[3][11:], rows[1][11:]]


def test_the_table_shows_where_the_student_holds_nothing_or_something_new():
    assert wider_student().table().splitlines()[3:] == [
        "neuron 1   W_a    W_b    0",
        "neuron 2   0      W_b    W_c",
        "neuron 3   0      W_b    0",
    ]
    assert "·" in FAILING["unseen"].table()


def test_a_family_has_one_task_more_than_modules():
    found = family_latents([[True, False, True], [False, True, False]])
    np.testing.assert_array_equal(
        found, [[1, 0, 1], [0.5, 0, 1], [1, 0, 0.5], [0, 1, 0], [0, 0.5, 0]]
    )


def test_spread_inputs_have_mean_zero_and_unit_variance():
    x = spread_inputs(3, key=KEY, log2_samples=12)
    assert x.shape == (4096, 3)
    assert np.abs(x).max() <= np.sqrt(3)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=2e-3)
    np.testing.assert_allclose(np.cov(x.T), np.eye(3), atol=5e-3)
    assert not np.array_equal(x, spread_inputs(3, key=jax.random.key(1), log2_samples=12))


def test_impossible_counterexamples_are_refused():
    with pytest.raises(ValueError, match="give two or more"):
        unseen_module(THETA[:1], READOUT, CONTENT)
    with pytest.raises(ValueError, match="same order"):
        memorising_student(THETA, np.ones((6, 3)), NEW, consistent=False)
