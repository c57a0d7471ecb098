"""Networks that compute with numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import specs

KEY = jax.random.key(0)
SUMS = specs.NumberSizes(inputs=8, results=2, digits=2)


def parameters(spec, *sizes):
    network = eqx.filter_eval_shape(spec.build, specs.NumberSizes(*sizes), KEY)
    return sum(leaf.size for leaf in jax.tree.leaves(network) if hasattr(leaf, "shape"))


def test_sizes_of_the_thesis():
    fnn, lstm = specs.NumberMLPSpec(), specs.NumberLSTMSpec()
    assert parameters(fnn, 42, 1, 2) == 43 * 2000 + 3 * 2001 * 2000 + 2001 * 20 == 12_132_020
    gates = 4 * 256
    assert parameters(lstm, 42, 1, 2) == gates * (299 + 513) + 257 * 20 == 836_628
    assert parameters(lstm, 80, 2, 2) == gates * (337 + 513) + 257 * 40


def test_a_pass_of_the_mlp_sees_its_own_inputs_and_writes_its_own_outputs():
    network = specs.NumberMLPSpec(hidden=(7, 5)).build(SUMS, KEY)
    x = jax.random.normal(KEY, (3, 8))
    logits = network(x)
    for result, columns in enumerate((slice(0, 4), slice(4, 8))):
        alone = jnp.zeros_like(x).at[:, columns].set(x[:, columns])
        whole = network.mlp(alone).reshape(3, 2, 2, 10)
        assert np.allclose(logits[:, result], whole[:, result], atol=1e-5)


@pytest.mark.parametrize("forced", [False, True])
def test_the_lstm_agrees_with_one_step_after_another(forced):
    spec = (specs.ForcedNumberLSTMSpec if forced else specs.NumberLSTMSpec)(units=6, steps=3)
    network = spec.build(SUMS, KEY)
    x = jax.random.normal(KEY, (3, 8))
    states = [cell.start(3) for cell in network.cells]
    read = []
    for time in range(6):
        h = x
        if forced:
            keep = slice(0, 4) if time < 3 else slice(4, 8)
            h = jnp.zeros_like(x).at[:, keep].set(x[:, keep])
        for place, cell in enumerate(network.cells):
            states[place] = cell.step(h, states[place])
            h = states[place].hidden
        read.append(network.readout(h).reshape(3, 2, 2, 10))
    ends = (2, 5) if forced else (5, 5)
    expected = jnp.stack([read[end][:, result] for result, end in enumerate(ends)], axis=1)
    assert np.allclose(network(x), expected, atol=1e-5)


def test_a_forced_lstm_knows_nothing_of_the_second_result_when_it_writes_the_first():
    network = specs.ForcedNumberLSTMSpec(units=6).build(SUMS, KEY)
    slopes = jax.grad(lambda x: network(x)[:, 0].sum())(jax.random.normal(KEY, (3, 8)))
    assert np.abs(slopes[:, :4]).min() > 0
    assert not slopes[:, 4:].any()


def test_a_split_lstm_is_an_lstm_with_two_matrices():
    split, whole = models.SplitLSTM(3, 4, key=KEY), models.LSTM(3, 4, key=KEY)
    weight = jnp.concatenate([split.inputs, split.recurrent])
    whole = eqx.tree_at(lambda l: (l.weight, l.bias), whole, (weight, split.bias))
    x, lengths = jax.random.normal(KEY, (2, 5, 3)), jnp.array([5, 3])
    reads = jnp.arange(5)[:, None] < lengths
    hidden, last = split(x.swapaxes(0, 1), reads, split.start(2))
    expected, end = whole(x, lengths)
    assert np.allclose(hidden.swapaxes(0, 1), expected, atol=1e-6)
    assert np.allclose(last.cell, end.cell, atol=1e-6)


def test_inputs_that_cannot_be_shared_out_are_refused():
    with pytest.raises(ValueError, match="7 inputs cannot be cut into 2 equal parts"):
        specs.NumberMLPSpec().build(specs.NumberSizes(7, 2, 1), KEY)
