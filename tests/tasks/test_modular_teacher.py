"""The teacher of the theory: inputs, latents and outputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, splits, tasks

KEY = jax.random.key(0)
NETWORK = models.ModularNetwork.random(modules=3, inputs=4, hidden=5, outputs=2, key=KEY)
MASKS = splits.masks_of(["01", "2"], 3)


def test_discrete_tasks_are_the_listed_ones_with_equal_probability():
    z = np.asarray(tasks.ModularTeacher(NETWORK, MASKS, discrete=True).latents(4000, key=KEY))
    pair = np.isclose(z, [0.5**0.5, 0.5**0.5, 0]).all(axis=1)
    single = np.isclose(z, [0, 0, 1]).all(axis=1)
    assert np.all(pair | single)
    assert pair.mean() == pytest.approx(0.5, abs=0.03)


def test_continuous_tasks_lie_in_the_spans_of_the_masks():
    teacher = tasks.ModularTeacher(NETWORK, MASKS)
    z = np.asarray(teacher.latents(1000, key=KEY))
    used = z > 0
    assert {tuple(u) for u in used} == {tuple(m) for m in MASKS}
    assert len(np.unique(z[:, 0])) > 400


def test_both_normalisations_are_offered():
    single = splits.masks_of(["0"], 3)
    assert np.ptp(tasks.ModularTeacher(NETWORK, single).latents(50, key=KEY)[:, 0]) > 0.1
    z = tasks.ModularTeacher(NETWORK, single, sum_to_one=True).latents(50, key=KEY)
    assert np.allclose(z, [1, 0, 0])


def test_inputs_are_uniform_with_mean_0_and_deviation_1():
    x = np.asarray(tasks.ModularTeacher(NETWORK, MASKS).inputs(50_000, key=KEY))
    assert x.shape == (50_000, 4)
    assert np.abs(x).max() <= 3**0.5
    assert np.abs(x).max() > 1.7
    assert x.mean() == pytest.approx(0, abs=0.01)
    assert x.std() == pytest.approx(1, abs=0.01)


def test_the_variance_of_the_outputs_is_that_of_the_network_by_quadrature(x64):
    # One neuron that reads one of n inputs: y = relu(w x / √n), and E y² = w² E x² / (2 n).
    network = models.ModularNetwork(jnp.array([[[2.0, 0, 0, 0]]]), jnp.array([[1.0]]))
    teacher = tasks.ModularTeacher(network, np.ones((1, 1), bool), discrete=True, samples=100_000)
    y = np.asarray(teacher.sample(1, key=KEY).query.y)
    assert np.mean(y**2) == pytest.approx(4 / 4 / 2, rel=0.02)
    assert np.mean(y) == pytest.approx(3**0.5 / 4, rel=0.02)


def test_an_episode_holds_examples_of_its_own_for_every_task(x64):
    teacher = tasks.ModularTeacher(NETWORK, MASKS, samples=6)
    episode = teacher.sample(3, key=KEY)
    assert episode.code.shape == (3, 1, 3)
    for part in (episode.support, episode.query):
        assert part.x.shape == (3, 6, 4)
        assert np.all(part.weight == 1)
        for i in range(3):
            expected = NETWORK(episode.code[i], part.x[i])[0]
            assert np.allclose(part.y[i], expected, atol=1e-14)
    assert not np.allclose(episode.support.x[0], episode.support.x[1])
    assert not np.allclose(episode.support.x, episode.query.x)


def test_other_mixtures_of_the_same_teacher_are_continuous():
    teacher = tasks.ModularTeacher(NETWORK, MASKS, discrete=True)
    other = teacher.on(splits.k_hot_masks(3, 2))
    assert other.network is teacher.network
    z = np.asarray(other.latents(200, key=KEY))
    assert np.all((z > 0).sum(axis=1) == 2)
    assert len(np.unique(z[:, 0])) > 50
