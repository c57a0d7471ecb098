"""Of hidden units the largest count."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import keep_largest, specs

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (2, 5, 6))
SIZES = specs.LayerSizes(6, 20, 1, 0.0, layers=2)
applied = eqx.filter_jit(lambda layer, key=None: layer(X, key=key))


def test_at_most_k_units_are_left_and_none_that_is_left_out_is_larger():
    units = jax.nn.relu(jax.random.normal(KEY, (50, 20)))
    kept = np.asarray(keep_largest(units, 3))
    assert ((kept != 0).sum(axis=1) <= 3).all()
    np.testing.assert_array_equal(np.sort(kept, axis=1)[:, -3:], np.sort(units, axis=1)[:, -3:])


def test_ties_leave_no_more_than_k():
    assert (keep_largest(jnp.ones((4, 9)), 5) != 0).sum() == 20


def test_with_all_units_it_is_the_dense_network():
    dense = specs.DepthScaledFeedForwardSpec().build(SIZES, KEY)
    whole = specs.TopKSpec(largest=20).build(SIZES, KEY)
    few = specs.TopKSpec(largest=2).build(SIZES, KEY)
    np.testing.assert_allclose(applied(whole)[0], applied(dense)[0], rtol=1e-6)
    assert applied(few)[1]["active"].max() == 2
    assert applied(dense)[1]["active"].shape == (2, 5)


def test_units_can_be_ranked_by_what_they_may_write():
    values = jnp.array([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(keep_largest(values, 1), [[0, 0, 3]])
    np.testing.assert_array_equal(
        keep_largest(values, 1, values * jnp.array([9, 1, 1])), [[1, 0, 0]]
    )
    by_value, by_contribution = (
        applied(specs.TopKSpec(largest=4, rank=rank).build(SIZES, KEY))[0]
        for rank in ("value", "contribution")
    )
    assert not np.allclose(by_value, by_contribution)


def test_the_derivative_reaches_the_units_that_count():
    gradient = jax.grad(lambda u: keep_largest(u, 1).sum())(jnp.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(gradient, [[0, 1]])


def test_more_than_there_are_units_is_refused():
    with pytest.raises(ValueError, match="largest=21 is not between 1 and hidden=20"):
        specs.TopKSpec(largest=21).build(SIZES, KEY)
