"""Correct scores balance experts, those of the published code do not where logits are sharp."""

import jax
import jax.numpy as jnp
import numpy as np

from recombine.models import sinkhorn


def loads(scores, chosen=4):
    """The share of every expert among top-k choices, 1 on average."""
    counts = np.bincount(np.asarray(jax.lax.top_k(scores, chosen)[1]).ravel(), minlength=16)
    return counts / counts.mean()


def test_after_many_rounds_rows_and_columns_have_equal_sums():
    scores = np.exp(sinkhorn(jax.random.normal(jax.random.key(0), (12, 4)), iterations=200))
    np.testing.assert_allclose(scores.sum(0), scores.sum() / 4, rtol=1e-4)
    np.testing.assert_allclose(scores.sum(1), scores.sum() / 12, rtol=1e-4)


def test_sharp_logits_are_balanced_by_the_correct_form_only():
    of_noise, of_experts = jax.random.split(jax.random.key(0))
    z = 2 * jax.random.normal(of_noise, (4096, 16)) + jax.random.normal(of_experts, (16,))
    raw, correct, released = map(loads, (z, sinkhorn(z), sinkhorn(z, released=True)))
    assert correct.min() > 0.9
    assert correct.max() < 1.1
    assert released.max() > 1.2
    assert released.min() < 0.5
    assert raw.max() > released.max()


def test_balanced_logits_stay_as_they_are():
    z = jnp.log(jnp.ones((6, 3)))
    np.testing.assert_allclose(sinkhorn(z), sinkhorn(z)[0, 0], rtol=1e-6)
