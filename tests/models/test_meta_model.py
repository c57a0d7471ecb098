from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import LinearGenerator, NonlinearGenerator

KEY = jax.random.key(0)
X = jnp.asarray(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
MLP = eqx.filter_jit(models.MLP)


def linear(sizes, embedding):
    return lambda key: models.mlp_hypernetwork(sizes, embedding, LinearGenerator.create, key=key)


def nonlinear(sizes, embedding):
    return lambda key: models.mlp_hypernetwork(sizes, embedding, NonlinearGenerator.create, key=key)


def anil(sizes):
    return lambda key: models.ANIL(MLP(sizes, key=key))


def maml(sizes):
    return lambda key: models.MAML(MLP(sizes, key=key))


# Inputs and outputs: 16, 8 (hyperteacher), 490, 5 (preferences), 847, 6 (goals).
COUNTS = {
    "linear, hyperteacher": (linear((16, 128, 128, 128, 8), 64), 1_262_336, 264),
    "linear, preferences": (linear((490, 64, 64, 64, 5), 32), 1_149_216, 133),
    "linear, goals": (linear((847, 32, 32, 6), 8), 227_144, 30),
    "nonlinear, hyperteacher": (nonlinear((16, 128, 128, 128, 8), 64), 648_192, 256),
    "nonlinear, preferences": (nonlinear((490, 64, 64, 5), 32), 1_162_816, 96),
    "nonlinear, goals": (nonlinear((847, 32, 32, 6), 8), 919_688, 24),
    "ANIL, hyperteacher": (anil((16, 512, 512, 512, 8)), 538_120, 4_104),
    "ANIL, preferences": (anil((490, 512, 512, 512, 512, 5)), 1_041_925, 2_565),
    "ANIL, goals": (anil((847, 512, 512, 6)), 699_910, 3_078),
    "MAML, hyperteacher": (maml((16, 384, 384, 384, 8)), 305_288, 305_288),
    "MAML, preferences": (maml((490, 368, 368, 368, 5)), 454_117, 454_117),
    "MAML, goals": (maml((847, 384, 384, 6)), 475_782, 475_782),
}


@pytest.mark.parametrize("name", COUNTS)
def test_models_have_as_many_parameters_as_those_of_the_published_code(name):
    make, slow, fast = COUNTS[name]

    def parts(key):
        model = make(key)
        return model.partition()[0], model.initial()

    shapes = eqx.filter_eval_shape(parts, KEY)
    sizes = [sum(leaf.size for leaf in jax.tree.leaves(part)) for part in shapes]
    assert sizes == [slow, fast]


def test_parameters_are_floating_point_numbers_only():
    tree = {"a": jnp.zeros((2, 3)), "b": jnp.arange(7), "c": 1.0, "d": None, "e": jnp.ones(())}
    assert models.count_parameters(tree) == 7


@pytest.mark.parametrize("make", [maml, anil])
def test_before_adaptation_a_monolithic_model_is_its_network(make):
    sizes = (3, 5, 4, 2)
    model, network = make(sizes)(KEY), MLP(sizes, key=KEY)
    np.testing.assert_allclose(model(X, model.initial()), network(X), rtol=1e-5)


def test_adaptation_of_maml_may_change_any_parameter():
    network = MLP((3, 4, 2), key=KEY)
    model = models.MAML(network)
    fast = model.initial()
    assert models.count_parameters(fast) == models.count_parameters(network) == 16 + 10
    changed = jax.tree.map(lambda a: a + 1.0, fast)
    expected = jax.tree.map(lambda a: a + 1.0, network)
    np.testing.assert_array_equal(model(X, changed), expected(X))


def test_anil_adapts_its_readout_alone():
    network = MLP((3, 4, 5, 2), key=KEY)
    model = models.ANIL(network)
    fast = model.initial()
    assert models.count_parameters(fast) == 5 * 2 + 2
    h = np.maximum(X @ network.layers[0].weight, 0)
    h = np.maximum(h @ network.layers[1].weight, 0)
    np.testing.assert_allclose(model.features(X), h, rtol=1e-5)
    readout = models.Dense(jnp.ones((5, 2)), jnp.ones(2), False)
    np.testing.assert_allclose(model(X, readout), h @ np.ones((5, 2)) + 1, rtol=1e-5)


class OwnNetwork(eqx.Module):
    """What a user may bring: a list, an activation as a leaf, whole numbers as an array."""

    layers: list[eqx.nn.Linear]
    activation: Callable
    order: jax.Array

    def __init__(self, *, key):
        keys = jax.random.split(key)
        self.layers = [eqx.nn.Linear(3, 4, key=keys[0]), eqx.nn.Linear(4, 2, key=keys[1])]
        self.activation, self.order = jnp.tanh, jnp.array([2, 0, 1])

    def __call__(self, x):
        h = self.activation(jax.vmap(self.layers[0])(x[:, self.order]))
        return jax.vmap(self.layers[1])(h)


def test_maml_takes_any_network_and_stays_a_tree_of_arrays():
    network = OwnNetwork(key=KEY)
    model = models.MAML(network)
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(model))
    hash(model.skeleton)
    fast = model.initial()
    assert models.count_parameters(fast) == (3 * 4 + 4) + (4 * 2 + 2)
    assert all(eqx.is_inexact_array(leaf) for leaf in jax.tree.leaves(fast))
    np.testing.assert_array_equal(model(X, fast), network(X))


def test_slow_parameters_leave_out_what_is_fixed_and_join_the_rest():
    model = eqx.filter_jit(models.mlp_hypernetwork)((3, 4, 2), 5, key=KEY)
    slow, other = model.partition()
    assert models.count_parameters(model) == models.count_parameters(slow) + 2
    assert models.count_parameters(other) == 2
    assert slow.rest is None
    assert eqx.tree_equal(eqx.combine(slow, other), model)


def test_anil_refuses_a_network_without_body_or_with_offset():
    with pytest.raises(ValueError, match="needs a network with a hidden layer"):
        models.ANIL(models.MLP((3, 2), key=KEY))
    with pytest.raises(ValueError, match="needs a network without offset"):
        models.ANIL(models.MLP((3, 4, 2), offset=True, key=KEY))
