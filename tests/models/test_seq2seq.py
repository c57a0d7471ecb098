"""Sequence to sequence: it agrees with a plain loop, and attends within its input."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rows import Table

from recombine import models, tasks

KEY = jax.random.key(0)
BATCH = tasks.SequenceBatch(
    jnp.array([[1, 2, 3, 0], [4, 0, 0, 0], [2, 4, 0, 0]]),
    jnp.array([4, 2, 3]),
    jnp.array([[1, 2, 2, 1, 0], [1, 0, 0, 0, 0], [2, 1, 0, 0, 0]]),
    jnp.array([5, 2, 3]),
)


SIZES = {"embedding": 3, "units": 4, "output_embedding": 2}


@functools.cache
def network():
    return eqx.filter_jit(models.Seq2Seq)(5, 3, **SIZES, key=KEY)


@eqx.filter_jit
def everything(model, batch):
    """Logits, attention and greedy symbols."""
    greedy = model.greedy(batch.inputs, batch.input_lengths, batch.outputs.shape[1])
    return model(*batch), model.attention(*batch), greedy


@functools.cache
def found():
    """Of 66 sequences, decoded in two groups by length; the first three stand for all."""
    many = jax.tree.map(lambda x: jnp.tile(x, (22, 1)[: x.ndim]), BATCH)
    return dict(zip(PARTS, map(np.asarray, everything(network(), many)), strict=True))


PARTS = "logits", "attention", "greedy"
FOUND = Table({name: lambda name=name: found()[name] for name in PARTS})


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def next_state(lstm, x, hidden, cell):
    gates = np.concatenate([x, hidden]) @ np.asarray(lstm.weight) + np.asarray(lstm.bias)
    i, f, g, o = np.split(gates, 4)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def read(lstm, words):
    state, seen = (np.zeros(2), np.zeros(2)), []
    for word in words:
        state = next_state(lstm, word, *state)
        seen.append(state[0])
    return np.array(seen), state


def plain(model, inputs, length, before):
    """Logits and attention of one sequence, symbol by symbol."""
    words = np.asarray(model.embedding)[np.asarray(inputs[:length])]
    ahead, end = read(model.forward, words)
    back, beginning = read(model.backward, words[::-1])
    values = np.concatenate([ahead, back[::-1]], axis=1)
    keys = values @ np.asarray(model.keys)
    hidden, cell = (np.concatenate(both) for both in zip(end, beginning, strict=True))
    decoder, attention = model.decoder, np.zeros_like(hidden)
    embedding, mix = np.asarray(decoder.embedding), np.asarray(decoder.mix)
    logits, weights = [], []
    for symbol in before:
        x = np.concatenate([embedding[symbol], attention])
        hidden, cell = next_state(decoder.lstm, x, hidden, cell)
        scores = np.exp(keys @ hidden)
        weights.append(scores / scores.sum())
        attention = np.concatenate([hidden, weights[-1] @ values]) @ mix
        logits.append(attention @ np.asarray(model.readout.weight) + np.asarray(model.readout.bias))
    return np.array(logits), np.array(weights)


def test_the_model_of_the_paper_has_64959_parameters():
    model = eqx.filter_eval_shape(models.Seq2Seq, 14, 7, key=KEY)
    assert models.count_parameters(model) == 64_959


def test_it_agrees_with_a_plain_loop():
    rows = zip(*map(np.asarray, BATCH), strict=True)
    for row, (inputs, length, outputs, steps) in enumerate(rows):
        before = np.concatenate([[0], outputs[:-1]])[:steps]
        logits, attention = plain(network(), inputs, length, before)
        np.testing.assert_allclose(FOUND["logits"][row, :steps], logits, atol=1e-5)
        np.testing.assert_allclose(FOUND["attention"][row, :steps, :length], attention, atol=1e-5)


def test_a_sequence_does_not_depend_on_the_others_of_its_batch():
    counts = np.arange(5) < np.asarray(BATCH.output_lengths)[:, None]
    for start in range(3, 66, 3):
        np.testing.assert_allclose(
            FOUND["logits"][start : start + 3][counts], FOUND["logits"][:3][counts], atol=1e-5
        )


def test_attention_sums_to_1_and_is_0_on_padding():
    np.testing.assert_allclose(FOUND["attention"].sum(axis=2), 1, rtol=1e-6)
    beyond = np.arange(4) >= np.asarray(BATCH.input_lengths)[:, None]
    np.testing.assert_array_equal(FOUND["attention"][:3].swapaxes(1, 2)[beyond], 0)


def test_greedy_symbols_are_the_most_probable_after_themselves():
    for row, symbols in enumerate(FOUND["greedy"][:3]):
        end = np.append(symbols, 0).argmin()
        before = np.concatenate([[0], symbols[:-1]])
        logits, _ = plain(network(), BATCH.inputs[row], int(BATCH.input_lengths[row]), before)
        np.testing.assert_array_equal(symbols[: end + 1], logits.argmax(axis=1)[: end + 1])
        np.testing.assert_array_equal(symbols[end:], 0)


def test_the_start_of_the_published_code_has_states_and_cells_exchanged():
    swapped = eqx.filter_jit(models.Seq2Seq)(5, 3, **SIZES, swapped_start=True, key=KEY)
    encode = eqx.filter_jit(lambda model: model._encode(BATCH.inputs, BATCH.input_lengths)[1])
    right, other = encode(network()), encode(swapped)
    np.testing.assert_array_equal(other.lstm.hidden, right.lstm.cell)
    np.testing.assert_array_equal(other.lstm.cell, right.lstm.hidden)
    assert (right.lstm.hidden != right.lstm.cell).all()


def test_an_odd_number_of_units_is_refused():
    with pytest.raises(ValueError, match="5 units cannot be halved"):
        models.Seq2Seq(5, 3, units=5, key=KEY)
