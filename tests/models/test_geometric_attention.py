"""Geometric attention: it agrees with the products of the paper, and prefers the closest match."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import models
from recombine.models import _geometric_attention

KEY = jax.random.key(0)
MASKS = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]], bool)


def plain(logits, mask):
    """Eqs. 5.6 to 5.10 for one sequence and head, factor by factor."""
    length = len(logits)
    p = (1 / (1 + jnp.exp(-logits))) * mask * (1 - np.eye(length))
    rows = []
    for i in range(length):
        row = []
        for j in range(length):
            weight = p[i, j]
            for k in range(length):
                near, far = abs(i - k), abs(i - j)
                if k not in (i, j) and (near < far if j > i else near <= far):
                    weight = weight * (1 - p[i, k])
            row.append(weight)
        rows.append(jnp.stack(row))
    return jnp.stack(rows)


def weighted(function, logits, mask):
    """A sum of weights, with which every one of them counts differently."""
    weights = function(logits, mask)
    return jnp.sum(weights * jnp.cos(jnp.arange(weights.size)).reshape(weights.shape))


def ours(logits, mask, normalised=False):
    return _geometric_attention.geometric_weights(logits[None, None], mask, normalised=normalised)[
        0, 0
    ]


OURS = jax.jit(ours, static_argnums=2)
GRADIENT = jax.jit(jax.grad(weighted, argnums=1), static_argnums=0)


@pytest.mark.parametrize("mask", [MASKS[0], MASKS[1], MASKS[2], MASKS[0] & (np.arange(6) != 2)])
def test_weights_and_gradients_are_those_of_the_plain_products(x64, mask):
    logits, mask = 3 * jax.random.normal(KEY, (6, 6)), jnp.asarray(mask)
    weights = jax.jit(lambda x: plain(x, np.asarray(mask)))
    np.testing.assert_allclose(OURS(logits, mask), weights(logits), atol=1e-12)
    expected = jax.jit(jax.grad(lambda x: weighted(plain, x, np.asarray(mask))))(logits)
    np.testing.assert_allclose(GRADIENT(ours, logits, mask), expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([1.0, 10.0, 50.0]))
def test_single_precision_is_enough_for_large_logits(seed, magnitude):
    logits = magnitude * jax.random.uniform(jax.random.key(seed), (6, 6), minval=-1.0)
    mask = jnp.asarray(MASKS[1])
    with jax.enable_x64(True):
        exact = [
            np.asarray(f)
            for f in (
                OURS(jnp.asarray(logits, float), mask),
                GRADIENT(ours, jnp.asarray(logits, float), mask),
            )
        ]
    assert exact[0].dtype == np.float64
    np.testing.assert_allclose(OURS(logits, mask), exact[0], atol=1e-6)
    np.testing.assert_allclose(GRADIENT(ours, logits, mask), exact[1], atol=2e-6)


def test_gradients_are_finite_where_every_match_is_certain_or_impossible():
    signs = jnp.where(jax.random.bernoulli(KEY, shape=(6, 6)), 50.0, -50.0)
    for mask in jnp.asarray(MASKS):
        assert np.all(np.isfinite(GRADIENT(ours, signs, mask)))
        assert np.all(np.isfinite(GRADIENT(ours, 100 * signs, mask)))


def test_running_sums_of_long_sequences_are_those_of_short_ones(x64, monkeypatch):
    logits = 3 * jax.random.normal(KEY, (11, 11))
    mask = jnp.arange(11) < 9
    expected = ours(logits, mask), jax.grad(weighted, argnums=1)(ours, logits, mask)
    monkeypatch.setattr(_geometric_attention, "_SHORT", 10)
    found = ours(logits, mask), jax.grad(weighted, argnums=1)(ours, logits, mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("short", [192, 3])
def test_targets_at_given_positions_read_what_they_read_among_all(x64, monkeypatch, short):
    monkeypatch.setattr(_geometric_attention, "_SHORT", short)
    weights_of = _geometric_attention.geometric_weights
    logits = 3 * jax.random.normal(KEY, (2, 3, 6, 6))
    mask, at = jnp.asarray(MASKS)[:, None], jnp.array([[5, 0], [3, 1], [0, 0]])
    slope = jax.random.normal(jax.random.key(1), (2, 3, 2, 6))

    def among_all(logits):
        return jnp.take_along_axis(weights_of(logits, mask), at[None, :, :, None], axis=2)

    def alone(logits):
        taken = jnp.take_along_axis(logits, at[None, :, :, None], axis=2)
        return weights_of(taken, mask, at=at)

    for ours, theirs in zip(jax.vjp(alone, logits), jax.vjp(among_all, logits), strict=True):
        if callable(ours):
            ours, theirs = ours(slope)[0], theirs(slope)[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    last = weights_of(logits[:, :, 4:], mask)
    np.testing.assert_allclose(last, weights_of(logits, mask)[:, :, 4:], atol=1e-12)


def test_ranks_are_those_of_the_papers_grid():
    """Figure 5.2: with a constant P, a source of rank r weighs P (1 − P)^(r − 1)."""
    grid = [[0, 1, 2, 3, 4], [2, 0, 1, 3, 4], [4, 2, 0, 1, 3], [4, 3, 2, 0, 1], [4, 3, 2, 1, 0]]
    logit = np.log(0.3 / 0.7)
    weights = OURS(jnp.full((5, 5), logit), jnp.ones(5, bool))
    ranks = np.array(grid)
    expected = np.where(ranks > 0, 0.3 * 0.7 ** (ranks - 1.0), 0)
    np.testing.assert_allclose(weights, expected, rtol=1e-5)
    counted = 1 + _geometric_attention.closer_sources(5).sum(axis=2)
    np.testing.assert_array_equal(np.where(np.eye(5), 0, counted), ranks)


def test_rows_sum_to_the_probability_of_any_match(x64):
    logits, mask = jax.random.normal(KEY, (6, 6)), jnp.asarray(MASKS[1])
    weights = np.asarray(OURS(logits, mask))
    misses = np.where(np.eye(6, dtype=bool) | ~MASKS[1], 1, 1 / (1 + np.exp(np.asarray(logits))))
    np.testing.assert_allclose(weights.sum(axis=1), 1 - misses.prod(axis=1), rtol=1e-12)
    assert np.all(weights.sum(axis=1) < 1)


def test_nobody_reads_padding_or_itself():
    for mask in MASKS:
        weights = np.asarray(OURS(jnp.full((6, 6), 5.0), jnp.asarray(mask)))
        np.testing.assert_array_equal(weights[:, ~mask], 0)
        np.testing.assert_array_equal(np.diag(weights), 0)


def test_the_closest_of_several_certain_matches_is_read():
    logits = jnp.full((6, 6), -30.0).at[0, jnp.array([2, 3, 5])].set(30.0)
    np.testing.assert_allclose(OURS(logits, jnp.ones(6, bool))[0], np.eye(6)[2], atol=1e-6)
    ties = jnp.full((6, 6), -30.0).at[3, jnp.array([1, 5])].set(30.0)
    np.testing.assert_allclose(OURS(ties, jnp.ones(6, bool))[3], np.eye(6)[5], atol=1e-6)


def test_normalised_rows_are_divided_by_their_sums(x64):
    logits, mask = jax.random.normal(KEY, (6, 6)), jnp.asarray(MASKS[1])
    weights = OURS(logits, mask)
    expected = weights / weights.sum(axis=1, keepdims=True)
    found = OURS(logits, mask, True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # A column that is alone reads nothing, and its gradient is 0.
    alone = OURS(logits, jnp.asarray(MASKS[2]), True)
    np.testing.assert_array_equal(alone[0], 0)


def test_logits_match_content_and_direction(x64):
    """The sum of Eq. 5.6 and the directional encoding, number by number."""
    scores = models.GeometricScores(4, 2, bias=0.3, key=KEY)
    scores = eqx.tree_at(lambda s: s.beta, scores, jnp.asarray(0.7))
    columns = jax.random.normal(KEY, (2, 6, 4))
    queries, keys = jax.random.normal(jax.random.key(1), (2, 2, 2, 6, 2))
    mask = jnp.asarray(MASKS[:2])[:, None]
    found = np.asarray(eqx.filter_jit(scores)(columns, queries, keys, mask, key=None))
    columns, queries, keys = map(np.asarray, (columns, queries, keys))
    np.testing.assert_allclose(scores.alpha, 2**-0.5)
    weight, bias = np.asarray(scores.direction.weight), np.asarray(scores.direction.bias)
    for head in range(2):
        for item in range(2):
            logits = np.zeros((6, 6))
            for i in range(6):
                sides = columns[item, i] @ weight + bias
                for j in range(6):
                    side = sides[head] if j > i else sides[2 + head]
                    match = np.dot(queries[head, item, i], keys[head, item, j])
                    logits[i, j] = match * 2**-0.5 + 0.7 * side + 0.3
            expected = OURS(jnp.asarray(logits), mask[item, 0])
            np.testing.assert_allclose(found[head, item], expected, atol=1e-12)
