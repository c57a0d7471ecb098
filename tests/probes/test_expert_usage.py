"""Shares of experts, evenness, pairs and specialisation on cases that are counted by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import probes

CHOSEN = jnp.array([[0, 1], [0, 2], [0, 1]])
WEIGHTS = jnp.array([[0.5, 0.5], [1.0, 0.25], [0.5, 0.25]])


def test_shares_are_those_of_weights_and_of_choices():
    usage = jax.jit(probes.expert_usage, static_argnums=2)
    found = usage(CHOSEN, WEIGHTS, 4)
    np.testing.assert_allclose(found.weights, np.array([2, 0.75, 0.25, 0]) / 3, rtol=1e-6)
    np.testing.assert_allclose(found.counts, [1 / 2, 1 / 3, 1 / 6, 0], rtol=1e-6)
    layers = usage(jnp.stack([CHOSEN, CHOSEN + 1]), jnp.stack([WEIGHTS] * 2), 4)
    np.testing.assert_allclose(layers.weights[0], found.weights)
    np.testing.assert_allclose(layers.weights.sum(axis=1), 1, rtol=1e-6)


def test_evenness_is_one_where_all_are_used_alike_and_least_at_collapse():
    alike, one = jnp.full((2, 8), 1 / 8), jnp.eye(8)[:1]
    np.testing.assert_allclose(probes.relative_perplexity(alike), 1, rtol=1e-5)
    np.testing.assert_allclose(probes.relative_perplexity(one), 1 / 8, rtol=1e-5)
    np.testing.assert_allclose(probes.relative_entropy_of_usage(alike), 1, rtol=1e-5)
    np.testing.assert_allclose(probes.relative_entropy_of_usage(one), 0, atol=1e-6)
    np.testing.assert_allclose(probes.dead_experts(one), 7 / 8)
    np.testing.assert_allclose(probes.dead_experts(alike), 0)


def test_pairs_are_counted_both_ways():
    counts = probes.co_occurrence(CHOSEN, 4, normalised=False)
    np.testing.assert_array_equal(counts, counts.T)
    np.testing.assert_array_equal(counts[0], [0, 2, 1, 0])
    rows = probes.co_occurrence(CHOSEN, 4)
    np.testing.assert_allclose(rows.sum(axis=1), [1, 1, 1, 0])


def test_overlap_is_the_share_of_experts_that_are_chosen_twice():
    one, other = jnp.array([[0, 1], [2, 3]]), jnp.array([[1, 0], [3, 0]])
    np.testing.assert_allclose(probes.overlap_of_choices(one, other), [1, 0.5])
    draws = jax.vmap(lambda key: jax.random.permutation(key, 12)[:3])
    keys = jax.random.split(jax.random.key(0), 4000)
    overlap = probes.overlap_of_choices(draws(keys[:2000]), draws(keys[2000:])).mean()
    assert overlap == pytest.approx(probes.expected_overlap(3, 12), abs=0.02)


def test_rows_that_are_alike_have_a_cosine_of_one():
    assert probes.mean_pairwise_cosine(jnp.ones((3, 4))) == pytest.approx(1)
    assert probes.mean_pairwise_cosine(jnp.eye(4)) == pytest.approx(0)


def test_experts_that_a_label_decides_are_specialised():
    labels = jnp.tile(jnp.arange(4), 50)
    assert probes.specialisation(labels[:, None], labels, 4) == pytest.approx(1)
    alike = jnp.repeat(jnp.arange(4), 50)[:, None]
    assert probes.specialisation(alike, labels, 4) == pytest.approx(0, abs=0.01)
    assert probes.specialisation(jnp.zeros((200, 1), int), labels, 4) == 0
