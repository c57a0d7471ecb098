"""Terms of balance take their known values at balance and at collapse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import EntropyBalance, ImportanceBalance, SwitchBalance

EXPERTS = 8
UNIFORM = jnp.zeros((EXPERTS * 4, EXPERTS))
ALIKE = jnp.tile(jnp.arange(EXPERTS)[:, None], (4, 1))
COLLAPSED = UNIFORM.at[:, 2].set(50.0)
ONE = jnp.full_like(ALIKE, 2)
WEIGHTS = jnp.ones(ALIKE.shape)


def test_entropy_is_least_where_all_experts_are_alike():
    term = EntropyBalance()
    np.testing.assert_allclose(term(UNIFORM, ALIKE, WEIGHTS), -np.log(EXPERTS), rtol=1e-6)
    np.testing.assert_allclose(term(COLLAPSED, ONE, WEIGHTS), 0, atol=1e-5)
    # Sure of one expert per token, but of each as often: the mean counts.
    sure = 50 * jax.nn.one_hot(ALIKE[:, 0], EXPERTS)
    np.testing.assert_allclose(term(sure, ALIKE, WEIGHTS), -np.log(EXPERTS), rtol=1e-5)


def test_entropy_over_chosen_logits_does_not_see_which_experts_they_are():
    z = jax.random.normal(jax.random.key(0), (20, EXPERTS))
    chosen = jax.lax.top_k(z, 4)[1]
    moved, order = jnp.roll(z, 3, axis=1), (chosen + 3) % EXPERTS
    ranks = EntropyBalance(over_chosen=True)
    np.testing.assert_allclose(
        ranks(z, chosen, WEIGHTS[:20]), ranks(moved, order, WEIGHTS[:20]), rtol=1e-6
    )
    # Tokens that all choose the same experts, or other ones each, are the same to it.
    same = z.at[:, :4].add(50)
    other = jax.vmap(jnp.roll)(same, jnp.arange(20))
    values = [ranks(s, jax.lax.top_k(s, 4)[1], WEIGHTS[:20]) for s in (same, other)]
    np.testing.assert_allclose(*values, rtol=1e-5)
    assert EntropyBalance()(same, chosen, WEIGHTS) > EntropyBalance()(other, chosen, WEIGHTS) + 0.3


def test_switch_is_one_at_balance_and_the_number_of_experts_at_collapse():
    term = SwitchBalance()
    np.testing.assert_allclose(term(UNIFORM, ALIKE, WEIGHTS), 1, rtol=1e-5)
    np.testing.assert_allclose(term(COLLAPSED, ONE, WEIGHTS), EXPERTS, rtol=1e-5)


def test_the_released_switch_term_is_weaker_by_the_square_of_the_number_of_experts():
    z = jax.random.normal(jax.random.key(0), (32, EXPERTS))
    chosen = z.argmax(1)[:, None]
    ratio = SwitchBalance()(z, chosen, WEIGHTS) / SwitchBalance(True)(z, chosen, WEIGHTS)
    np.testing.assert_allclose(ratio, EXPERTS**2, rtol=1e-5)


@pytest.mark.parametrize("squared", [False, True])
def test_the_variation_of_importance_is_zero_at_balance_and_has_a_derivative_there(squared):
    term = ImportanceBalance(squared)
    value, slope = jax.value_and_grad(lambda w: term(UNIFORM, ALIKE, w))(WEIGHTS)
    assert value == 0
    assert np.all(np.isfinite(slope))
    # All on one of N experts: variance (N − 1) times the squared mean.
    expected = EXPERTS - 1 if squared else np.sqrt(EXPERTS - 1)
    np.testing.assert_allclose(term(UNIFORM, ONE, WEIGHTS), expected, rtol=1e-5)
