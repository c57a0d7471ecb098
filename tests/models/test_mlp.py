import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models

KEY = jax.random.key(0)
MAKE = eqx.filter_jit(models.MLP)


def slow_outputs(network, x):
    """Neuron by neuron."""
    activity = list(map(float, x))
    for depth, layer in enumerate(network.layers):
        W = np.asarray(layer.weight)
        scale = 1 / np.sqrt(len(W)) if layer.scaled else 1.0
        bias = np.zeros(W.shape[1]) if layer.bias is None else np.asarray(layer.bias)
        pre = [
            scale * sum(activity[i] * W[i, j] for i in range(len(W))) + bias[j]
            for j in range(W.shape[1])
        ]
        last = depth == len(network.layers) - 1
        activity = pre if last else [max(0.0, p) for p in pre]
    return np.array(activity) + (0 if network.offset is None else np.asarray(network.offset))


def random_network(*sizes, seed=1, **options):
    """With random numbers for all parameters, so that no bias is 0."""
    shapes = eqx.filter_eval_shape(models.MLP, sizes, key=KEY, **options)
    draw = np.random.default_rng(seed).normal
    return jax.tree.map(lambda leaf: jnp.asarray(draw(size=leaf.shape)), shapes)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("biases", [True, False])
def test_outputs_agree_with_a_slow_implementation(scaled, biases, x64):
    network = random_network(3, 5, 4, 2, scaled=scaled, biases=biases, offset=biases)
    x = np.random.default_rng(0).normal(size=(4, 3))
    expected = np.stack([slow_outputs(network, row) for row in x])
    np.testing.assert_allclose(eqx.filter_jit(network)(jnp.asarray(x)), expected, rtol=1e-12)


def test_a_layer_scales_weights_but_not_its_bias():
    layer = models.Dense(jnp.ones((4, 1)), jnp.ones(1), scaled=True)
    assert layer(jnp.ones((1, 4))) == 4 / 2 + 1


@pytest.mark.parametrize(("scaled", "nominal"), [(True, (1, 1)), (False, (400**-0.5, 100**-0.5))])
def test_weights_start_with_the_variance_of_their_scaling_and_biases_with_0(scaled, nominal):
    network = MAKE((400, 100, 400), scaled=scaled, offset=True, key=KEY)
    for layer, std in zip(network.layers, nominal, strict=True):
        assert np.std(layer.weight) == pytest.approx(0.8796 * std, rel=0.02)
        assert np.abs(layer.weight).max() <= 2 * std
        assert not np.any(layer.bias)
    assert not np.any(network.offset)


def test_either_scaling_starts_from_the_same_function():
    x = jax.random.normal(KEY, (5, 6))
    one, other = (MAKE((6, 7, 3), scaled=scaled, key=KEY)(x) for scaled in (True, False))
    np.testing.assert_allclose(one, other, rtol=1e-5)


def test_uniform_weights_and_biases_fill_the_range_of_their_fan_in():
    network = MAKE((400, 100, 300), uniform=True, key=KEY)
    for layer, fan_in in zip(network.layers, (400, 100), strict=True):
        for part in (layer.weight, layer.bias):
            assert 0.95 * fan_in**-0.5 < np.abs(part).max() <= fan_in**-0.5 * (1 + 1e-6)
        assert np.std(layer.weight) == pytest.approx((3 * fan_in) ** -0.5, rel=0.02)
        assert not layer.scaled


def test_uniform_layers_may_go_without_biases_and_are_not_scaled_twice():
    shapes = eqx.filter_eval_shape(models.MLP, (3, 4, 2), uniform=True, biases=False, key=KEY)
    assert models.count_parameters(shapes) == 3 * 4 + 4 * 2
    with pytest.raises(ValueError, match="drop `scaled`"):
        models.MLP((3, 2), uniform=True, scaled=True, key=KEY)


def test_parameters_are_counted_from_arrays_and_from_shapes():
    network = random_network(3, 5, 2)
    assert models.count_parameters(network) == 3 * 5 + 5 + 5 * 2 + 2
    tree = (network, jnp.arange(3), jax.ShapeDtypeStruct((4, 5), jnp.float32), "name")
    assert models.count_parameters(tree) == 32 + 20


@pytest.mark.parametrize("sizes", [(), (3,), (3, 0, 2)])
def test_sizes_without_inputs_outputs_or_units_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes must name inputs and outputs, all at least 1"):
        models.MLP(sizes, key=KEY)


def test_layers_may_start_within_bounds_and_outputs_pass_through_a_function():
    network = models.MLP((2, 500, 1), layer=models.Dense.bounded, output=jnp.tanh, key=KEY)
    weights = np.concatenate([np.ravel(layer.weight) for layer in network.layers])
    assert np.abs(weights).max() <= 0.5
    np.testing.assert_allclose([weights.mean(), weights.std()], [0, 0.5 / 3**0.5], atol=0.03)
    assert all((layer.bias == np.float32(0.1)).all() for layer in network.layers)
    x = jnp.eye(2)
    plain = eqx.tree_at(lambda n: n.layers, models.MLP((2, 500, 1), key=KEY), network.layers)
    np.testing.assert_allclose(network(x), np.tanh(plain(x)), rtol=1e-6)


def test_a_maker_of_layers_leaves_no_choice_of_their_start():
    with pytest.raises(ValueError, match="`layer` makes layers as it sees fit"):
        models.MLP((2, 1), layer=models.Dense.bounded, scaled=True, key=KEY)
    network = models.MLP((2, 3, 1), output=jnp.tanh, key=KEY)
    with pytest.raises(ValueError, match="outputs are those of its last layer"):
        models.ANIL(network)
