"""Product keys find the largest of all scores, and their dense sum of heads is one head."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import ProductKeyMemory, largest_sums, specs, sum_scores

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (2, 5, 6))
SIZES = specs.LayerSizes(6, 0, 1, 0.0, layers=2)
applied = eqx.filter_jit(lambda layer, key=None: layer(X, key=key))


@pytest.mark.parametrize(("keys", "count"), [(5, 1), (5, 3), (5, 7), (4, 16)])
def test_the_largest_sums_are_found_among_the_largest_halves(keys, count):
    halves = jax.random.normal(KEY, (2, 2000, keys))
    scores, places = jax.jit(largest_sums, static_argnums=2)(*halves, count)
    whole = sum_scores(*halves)
    best, best_places = jax.lax.top_k(whole, count)
    np.testing.assert_allclose(scores, best, rtol=1e-6)
    np.testing.assert_array_equal(places, best_places)


def test_scores_are_numbered_as_in_eq_7_8():
    scores = sum_scores(jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
    np.testing.assert_array_equal(scores, [11, 12, 21, 22])


@pytest.mark.parametrize("softmax", [False, True])
def test_heads_whose_scores_are_summed_are_one_head_with_summed_keys(softmax):
    keys = jax.random.normal(KEY, (4, 2, 3, 5))
    values = jax.random.normal(jax.random.key(1), (25, 6))
    many = ProductKeyMemory(keys, values, softmax)
    # Sums head by head, as published.
    halves = jnp.split(X.reshape(-1, 6), 2, axis=1)
    scores = sum(sum_scores(halves[0] @ own[0], halves[1] @ own[1]) for own in keys)
    activated = jax.nn.softmax(scores) if softmax else jax.nn.relu(scores)
    np.testing.assert_allclose(
        applied(many)[0].reshape(-1, 6), activated @ values, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("softmax", [False, True])
def test_one_head_that_keeps_all_scores_is_the_dense_mode(softmax):
    keys = jax.random.normal(KEY, (1, 2, 3, 4))
    values = jax.random.normal(jax.random.key(1), (16, 6))
    dense = applied(ProductKeyMemory(keys, values, softmax))[0]
    found = applied(ProductKeyMemory(keys, values, softmax, largest=16))[0]
    np.testing.assert_allclose(found, dense, rtol=1e-4, atol=1e-5)
    assert not np.allclose(applied(ProductKeyMemory(keys, values, softmax, largest=2))[0], dense)


def test_heads_that_keep_their_largest_scores_share_the_values():
    keys = jax.random.normal(KEY, (2, 2, 3, 4))
    values = jax.random.normal(jax.random.key(1), (16, 6))
    both = applied(ProductKeyMemory(keys, values, largest=3))[0]
    parts = [applied(ProductKeyMemory(keys[h : h + 1], values, largest=3))[0] for h in range(2)]
    np.testing.assert_allclose(both, sum(parts), rtol=1e-4, atol=1e-5)


def test_initialisations_differ_in_the_values():
    plain, scaled = (
        specs.ProductKeysSpec(keys=40, value_init=init).build(SIZES, KEY)
        for init in ("width", "values")
    )
    np.testing.assert_allclose(plain.values.std(), (2 / 12) ** 0.5, rtol=0.03)
    np.testing.assert_allclose(scaled.values.std(), (2 / 3200) ** 0.5, rtol=0.03)
    np.testing.assert_array_equal(plain.keys, scaled.keys)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="largest=17 is more than keys²=16"):
        specs.ProductKeysSpec(keys=4, largest=17)
    with pytest.raises(ValueError, match="halves of a column: width=5 is odd"):
        specs.ProductKeysSpec(keys=4).build(SIZES._replace(width=5), KEY)
