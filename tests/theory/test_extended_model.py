"""Exact inverses around a model change nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models, theory

MIXING = np.array([[1.0, 0.5, 0, 0], [0, 1, -0.3, 0], [0.2, 0, 1, 0], [0, 0, 0.4, 1]], np.float32)


def split_input(x):
    """Undo the mixing, then the cubic bend of the second component."""
    parts = x @ np.linalg.inv(MIXING)
    return parts[:, :2], parts[:, 2:] - parts[:, :2] ** 3


def merge_input(first, second):
    return jnp.concatenate([first, second + first**3], axis=1) @ MIXING


def split_output(y):
    return jnp.sinh(y[:, :1] - y[:, 1:]), y[:, 1:]


def merge_output(first, second):
    return jnp.concatenate([jnp.arcsinh(first) + second, second], axis=1)


@pytest.mark.parametrize("outputs", [(), (split_output, merge_output)])
def test_outputs_and_gradients_are_those_of_the_model(outputs):
    network = models.MLP((4, 6, 2), key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (9, 4)) / 2
    extended = theory.ExtendedModel(network, split_input, merge_input, *outputs)

    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def loss(model):
        y = model(x)
        return jnp.square(y - 1).mean(), y

    (_, plain), gradient = loss(network)
    (_, wrapped), extended_gradient = loss(extended)
    assert np.allclose(plain, wrapped, atol=1e-6)
    pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(extended_gradient), strict=True)
    for one, other in pairs:
        assert np.allclose(one, other, atol=1e-6)
        assert np.abs(one).max() > 1e-3


def test_components_are_those_of_the_oracles():
    network = models.MLP((4, 6, 2), key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (9, 4)) / 2
    extended = theory.ExtendedModel(network, split_input, merge_input, split_output, merge_output)
    found = extended.of_components(*split_input(x))
    for one, other in zip(found, split_output(network(x)), strict=True):
        assert np.allclose(one, other, atol=1e-6)


def test_outputs_that_are_split_must_be_merged():
    with pytest.raises(ValueError, match="give both maps, or none"):
        theory.ExtendedModel(jnp.tanh, split_input, merge_input, split_output)
