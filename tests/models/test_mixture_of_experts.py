"""Mixtures of experts: with all experts they are dense, and they start as they should."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs
from recombine.models._mixture_of_experts import MixtureOfExperts

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (2, 9, 6))
SIZES = specs.LayerSizes(6, 20, 1, 0.1, layers=3)
applied = eqx.filter_jit(lambda layer, key=None: layer(X, key=key))


class Ones(models.AbstractSelection):
    """Every chosen expert counts fully."""

    def scores(self, logits, x, *, key=None):
        return logits

    def weights(self, logits, scores, chosen):
        return jnp.ones(chosen.shape)


def dense_of(mixture):
    """The dense block with the hidden units of all experts."""
    inner = jnp.concatenate(list(mixture.inner), axis=1)
    outer = mixture.outer.reshape(-1, mixture.outer.shape[2])
    return models.DenseFeedForward(
        models.Dense(inner, None), models.Dense(outer, None), jax.nn.relu
    )


def test_with_all_experts_at_weight_one_it_is_the_dense_block_with_its_derivatives():
    mixture = specs.MixtureSpec(experts=5, size=4, chosen=5).build(SIZES, KEY)
    mixture = eqx.tree_at(lambda m: m.selection, mixture, Ones())
    dense = dense_of(mixture)
    np.testing.assert_allclose(applied(mixture)[0], applied(dense)[0], rtol=1e-5, atol=1e-6)
    slopes = eqx.filter_jit(jax.grad(lambda m, x: (m(x)[0] ** 2).sum(), argnums=(0, 1)))
    ours, plain = slopes(mixture, X), slopes(dense, X)
    np.testing.assert_allclose(ours[1], plain[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        jnp.concatenate(list(ours[0].inner), axis=1), plain[0].inner.weight, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        ours[0].outer.reshape(20, 6), plain[0].outer.weight, rtol=1e-4, atol=1e-5
    )


def test_more_chosen_experts_than_there_are_get_one_clear_line():
    with pytest.raises(ValueError, match="chosen=5 is more than there are experts; experts=4"):
        specs.MixtureSpec(experts=4, chosen=5)
    made = specs.MixtureSpec(experts=4, size=2, chosen=4).build(SIZES, KEY)
    with pytest.raises(ValueError, match="chosen=5 is not between 1 and experts=4"):
        MixtureOfExperts(made.router, made.inner, made.outer, made.selection, None, 5)


def test_extras_are_what_was_chosen_and_the_term_of_balance():
    _, extras = applied(specs.MixtureSpec(experts=5, size=4, chosen=2).build(SIZES, KEY), key=KEY)
    assert extras["chosen"].shape == extras["weights"].shape == (2, 9, 2)
    assert extras["balance"].shape == ()
    assert "balance" not in applied(specs.MixtureSpec(size=4, balance=None).build(SIZES, KEY))[1]


def test_the_router_of_sigma_moe_starts_with_rows_of_one_length():
    router = specs.MixtureSpec(experts=32, size=2).build(SIZES, KEY).router.weight
    lengths = np.linalg.norm(router, axis=0)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-5)
    np.testing.assert_allclose(router.std(), (2 / (3 * 6)) ** 0.5, rtol=1e-4)


def test_outgoing_weights_start_by_all_hidden_units_those_of_the_standard_by_one_experts():
    def deviation(init):
        spec = specs.MixtureSpec(experts=16, size=32, init=init)
        made = spec.build(SIZES._replace(width=40), KEY)
        return float(made.inner.std()), float(made.outer.std())

    sigma, standard, switch = map(deviation, ("sigma", "standard", "switch"))
    np.testing.assert_allclose(sigma, ((2 / 120) ** 0.5, (2 / (3 * 512)) ** 0.5), rtol=0.02)
    np.testing.assert_allclose(standard[1] / sigma[1], 4, rtol=1e-4)
    np.testing.assert_allclose(np.array(switch) / standard, 0.1**0.5, rtol=1e-4)


def test_the_largest_units_of_chosen_experts_are_all_units_if_as_many_are_kept():
    whole = specs.MixtureSpec(experts=5, size=4, chosen=2).build(SIZES, KEY)
    same, few = (dataclasses.replace(whole, units=units) for units in (8, 1))
    np.testing.assert_allclose(applied(same)[0], applied(whole)[0], rtol=1e-4, atol=1e-6)
    assert not np.allclose(applied(few)[0], applied(whole)[0])


def test_dropout_of_hidden_units_is_for_training():
    mixture = specs.MixtureSpec(experts=5, size=4, chosen=2, dropout=None).build(SIZES, KEY)
    assert mixture.dropout == SIZES.dropout
    np.testing.assert_array_equal(applied(mixture)[0], applied(mixture)[0])
    assert not np.array_equal(applied(mixture, key=KEY)[0], applied(mixture)[0])
