"""Batch normalisation, and the two networks that classify several images with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.models import BatchNormMLP, ModularImageNetwork, count_parameters
from recombine.models._batch_norm import BatchNorm, NormalisedLayers, Statistics

KEY = jax.random.key(0)
K, PIXELS, IMAGES = 4, 6, 3
CALL = eqx.filter_jit(lambda model, x, s, training: model(x, s, training=training))


def monolithic(**options):
    return random_numbers(BatchNormMLP, hidden=(7, 5), **options)


def modular(**options):
    return random_numbers(ModularImageNetwork, modules=K, width=5, trunk=(6, 3), **options)


def random_numbers(make, **options):
    """With random numbers for all parameters, so that no scale is 1 and no offset 0."""
    shapes = eqx.filter_eval_shape(make, IMAGES, PIXELS, classes=4, key=KEY, **options)
    draw = np.random.default_rng(1).normal
    return jax.tree.map(lambda leaf: jnp.asarray(draw(size=leaf.shape), leaf.dtype), shapes)


def inputs(size=9, seed=3):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(size, IMAGES * PIXELS)))


def slow_norm(norm, h):
    """With the moments of the rows."""
    mean, var = h.mean(0), ((h - h.mean(0)) ** 2).mean(0)
    return (h - mean) / np.sqrt(var + 1e-5) * np.asarray(norm.scale) + np.asarray(norm.offset)


def slow_layers(layers, h):
    for W, norm in zip(layers.weights, layers.norms, strict=True):
        h = np.maximum(slow_norm(norm, h @ np.asarray(W)), 0)
    return h


def test_training_normalises_by_the_batch_and_evaluation_by_what_was_running(x64):
    norm = eqx.tree_at(
        lambda n: (n.scale, n.offset),
        BatchNorm(3),
        (jnp.array([1.0, 2, 3]), jnp.array([4.0, 5, 6])),
    )
    x = jnp.asarray(np.random.default_rng(0).normal(2, [1, 5, 0.1], (10, 3)))
    running = Statistics(jnp.array([1.0, 2.0, 3.0]), jnp.array([4.0, 5.0, 6.0]))
    y, moved = norm(x, running, True)
    assert np.allclose(y, slow_norm(norm, np.asarray(x)), atol=1e-12)
    assert np.allclose(moved.mean, 0.9 * running.mean + 0.1 * x.mean(0), atol=1e-12)
    unbiased = np.var(np.asarray(x), axis=0, ddof=1)
    assert np.allclose(moved.variance, 0.9 * running.variance + 0.1 * unbiased, atol=1e-12)
    y, same = norm(x, running, False)
    expected = (np.asarray(x) - [1, 2, 3]) / np.sqrt(np.array([4, 5, 6]) + 1e-5)
    assert np.allclose(y, expected * norm.scale + norm.offset, atol=1e-12)
    assert eqx.tree_equal(same, running)


def test_running_statistics_converge_to_those_of_the_data(x64):
    norm = BatchNorm(2)
    x = np.random.default_rng(0).normal([3, -1], [0.5, 2], (200, 50, 2))
    end, _ = jax.lax.scan(lambda s, batch: (norm(batch, s, True)[1], None), norm.initial(), x)
    assert np.allclose(end.mean, [3, -1], atol=0.2)
    assert np.allclose(end.variance, [0.25, 4], rtol=0.2)


def test_a_large_mean_does_not_spoil_32_bit_numbers():
    x = jnp.asarray(np.random.default_rng(0).normal(1000.0, 1.0, (500, 1)), jnp.float32)
    y, _ = BatchNorm(1)(x, BatchNorm(1).initial(), True)
    assert np.allclose(y, (np.asarray(x) - x.mean()) / x.std(), atol=2e-3)


@pytest.mark.usefixtures("x64")
def test_the_monolithic_network_agrees_with_a_plain_implementation():
    model, x = monolithic(), inputs()
    logits, _ = eqx.filter_jit(model)(x, model.initial(), training=True)
    h = slow_layers(model.hidden, np.asarray(x))
    expected = h @ np.asarray(model.readout.weight) + np.asarray(model.readout.bias)
    assert logits.shape == (9, IMAGES, 4)
    assert np.allclose(logits.reshape(9, -1), expected, atol=1e-12)


@pytest.mark.parametrize("activation", ["bn_relu", "none"])
@pytest.mark.usefixtures("x64")
def test_the_modular_network_agrees_with_a_loop_over_modules(activation):
    model, x = modular(proj_activation=activation), inputs()
    logits, statistics = eqx.filter_jit(model)(x, model.initial(), training=True)
    projected = [np.asarray(x) @ np.asarray(model.U[:, j]) for j in range(K)]
    rows = np.concatenate(projected)  # the moments are those of all modules and inputs
    if activation == "bn_relu":
        rows = np.maximum(slow_norm(model.norm, rows), 0)
    outputs = np.split(slow_layers(model.trunk, rows), K)
    blocks = np.split(np.asarray(model.readout.weight), K)
    expected = sum(h @ W for h, W in zip(outputs, blocks, strict=True)) + np.asarray(
        model.readout.bias
    )
    assert np.allclose(logits.reshape(9, -1), expected, atol=1e-12)
    assert len(statistics) == 2 + (activation == "bn_relu")


@pytest.mark.parametrize("make", [monolithic, modular])
def test_evaluation_uses_the_statistics_given_and_every_input_on_its_own(make):
    model, x = make(), inputs()
    call = eqx.filter_jit(model)
    _, statistics = call(x, model.initial(), training=True)
    whole, after = call(x, statistics)
    assert eqx.tree_equal(after, statistics)
    mixed, _ = call(x.at[1:].set(x[:-1]), statistics)
    assert np.allclose(mixed[0], whole[0], atol=1e-4)
    assert np.allclose(mixed[1:], whole[:-1], atol=1e-4)
    assert not np.allclose(whole, call(x, model.initial())[0], atol=1e-2)


@pytest.mark.parametrize("make", [monolithic, modular])
def test_a_compiled_loop_can_carry_the_statistics(make):
    model, x = make(), inputs()

    @eqx.filter_jit
    def run(model, statistics):
        def step(statistics, _):
            logits, statistics = model(x, statistics, training=True)
            return statistics, jnp.sum(logits**2)

        return jax.lax.scan(step, statistics, None, length=100)

    statistics, _ = run(model, model.initial())
    trained, evaluated = (
        eqx.filter_jit(model)(x, statistics, training=t)[0] for t in (True, False)
    )
    # The running variances are those of a larger population: n / (n - 1) times the batch's.
    assert np.corrcoef(trained.ravel(), evaluated.ravel())[0, 1] > 0.99


def test_permuting_modules_together_with_their_readouts_changes_nothing(x64):
    model, x = modular(), inputs()
    order = np.array([2, 0, 3, 1])
    readout = model.readout.weight.reshape(K, 3, -1)[order].reshape(K * 3, -1)
    both = eqx.tree_at(lambda m: (m.U, m.readout.weight), model, (model.U[:, order], readout))
    alone = model.with_projections(model.U[:, order])
    statistics = model.initial()
    for training in (True, False):
        expected, permuted, other = (
            CALL(network, x, statistics, training)[0] for network in (model, both, alone)
        )
        assert np.allclose(permuted, expected, atol=1e-12)
        assert not np.allclose(other, expected, atol=1e-3)


def test_other_projections_leave_all_else_as_it_is():
    model = modular()
    U = jnp.ones_like(model.U)
    other = model.with_projections(U)
    assert np.array_equal(other.U, U)
    assert eqx.tree_equal(other.with_projections(model.U), model)
    with pytest.raises(ValueError, match=r"do not fit the network's \(18, 4, 5\)"):
        model.with_projections(U[:, :2])


@pytest.mark.parametrize("learn", [True, False])
def test_frozen_projections_do_not_learn_and_the_trunk_exists_once(learn):
    model = modular()
    learned, fixed = eqx.partition(model, model.trainable(learn_projections=learn))
    assert eqx.tree_equal(eqx.combine(learned, fixed), model)
    assert (learned.U is not None) is learn
    # Projection norm 2, trunk 2 x (weight, scale, offset), readout 2; no axis of modules in them.
    assert len(jax.tree.leaves(learned)) == 10 + learn
    assert [w.shape for w in model.trunk.weights] == [(5, 6), (6, 3)]


def count(make, *args, **options):
    return count_parameters(eqx.filter_eval_shape(make, *args, key=KEY, **options))


@pytest.mark.parametrize("k", [1, 6, 8])
def test_the_networks_of_the_paper_have_the_right_numbers_of_parameters(k):
    readout = 128 * 10 * k + 10 * k
    weights = 3072 * k * 512 + 2 * 512 * 512 + 512 * 256 + 256 * 128
    norms = 2 * (3 * 512 + 256 + 128)
    assert count(BatchNormMLP, k, 3072) == weights + norms + readout
    trunk = 512 * 256 + 256 * 128 + 128 * 64 + 2 * (512 + 256 + 128 + 64)
    projections = 32 * 3072 * k * 512
    expected = projections + trunk + 2048 * 10 * k + 10 * k
    assert count(ModularImageNetwork, k, 3072) == expected
    plain = count(ModularImageNetwork, k, 3072, proj_activation="none")
    assert plain == expected - 2 * 512


def test_six_images_take_302_million_projection_weights():
    network = eqx.filter_eval_shape(ModularImageNetwork, 6, 3072, key=KEY)
    assert network.U.shape == (18432, 32, 512)
    assert network.U.size == 301_989_888


def test_projected_inputs_start_at_the_distance_that_matches_the_kernel_of_the_paper():
    # √(2/3 of the width): 18.5 for 512.
    make = eqx.filter_jit(ModularImageNetwork)
    network = make(2, 200, modules=4, width=300, trunk=(4,), key=KEY)
    s = np.random.default_rng(0).normal(size=(60, 400)) @ np.asarray(network.U[:, 1])
    distances = np.linalg.norm(s[:30] - s[30:], axis=1)
    assert distances.mean() == pytest.approx((300 * 2 / 3) ** 0.5, rel=0.03)


def test_a_trunk_of_no_layers_hands_its_inputs_on():
    trunk = NormalisedLayers((5,), key=KEY)
    x = jnp.ones((2, 5))
    assert trunk.initial() == ()
    assert np.array_equal(trunk(x, (), True)[0], x)


def test_an_unknown_activation_is_refused():
    with pytest.raises((ValueError, TypeError), match="tanh"):
        modular(proj_activation="tanh")
