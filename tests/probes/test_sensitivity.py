"""How strongly outputs move with parts of an input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, probes

HALVES = jnp.arange(6).reshape(2, 3) % 3 < jnp.array([[[1]], [[2]]])
"""The first column of an input of 2 x 3, and the first two."""


def sensitivity(model, x, parts):
    return jax.jit(lambda x: probes.input_sensitivity(model, x, parts))(x)


def smooth(x):
    flat = x.reshape(len(x), -1)
    return jnp.sin(flat @ jnp.linspace(-1, 1, 6 * 4).reshape(6, 4)).reshape(len(x), 2, 2)


def test_the_sensitivity_is_the_mean_norm_of_blocks_of_the_jacobian(x64):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(7, 2, 3)))
    jacobian_of = jax.jit(jax.jacobian(lambda x: smooth(x[None])[0]))
    norms = []
    for sample in x:
        jacobian = np.reshape(jacobian_of(sample), (4, 6))
        norms.append([np.linalg.norm(jacobian[:, np.ravel(part)]) for part in HALVES])
    found = sensitivity(smooth, x, HALVES)
    assert np.allclose(found, np.mean(norms, axis=0), rtol=1e-12)


def test_derivatives_agree_with_finite_differences(x64):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 2)))
    step = 1e-6
    slopes = [
        (jnp.tanh(x @ jnp.array([0.7, -2.0]) + step * w) - jnp.tanh(x @ jnp.array([0.7, -2.0])))
        / step
        for w in (0.7, -2.0)
    ]
    found = sensitivity(lambda x: jnp.tanh(x @ jnp.array([0.7, -2.0])), x, jnp.eye(2, dtype=int))
    assert np.allclose(found, [jnp.abs(s).mean() for s in slopes], rtol=1e-5)


def test_a_model_blind_to_a_part_has_a_sensitivity_of_exactly_zero():
    parts = np.arange(4) // 2 == np.arange(2)[:, None]

    @jax.jit
    def of_blind(key, x):
        network = models.MLP((4, 8, 3), key=key)
        blind = eqx.tree_at(
            lambda n: n.layers[0].weight, network, replace_fn=lambda w: w.at[2:].set(0)
        )
        return probes.input_sensitivity(blind, x, jnp.asarray(parts))

    x = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    seen, unseen = of_blind(jax.random.key(0), x)
    assert unseen == 0
    assert seen > 0


def test_a_linear_map_has_the_norms_of_its_rows():
    W = jnp.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    found = sensitivity(lambda x: x @ W, jnp.ones((5, 3)), jnp.eye(3, dtype=bool))
    assert found == pytest.approx([5, 0, 2])
