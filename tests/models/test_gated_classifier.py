import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import GatedClassifier, UnsharedClassifier

M, INPUTS, WIDTH, CLASSES = 3, 5, 4, 6


def with_biases(model, seed=0):
    """The model with random biases, which start at 0."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda x: jnp.asarray(np.asarray(x) + 0.3 * rng.normal(size=x.shape)), model
    )


def leaky(x):
    return x if x > 0 else 0.01 * x


def slow_module(layers, h, within):
    for n, (W, b) in enumerate(layers):
        if n:
            h = [within(v) for v in h]
        h = [
            sum(w * v for w, v in zip(row, h, strict=True)) + c for row, c in zip(W, b, strict=True)
        ]
    return h


def slow_route(model, x, i, j, *, placement, shared):
    """Logits of route (i, j) on one input, with lists and scalars."""
    within, between = (leaky, float) if placement == "within" else (float, leaky)

    def of(layers, index):
        """The layers of one domain, or those that all share."""
        both = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in layers]
        return both if index is None else [(W[index], b[index]) for W, b in both]

    h = slow_module(of(model.encoders, i), x, within)
    h = slow_module(of(model.hidden, None if shared else i), [between(v) for v in h], within)
    return slow_module(of(model.decoders, j), [between(v) for v in h], within)


@pytest.mark.parametrize("kind", [GatedClassifier, UnsharedClassifier])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("placement", ["within", "between"])
@pytest.mark.usefixtures("x64")
def test_all_routes_at_once_agree_with_a_plain_loop(kind, layers, placement):
    model = with_biases(
        kind(
            M,
            INPUTS,
            WIDTH,
            CLASSES,
            layers_per_module=layers,
            activation=jax.nn.leaky_relu,
            placement=placement,
            key=jax.random.key(1),
        )
    )
    inputs = np.random.default_rng(2).normal(size=(4, M, INPUTS))
    logits = np.asarray(eqx.filter_jit(model)(inputs))
    assert logits.shape == (4, M, M, CLASSES)
    for b, i, j in itertools.product(range(4), range(M), range(M)):
        shared = kind is GatedClassifier
        expected = slow_route(model, inputs[b, i], i, j, placement=placement, shared=shared)
        assert np.allclose(logits[b, i, j], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("x64")
def test_a_network_of_identities_is_a_product_of_matrices():
    model = GatedClassifier(
        M,
        INPUTS,
        WIDTH,
        CLASSES,
        layers_per_module=2,
        activation=jax.nn.identity,
        key=jax.random.key(1),
    )
    x = np.random.default_rng(2).normal(size=(1, M, INPUTS))
    E, D = (
        [np.asarray(layer.weight) for layer in part] for part in (model.encoders, model.decoders)
    )
    H = [np.asarray(layer.weight) for layer in model.hidden]
    expected = D[1][2] @ D[0][2] @ H[1] @ H[0] @ E[1][0] @ E[0][0] @ x[0, 0]
    assert np.allclose(eqx.filter_jit(model)(x)[0, 0, 2], expected, rtol=1e-12, atol=1e-14)


def test_a_nonlinearity_within_one_layer_modules_does_nothing():
    args = (M, INPUTS, WIDTH, CLASSES)
    x = jax.random.normal(jax.random.key(0), (4, M, INPUTS))
    linear = GatedClassifier(*args, key=jax.random.key(1))
    within = GatedClassifier(*args, activation=jax.nn.leaky_relu, key=jax.random.key(1))
    between = GatedClassifier(
        *args, activation=jax.nn.leaky_relu, placement="between", key=jax.random.key(1)
    )
    logits = eqx.filter_jit(linear)(x)
    assert np.array_equal(logits, eqx.filter_jit(within)(x))
    assert not np.allclose(logits, eqx.filter_jit(between)(x))


def parameters(kind, *sizes, **options) -> int:
    model = eqx.filter_eval_shape(kind, *sizes, key=jax.random.key(0), **options)
    return sum(leaf.size for leaf in jax.tree.leaves(model) if hasattr(leaf, "size"))


def test_parameters_are_counted_right_with_one_and_two_layers():
    one = parameters(GatedClassifier, 10, 64, 32, 7)
    assert one == 10 * (64 * 32 + 32) + (32 * 32 + 32) + 10 * (32 * 7 + 7)
    square = 32 * 32 + 32
    two = parameters(GatedClassifier, 10, 64, 32, 7, layers_per_module=2)
    assert two == one + 10 * square + square + 10 * square
    assert parameters(UnsharedClassifier, 10, 64, 32, 7) == one + 9 * square


def bounds_reached(layer, bound):
    """The weights fill [-bound, bound]."""
    largest = float(jnp.abs(layer.weight).max())
    return 0.97 * bound < largest <= bound * (1 + 1e-6)


@pytest.mark.parametrize("gain", [0.1, 3.0])
def test_initial_weights_are_xavier_uniform_times_gain_and_biases_zero(gain):
    model = GatedClassifier(10, 64, 32, 10, gain=gain, key=jax.random.key(0))
    for (layer,), fans in (
        (model.encoders, 64 + 32),
        (model.hidden, 32 + 32),
        (model.decoders, 32 + 10),
    ):
        bound = gain * (6 / fans) ** 0.5
        assert bounds_reached(layer, bound)
        assert abs(float(layer.weight.std()) - bound / 3**0.5) < 0.05 * bound
        assert not layer.bias.any()


def test_the_stacked_fan_shrinks_the_decoders_only():
    one = GatedClassifier(100, 20, 128, 10, stacked_decoder_fan=True, key=jax.random.key(0))
    bound = (6 / (10 * (128 + 100))) ** 0.5
    assert bounds_reached(one.decoders[0], bound)
    assert 4 < (6 / (128 + 10)) ** 0.5 / bound < 4.1
    plain = GatedClassifier(100, 20, 128, 10, key=jax.random.key(0))
    assert np.array_equal(one.encoders[0].weight, plain.encoders[0].weight)
    assert np.array_equal(one.hidden[0].weight, plain.hidden[0].weight)


def test_modules_of_different_domains_start_different():
    model = GatedClassifier(M, INPUTS, WIDTH, CLASSES, layers_per_module=2, key=jax.random.key(0))
    for layer in (*model.encoders, *model.decoders):
        assert len(np.unique(np.asarray(layer.weight), axis=0)) == M
    assert not np.array_equal(model.hidden[0].weight, model.hidden[1].weight)


def test_the_code_of_an_input_domain_does_not_depend_on_the_other_domains():
    model = GatedClassifier(M, INPUTS, WIDTH, CLASSES, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (2, M, INPUTS))
    changed = x.at[:, 1].add(1.0)
    call = eqx.filter_jit(model)
    before, after = np.asarray(call(x)), np.asarray(call(changed))
    assert np.array_equal(before[:, [0, 2]], after[:, [0, 2]])
    assert not np.allclose(before[:, 1], after[:, 1])


def test_an_unknown_placement_is_refused():
    with pytest.raises((ValueError, TypeError), match="around"):
        GatedClassifier(2, 3, 4, 5, placement="around", key=jax.random.key(0))
