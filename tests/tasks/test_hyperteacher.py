import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import splits, tasks
from recombine.tasks._hyperteacher import TargetNetwork

KEY = jax.random.key(0)
SMALL = {"inputs": 5, "hidden": 7, "outputs": 3, "support": 6, "query": 4, "fixed_inputs": 40}
CODES = splits.layered_codes(splits.up_to_k_hot_masks(4, 2), 2)
MASKS = splits.up_to_k_hot_masks(4, 2)[:, None]


def world(codes=CODES, key=KEY, **changes):
    return tasks.HyperTeacher(splits.ListedCodes(codes), key=key, **(SMALL | changes))


def sample(task, size=1000, seed=0):
    """On the host. Numbers become arrays first, so that tasks of one shape share a compilation."""
    task = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, task)
    return jax.tree.map(np.asarray, compiled_sample(task, size, jax.random.key(seed)))


@eqx.filter_jit
def compiled_sample(task, size, key):
    return task.sample(size, key=key)


def slow_outputs(network, code, x):
    """One task and one input at a time, neuron by neuron."""
    layers, modules, _, fan_in, hidden = network.bank.shape
    generated = np.zeros((layers, fan_in, hidden))
    for k in range(layers):
        for m in range(modules):
            if code[k, m]:
                generated += np.asarray(network.bank)[k, m]
    matrices = [*generated, np.asarray(network.readout)]
    if network.first is not None:
        matrices.insert(0, np.asarray(network.first))
    activity = x
    for depth, W in enumerate(matrices):
        pre = [
            sum(activity[i] * W[i, j] for i in range(len(W))) / math.sqrt(len(W))
            for j in range(W.shape[1])
        ]
        activity = pre if depth == len(matrices) - 1 else [max(0.0, p) for p in pre]
    return np.array(activity)


def slow_targets(task, code, x):
    fixed = np.array(
        [slow_outputs(task.network, code, row) for row in np.asarray(task.fixed_inputs)]
    )
    raw = (slow_outputs(task.network, code, x) - fixed.mean(0)) / fixed.std(0)
    powers = np.exp(raw / 0.1 - max(raw / 0.1))
    return powers / powers.sum()


@pytest.mark.parametrize("hidden_layers", [1, 2, 3])
def test_targets_agree_with_a_slow_implementation(hidden_layers, x64):
    task = world(CODES if hidden_layers == 3 else MASKS, hidden_layers=hidden_layers)
    assert (task.network.first is None) == (hidden_layers == 1)
    support, query, code = sample(task, 2, seed=1)
    for part in support, query:
        for t in range(2):
            for x, y in zip(part.x[t, :3], part.y[t, :3], strict=True):
                expected = slow_targets(task, code[t], x)
                np.testing.assert_allclose(y, expected, atol=1e-10)


def test_an_episode_has_the_shapes_of_its_sets():
    support, query, code = sample(world(), 9)
    assert (support.x.shape, support.y.shape, support.weight.shape) == (
        (9, 6, 5),
        (9, 6, 3),
        (9, 6),
    )
    assert (query.x.shape, query.y.shape, query.weight.shape) == ((9, 4, 5), (9, 4, 3), (9, 4))
    assert code.shape == (9, 2, 4)
    assert np.all(support.weight == 1)
    assert np.all(query.weight == 1)
    assert not np.any(np.isin(support.x[0], query.x[0]))
    assert np.allclose(support.y.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("hidden_layers", [1, 3])
def test_standardised_outputs_have_mean_0_and_std_1_in_every_task(hidden_layers, x64):
    codes = CODES if hidden_layers == 3 else MASKS
    task = world(codes, hidden_layers=hidden_layers)
    y = np.asarray(task.network(jnp.asarray(codes, float), task.fixed_inputs[None]))
    mean, std = map(np.asarray, task.listed_moments)
    standard = (y - mean[:, None]) / std[:, None]
    np.testing.assert_allclose(standard.mean(1), np.zeros((len(codes), 3)), atol=1e-12)
    np.testing.assert_allclose(standard.std(1), np.ones((len(codes), 3)), atol=1e-12)


def test_a_common_factor_of_the_code_does_not_matter(x64):
    task = world()
    code = jnp.asarray(CODES[-3:], float)
    for scale in 0.5, 3.0:
        once, scaled = (
            task.network.moments(code, task.fixed_inputs),
            task.network.moments(scale * code, task.fixed_inputs),
        )
        y, z = (task.network(c, task.fixed_inputs[None]) for c in (code, scale * code))
        np.testing.assert_allclose(
            (z - scaled.mean[:, None]) / scaled.std[:, None],
            (y - once.mean[:, None]) / once.std[:, None],
            atol=1e-10,
        )


def test_a_listed_and_a_hashed_distribution_standardise_alike(x64):
    """The hashed one computes what the listed one looks up."""
    task = world()
    hashed = task.on(splits.HashedCodes(4, 2, 2, key=KEY))
    assert hashed.listed_moments is None
    support, _, code = sample(hashed, 5)
    row = [np.flatnonzero((c == CODES).all((1, 2)))[0] for c in code]
    mean, std = (np.asarray(values)[row] for values in task.listed_moments)
    y = np.asarray(task.network(jnp.asarray(code), jnp.asarray(support.x)))
    powers = np.exp((y - mean[:, None]) / std[:, None] / 0.1)
    np.testing.assert_allclose(support.y, powers / powers.sum(-1, keepdims=True), atol=1e-10)


def test_all_trained_codes_and_no_held_out_code_are_drawn():
    train, held_out = CODES[::2], CODES[1::2]
    task = world(train)

    def drawn(task):
        return {tuple(row) for row in sample(task).code.reshape(1000, -1)}

    assert drawn(task) == {tuple(row) for row in train.reshape(len(train), -1).astype(float)}
    assert drawn(task).isdisjoint(drawn(task.on(splits.ListedCodes(held_out))))


def test_other_combinations_are_in_the_same_world():
    task = world(CODES[:10])
    there = task.on(splits.ListedCodes(CODES[10:]))
    back = there.on(splits.ListedCodes(CODES[:10]))
    assert eqx.tree_equal(task, back)
    assert eqx.tree_equal(task.network, there.network)
    assert np.array_equal(task.fixed_inputs, there.fixed_inputs)
    assert there.listed_moments.mean.shape == (len(CODES) - 10, 3)
    first = world(MASKS, hidden_layers=1).on(splits.HashedCodes(4, 2, key=KEY))
    assert first.network.first is None
    assert first.listed_moments is None


def test_weights_are_truncated_at_two_and_have_088_of_the_nominal_std():
    network = TargetNetwork.random(2, 8, key=KEY)
    assert network.bank.shape == (2, 8, 2, 32, 32)
    assert network.first.shape == (16, 32)
    assert network.readout.shape == (32, 8)
    for W, tolerance in (network.bank, 0.01), (network.first, 0.08), (network.readout, 0.12):
        assert np.std(W) == pytest.approx(0.8796, abs=tolerance)
        assert np.abs(W).max() < 2
    assert np.abs(network.bank).max() > 1.9


CODE = np.array([[1, 0, 0, 1], [0, 1, 0, 0]], float)
OTHER_SECOND = np.array([[1, 0, 0, 1], [0, 0, 1, 1]], float)
SWAPPED = CODE[::-1]


def generated(bank, *codes):
    return world(bank=bank).network.weights(jnp.asarray(np.stack(codes)))


def test_in_a_joint_bank_every_part_of_the_code_changes_all_matrices():
    a, b = generated(tasks.joint_bank, CODE, OTHER_SECOND)
    assert not np.allclose(a[0], b[0])
    assert not np.allclose(a[1], b[1])


def test_in_a_bank_a_layer_the_second_layer_leaves_the_first_matrix_alone():
    a, b = generated(tasks.per_layer_bank, CODE, OTHER_SECOND)
    assert np.array_equal(a[0], b[0])
    assert not np.allclose(a[1], b[1])
    a, b = generated(tasks.per_layer_bank, CODE, SWAPPED)
    assert not np.allclose(a[0], b[1])


def test_in_a_shared_bank_layers_mix_the_same_modules():
    a, b = generated(tasks.shared_bank, CODE, SWAPPED)
    np.testing.assert_allclose(a[0], b[1], rtol=1e-6)
    np.testing.assert_allclose(a[1], b[0], rtol=1e-6)
    assert not np.allclose(a[0], a[1])
    a, b = generated(tasks.shared_bank, CODE, OTHER_SECOND)
    assert np.array_equal(a[0], b[0])


def test_with_one_generated_layer_all_banks_are_one():
    banks = [
        world(MASKS, hidden_layers=1, bank=bank).network.bank
        for bank in (tasks.joint_bank, tasks.per_layer_bank, tasks.shared_bank)
    ]
    assert np.array_equal(banks[0], banks[1])
    assert np.array_equal(banks[0], banks[2])


@pytest.mark.parametrize(("input_range", "std"), [(1.0, 1 / math.sqrt(3)), (math.sqrt(3), 1.0)])
def test_inputs_are_uniform_with_the_range_asked_for(input_range, std):
    x = sample(world(input_range=input_range)).support.x
    assert np.std(x) == pytest.approx(std, rel=0.01)
    assert np.mean(x) == pytest.approx(0, abs=0.01)
    assert 0.999 * input_range < np.abs(x).max() <= input_range


def test_a_lower_temperature_sharpens_targets_and_keeps_the_label():
    warm, cold = (sample(world(temperature=t)).query.y for t in (1.0, 0.1))
    assert np.array_equal(warm.argmax(-1), cold.argmax(-1))
    assert cold.max(-1).mean() > warm.max(-1).mean() + 0.1


def test_the_world_is_decided_by_the_key_and_not_by_the_codes():
    same = world(CODES[:5])
    assert np.array_equal(world().network.bank, same.network.bank)
    assert np.array_equal(world().fixed_inputs, same.fixed_inputs)
    assert not np.array_equal(world().network.bank, world(key=jax.random.key(1)).network.bank)


def test_codes_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="codes of 1 layers do not fit 3 hidden layers"):
        world(MASKS)
    with pytest.raises(ValueError, match=r"codes of \(layers, modules\) = \(1, 4\) do not fit"):
        world().on(splits.ListedCodes(MASKS))
