"""LSTM classifiers: they read the last states, agree with a plain loop, and pass over padding."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models._dropout import dropout, split

KEY = jax.random.key(0)
TOKENS, LENGTHS = jnp.array([[1, 5, 3, 2], [2, 3, 0, 0]]), jnp.array([4, 2])


def make(**options):
    options = {"embedding": 3, "units": 4, **options}
    return eqx.filter_jit(models.RecurrentClassifier)(5, 3, **options, key=KEY)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read(lstm, second, rows):
    hidden, cell, seen = np.zeros(lstm.units), np.zeros(lstm.units), []
    for x in rows:
        gates = np.concatenate([x, hidden]) @ np.asarray(lstm.weight) + np.asarray(lstm.bias)
        i, f, g, o = np.split(gates + np.asarray(second), 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        seen.append(hidden)
    return np.array(seen)


@pytest.mark.parametrize("key", [None, KEY], ids=["evaluation", "training"])
@pytest.mark.parametrize("both", [False, True])
def test_two_layers_agree_with_a_plain_loop_and_dropout_acts_on_what_each_reads(both, key):
    model = make(layers=2, bidirectional=both)
    logits = eqx.filter_jit(lambda tokens, key: model(tokens, LENGTHS, key=key))(TOKENS, key)
    shapes = [(*TOKENS.shape, 3), (*TOKENS.shape, 4)]
    factors = [
        np.asarray(dropout(jnp.ones(shape), 0.5, key=k))
        for shape, k in zip(shapes, split(key, 2), strict=True)
    ]
    for row, length in enumerate(LENGTHS):
        rows = np.asarray(model.embedding.weight)[np.asarray(TOKENS[row, :length]) - 1]
        layers = zip(model.directions, model.second_biases, factors, strict=True)
        for lstms, biases, factor in layers:
            rows = rows * factor[row, :length]
            ahead = read(lstms[0], biases[0], rows)
            back = [read(lstms[1], biases[1], rows[::-1])[::-1]] if both else []
            last = np.concatenate([ahead[-1], *(b[0] for b in back)])
            rows = np.concatenate([ahead, *back], axis=1)
        expected = last @ np.asarray(model.readout.weight) + np.asarray(model.readout.bias)
        np.testing.assert_allclose(logits[row], expected, atol=1e-5)


@pytest.mark.parametrize(("layers", "places"), [(1, (0, 1)), (2, (1, 3)), (3, (2, 5)), (4, (3, 7))])
def test_published_states_are_the_last_ones_of_both_halves(layers, places):
    """In several layers these are not the two directions of the last layer."""
    model = make(layers=layers, bidirectional=True, reads_halves=True)
    for row, length in enumerate(LENGTHS):
        rows = np.asarray(model.embedding.weight)[np.asarray(TOKENS[row, :length]) - 1]
        states = []
        for lstms, biases in zip(model.directions, model.second_biases, strict=True):
            ahead = read(lstms[0], biases[0], rows)
            back = read(lstms[1], biases[1], rows[::-1])
            states += [ahead[-1], back[-1]]
            rows = np.concatenate([ahead, back[::-1]], axis=1)
        found = eqx.filter_jit(type(model).represent)(model, TOKENS, LENGTHS)[row]
        np.testing.assert_allclose(found, np.concatenate([states[p] for p in places]), atol=1e-5)


def test_padding_changes_nothing_and_dropout_does():
    model = make(bidirectional=True)
    call = eqx.filter_jit(lambda tokens, key: model(tokens, LENGTHS, key=key))
    logits = call(TOKENS, None)
    np.testing.assert_allclose(call(jnp.where(TOKENS == 0, 4, TOKENS), None), logits, atol=1e-6)
    assert not np.allclose(call(TOKENS, KEY), logits)
    assert not np.allclose(call(TOKENS, KEY), call(TOKENS, jax.random.key(1)))


def test_weights_start_as_in_pytorch():
    model = make(units=64, embedding=32)
    (lstm,), (second,) = model.directions[0], model.second_biases[0]
    for leaf in (lstm.weight, lstm.bias, second):
        assert 0.9 / 8 < np.abs(leaf).max() <= 1 / 8
    assert not np.allclose(lstm.bias, second)


def test_an_odd_number_of_units_is_refused_in_two_directions():
    with pytest.raises(ValueError, match="even number"):
        make(units=5, bidirectional=True)


def test_a_network_without_layers_is_refused():
    with pytest.raises(ValueError, match="layers=0 is less than 1"):
        make(layers=0)
