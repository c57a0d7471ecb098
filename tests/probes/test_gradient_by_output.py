"""Terms of a gradient by component of the output."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, probes


def test_terms_of_outputs_sum_to_the_gradient(x64):
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(rng.normal(size=(7, n))) for n in (3, 2))

    def loss(outputs):
        return jnp.square(jnp.tanh(outputs) - y).mean() + jnp.prod(outputs, axis=1).mean()

    @jax.jit
    def both(key):
        network = models.MLP((3, 5, 2), key=key)
        kept = network(x)[:, 1]

        def through_the_first(network):
            return loss(jnp.stack([network(x)[:, 0], kept], axis=1))

        slow = jax.grad(through_the_first)(network)
        return probes.gradient_by_output(network, loss, x), slow

    found, slow = both(jax.random.key(0))
    assert found.terms.shape == (2, 3 * 5 + 5 + 5 * 2 + 2)
    assert np.allclose(found.terms.sum(axis=0), found.gradient, atol=1e-12)
    flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(slow)])
    assert np.allclose(found.terms[0], flat, atol=1e-12)
    cosine = np.dot(*found.terms) / np.prod(np.linalg.norm(found.terms, axis=1))
    assert np.allclose(found.cosines, [[1, cosine], [cosine, 1]], atol=1e-12)


def test_opposite_outputs_cancel_and_their_cosine_says_so():
    x = jnp.ones((3, 1))
    weights = eqx.nn.Linear(1, 1, use_bias=False, key=jax.random.key(0))

    class Opposed(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x):
            y = jax.vmap(self.layer)(x)
            return jnp.concatenate([y, -y], axis=1)

    found = eqx.filter_jit(probes.gradient_by_output)(Opposed(weights), jnp.sum, x)
    assert found.gradient == 0
    assert found.cosines[0, 1] == pytest.approx(-1)
