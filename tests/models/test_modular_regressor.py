"""Modules of one number each: outputs, variance, directions, what learns."""

import functools
import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import MLP, ModularRegressor, count_parameters
from recombine.models._modular_regressor import module_inputs

KEY = jax.random.key(0)
CALL = eqx.filter_jit(lambda network, x: network(x))


def make(K, m, **options):
    """A network with random numbers, of NumPy: nothing is compiled for them."""
    shapes = eqx.filter_eval_shape(ModularRegressor.random, K, m, key=KEY, **options)
    draw = np.random.default_rng(1).normal
    return jax.tree.map(lambda leaf: jnp.asarray(draw(size=leaf.shape), leaf.dtype), shapes)


def inputs(size, m):
    return jnp.asarray(np.random.default_rng(0).normal(size=(size, m)))


def slow_output(network, x):
    """Eq. 3, module by module and unit by unit."""
    total = 0.0
    for j, u in enumerate(np.asarray(network.u)):
        if network.projection == "linear":
            h = [sum(a * b for a, b in zip(u, x, strict=True))]
        else:
            h = [sum((a - b) ** 2 for a, b in zip(u, x, strict=True)) ** 0.5]
        for layer, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
            if layer:
                h = [max(v, 0.0) for v in h]
            h = [
                sum(h[i] * float(W[j, i, o]) for i in range(len(h))) + float(b[j, o])
                for o in range(W.shape[2])
            ]
        total += h[0]
    return total / len(network.u) ** 0.5


@pytest.mark.parametrize("projection", ["linear", "distance"])
@pytest.mark.parametrize("layers", [1, 3])
def test_outputs_agree_with_a_loop_over_modules_and_units(projection, layers, x64):
    network = make(3, 2, width=4, layers=layers, projection=projection)
    x = inputs(5, 2)
    expected = [slow_output(network, row) for row in np.asarray(x)]
    y = CALL(network, x)
    assert y.shape == (5, 1)
    assert np.allclose(y[:, 0], expected, atol=1e-12)


def test_distances_have_the_values_computed_by_hand():
    # One module f(s) = 2 relu(s - 4) + 0.5 at u = (1, 1): at (4, 5) s = 5.
    network = ModularRegressor(
        jnp.array([[1.0, 1.0]]),
        (jnp.ones((1, 1, 1)), 2 * jnp.ones((1, 1, 1))),
        (-4 * jnp.ones((1, 1)), 0.5 * jnp.ones((1, 1))),
        "distance",
    )
    x = jnp.array([[4.0, 5.0], [1.0, 2.0]])
    assert np.allclose(module_inputs(network.u, x, "distance"), [[5, 1]])
    assert np.allclose(network(x)[:, 0], [2.5, 0.5])


def test_four_modules_of_one_function_double_it(x64):
    one = make(1, 3, width=4)
    four = jax.tree.map(lambda leaf: jnp.asarray(np.repeat(leaf, 4, axis=0)), one)
    x = inputs(6, 3)
    assert np.allclose(CALL(four, x), 2 * CALL(one, x), atol=1e-13)


def test_gradients_are_finite_where_an_input_is_a_direction_itself():
    u = jnp.array([[1.0, 2.0], [0.0, 1.0]])
    gradient = jax.grad(lambda u, x: module_inputs(u, x, "distance").sum(), argnums=(0, 1))(u, u)
    assert all(np.all(np.isfinite(part)) for part in gradient)
    # Each is pulled towards the other one only, along (1, 1) / √2.
    assert np.allclose(gradient[0], [[0.5**0.5] * 2, [-(0.5**0.5)] * 2])


@functools.cache
def many_modules(m=3):
    """A great many random modules, as numbers of NumPy."""
    network = eqx.filter_jit(ModularRegressor.random)(20_000, m, width=8, layers=2, key=KEY)
    return jax.tree.map(np.asarray, network)


@pytest.mark.parametrize("projection", ["linear", "distance"])
def test_the_variance_of_outputs_does_not_depend_on_the_number_of_modules(projection):
    # Modules are drawn independently of one another: any K of them are a random network.
    drawn, x = many_modules(), inputs(10, 3)
    parts = drawn.u, drawn.weights, drawn.biases

    def variance(K):
        def output(parts):
            return ModularRegressor(*parts, projection)(x)

        networks = jax.tree.map(lambda leaf: leaf.reshape(-1, K, *leaf.shape[1:]), parts)
        return np.asarray(jax.jit(jax.vmap(output))(networks)).var(axis=0).mean()

    assert variance(25) == pytest.approx(variance(1), rel=0.2)


def test_random_directions_are_uniform_on_the_sphere():
    u = many_modules().u
    assert np.allclose(np.linalg.norm(u, axis=1), 1, atol=1e-6)
    # By Archimedes every coordinate is uniform on [-1, 1].
    assert np.allclose(np.sort(u, axis=0)[::2000], np.linspace(-1, 1, 11)[:-1, None], atol=0.03)


def test_weights_start_uniform_within_their_fan_in():
    network = many_modules()
    for W, b in zip(network.weights, network.biases, strict=True):
        bound = W.shape[1] ** -0.5
        for part in (W, b):
            assert 0.99 * bound < np.abs(part).max() <= bound * (1 + 1e-6)
            assert np.std(part) == pytest.approx(bound / 3**0.5, rel=0.02)


def test_the_same_key_gives_the_same_modules_for_any_number_of_inputs():
    one, other = many_modules(3), many_modules(7)
    assert all(map(np.array_equal, one.weights + one.biases, other.weights + other.biases))


def test_other_directions_leave_the_modules_as_they_are_and_are_taken_in_turns():
    network = make(5, 3, width=4)
    u = jnp.eye(3)[:2]
    changed = network.with_directions(u)
    assert np.array_equal(changed.u, u[jnp.array([0, 1, 0, 1, 0])])
    assert all(map(operator.is_, jax.tree.leaves(changed)[1:], jax.tree.leaves(network)[1:]))
    assert np.array_equal(changed.with_directions(network.u).u, network.u)


@pytest.mark.parametrize("learn", [True, False])
def test_frozen_directions_get_no_gradient_and_all_else_does(learn):
    network = make(4, 3, width=8)
    x = inputs(50, 3)
    learned, fixed = eqx.partition(network, network.trainable(learn_directions=learn))
    both = jax.tree.leaves(eqx.combine(learned, fixed))
    assert all(map(operator.is_, both, jax.tree.leaves(network)))

    @eqx.filter_jit
    def gradient(learned):
        return eqx.filter_grad(lambda part: jnp.sum(eqx.combine(part, fixed)(x) ** 2))(learned)

    found = gradient(learned)
    assert (found.u is not None) is learn
    leaves = jax.tree.leaves(found)
    assert len(leaves) == 8 + learn
    assert all(np.any(leaf != 0) for leaf in leaves)


def test_permuting_modules_changes_nothing(x64):
    network = make(6, 3, width=4)
    permuted = jax.tree.map(lambda leaf: leaf[np.array([4, 2, 0, 5, 1, 3])], network)
    x = inputs(7, 3)
    assert np.allclose(CALL(permuted, x), CALL(network, x), atol=1e-13)


def shapes(make, *args, **options):
    return eqx.filter_eval_shape(make, *args, key=KEY, **options)


@pytest.mark.parametrize(
    ("width", "counts"),
    [(8, (97, 241, 385)), (32, (1153, 3265, 5377)), (128, (16897, 49921, 82945))],
)
def test_the_nine_monolithic_networks_have_the_numbers_of_parameters_of_figure_2(width, counts):
    for layers, count in zip((3, 5, 7), counts, strict=True):
        network = shapes(MLP, (1, *[width] * (layers - 1), 1), uniform=True)
        assert count_parameters(network) == count
        # A module with as many layers is the same network, once per module, and one more direction.
        modular = shapes(ModularRegressor.random, 10, 4, width=width, layers=layers)
        assert count_parameters(modular) == 10 * (count + 4)


def test_what_does_not_fit_is_refused():
    with pytest.raises((ValueError, TypeError), match="cosine"):
        ModularRegressor.random(2, 3, projection="cosine", key=KEY)
    with pytest.raises(ValueError, match="must be 1 or more"):
        ModularRegressor.random(0, 3, key=KEY)
    network = make(2, 3, width=2)
    for u in (jnp.ones((2, 4)), jnp.ones((3, 3)), jnp.ones((0, 3))):
        with pytest.raises(ValueError, match="do not fit 2 modules of 3 inputs"):
            network.with_directions(u)
