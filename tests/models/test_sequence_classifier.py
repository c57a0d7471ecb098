"""Encoders that classify: they agree with plain loops, and padding changes nothing."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_encoder import KEY, SPECS, dense, make, number, plain_block, sinusoid
from rows import Table

from recombine import models
from recombine.models import specs
from recombine.models._dropout import dropout, kept
from recombine.models._positions import sinusoids
from recombine.models._relative_attention import by_source

TOKENS = jnp.array([[1, 5, 3, 2, 4], [2, 3, 1, 0, 0], [4, 4, 0, 0, 0]])
LENGTHS = jnp.array([5, 3, 2])
ONES = jnp.ones((300, 400))


@eqx.filter_jit
def trace(model, tokens, lengths):
    return model.trace(tokens, lengths)


@eqx.filter_jit
def call(model, tokens, lengths, key=None):
    return model(tokens, lengths, key=key)


@eqx.filter_jit
def weigh(scores, targets, queries, keys, mask):
    return scores(targets, queries, keys, mask)


MODELS = Table({name: functools.partial(make, spec) for name, spec in SPECS.items()})
TRACES = Table({name: lambda name=name: trace(MODELS[name], TOKENS, LENGTHS) for name in SPECS})
LOGITS = Table({name: lambda name=name: call(MODELS[name], TOKENS, LENGTHS) for name in SPECS})


@pytest.mark.parametrize("name", SPECS)
def test_an_encoder_agrees_with_a_plain_loop(name):
    model, seen = MODELS[name], TRACES[name]
    mask = np.asarray(models.padding_mask(LENGTHS, 5))
    h = number(model.encoder.embedding.weight)[np.maximum(np.asarray(TOKENS) - 1, 0)]
    if name == "transformer":
        h = h + np.stack([sinusoid(i, 8) for i in range(5)])
    for t in range(3):
        h, weights, gates = plain_block(model.encoder.stack.block, h, h, mask)
        np.testing.assert_allclose(seen.attention[t], weights.swapaxes(0, 1), atol=1e-5)
        np.testing.assert_allclose(seen.columns[t], h, atol=2e-5)
        assert (gates is None) == (seen.gates is None)
        if gates is not None:
            np.testing.assert_allclose(seen.gates[t], gates, atol=1e-5)
    place = LENGTHS - 1 if model.reads == "last" else np.zeros(3, int)
    expected = dense(model.readout, h[np.arange(3), place])
    np.testing.assert_allclose(LOGITS[name], expected, atol=3e-5)


@pytest.mark.parametrize("name", SPECS)
def test_padding_is_never_read_and_changes_nothing(name):
    seen = TRACES[name]
    other = trace(MODELS[name], jnp.where(TOKENS == 0, 5, TOKENS), LENGTHS)
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(seen.attention[:, row, :, :, length:], 0)
        within = (slice(None), row, slice(length))
        np.testing.assert_allclose(other.columns[within], seen.columns[within], atol=1e-6)
    padded = call(MODELS[name], jnp.pad(TOKENS, ((0, 0), (0, 2))), LENGTHS)
    np.testing.assert_allclose(padded, LOGITS[name], atol=1e-5)


def test_a_shifted_sequence_has_the_same_relative_scores():
    """Columns see where others are from where they are, not where they are themselves."""
    scores = MODELS["relative"].encoder.stack.block.attention.scores
    q, k = np.random.default_rng(1).normal(size=(2, 2, 1, 4, 4)).astype(np.float32)
    weights = weigh(scores, np.zeros((1, 4, 8), np.float32), q, k, np.ones((4, 4), bool))
    mask = np.array([[False, False, True, True, True, True]])
    later, later_k = (np.pad(x, [(0, 0)] * 2 + [(2, 0), (0, 0)]) for x in (q, k))
    shifted = weigh(scores, np.zeros((1, 6, 8), np.float32), later, later_k, mask)
    np.testing.assert_allclose(shifted[:, :, 2:, 2:], weights, atol=1e-6)


def test_open_and_closed_position_gates_choose_relative_or_absolute_positions():
    scores = MODELS["position-gate"].encoder.stack.block.attention.scores
    q, k = np.random.default_rng(1).normal(size=(2, 2, 1, 4, 4)).astype(np.float32)
    columns, mask = np.zeros((1, 4, 8), np.float32), np.ones((4, 4), bool)

    def at(bias):
        gated = eqx.tree_at(lambda s: s.gate.bias, scores, jnp.full(2, bias))
        return weigh(gated, columns, q, k, mask)

    relative = eqx.tree_at(lambda s: s.gate, scores, None, is_leaf=lambda x: x is scores.gate)
    np.testing.assert_allclose(at(40.0), weigh(relative, columns, q, k, mask), atol=1e-6)
    places = np.stack([sinusoid(j, 8) for j in range(4)]) @ np.asarray(scores.position)
    places = places.reshape(4, 2, 4).swapaxes(0, 1)
    content = (q[:, 0] + scores.content_bias[:, None]) @ k[:, 0].swapaxes(1, 2)
    position = (q[:, 0] + scores.position_bias[:, None]) @ places.swapaxes(1, 2)
    expected = np.exp(float(scores.scale) * (content + position))
    expected /= expected.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(at(-40.0)[:, 0], expected, atol=1e-5)


def test_offsets_become_sources():
    slide = jax.jit(by_source, static_argnums=1)
    rows = slide(jnp.tile(jnp.arange(-3.0, 4.0), (1, 1, 4, 1)), 4)[0, 0]
    np.testing.assert_array_equal(rows, np.arange(4) - np.arange(4)[:, None])
    last = slide(jnp.tile(jnp.arange(-3.0, 2.0), (1, 1, 2, 1)), 4)[0, 0]
    np.testing.assert_array_equal(last, np.arange(4) - np.arange(2, 4)[:, None])


def test_dropout_keeps_the_mean_and_is_independent_between_neighbours_and_keys():
    draw = jax.jit(lambda key: (kept((300, 400), 0.3, key=key), dropout(ONES, 0.3, key=key)))
    (first, dropped), (second, _) = (map(np.asarray, draw(jax.random.key(k))) for k in (0, 1))
    assert abs(first.mean() - 0.7) < 0.006
    pairs = [(first, second), (first[1:], first[:-1]), (first[:, 1:], first[:, :-1])]
    for a, b in [*pairs, (first[:, 128:], first[:, :-128])]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.015
    np.testing.assert_allclose(dropped[first], 1 / 0.7, rtol=1e-6)
    np.testing.assert_array_equal(dropped[~first], 0)
    np.testing.assert_array_equal(dropout(ONES, 0.3, key=None), ONES)
    with pytest.raises(ValueError, match=r"dropout rate of 1\.5 is not at least 0"):
        kept((2,), 1.5, key=jax.random.key(0))


def test_training_drops_out_anew_at_every_layer_and_for_every_key():
    for name in ("ndr", "transformer"):
        drawn = lambda key, name=name: call(MODELS[name], TOKENS, LENGTHS, key)  # noqa: E731
        assert np.array_equal(drawn(KEY), drawn(KEY))
        assert not np.allclose(drawn(KEY), drawn(jax.random.key(1)))
        assert not np.allclose(drawn(KEY), LOGITS[name])


def test_before_the_first_layer_dropout_acts_on_columns_with_their_positions():
    spec = dataclasses.replace(SPECS["transformer"], layers=1, embedding_dropout=0.5)
    encoder = make(spec).encoder

    @eqx.filter_jit
    def both(encoder, key):
        of_embedding, of_stack = jax.random.split(key)
        columns = dropout(encoder.positions(encoder.embedding(TOKENS)), 0.5, key=of_embedding)
        mask = models.padding_mask(LENGTHS, TOKENS.shape[1])
        expected, _ = encoder.stack(columns, mask, key=of_stack)
        return encoder(TOKENS, LENGTHS, key=key)[0], expected

    found, expected = both(encoder, KEY)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_first_column_can_be_read():
    first = make(dataclasses.replace(SPECS["ndr"], reads="first"))
    expected = dense(first.readout, number(TRACES["ndr"].columns[-1][:, 0]))
    np.testing.assert_allclose(call(first, TOKENS, LENGTHS), expected, atol=1e-5)


def test_the_number_of_layers_in_tests_can_be_changed_after_training():
    longer = MODELS["ndr"].with_test_layers(5)
    expected = make(dataclasses.replace(SPECS["ndr"], test_layers=5))
    np.testing.assert_array_equal(call(longer, TOKENS, LENGTHS), call(expected, TOKENS, LENGTHS))
    assert not np.allclose(call(longer, TOKENS, LENGTHS), LOGITS["ndr"])


def test_logits_are_read_from_what_represents_a_sequence():
    """For encoders, LSTMs and memory networks alike."""
    for name, kind in specs.sequence_specs().items():
        model = MODELS[name] if name in SPECS else make(kind(embedding=4, units=6))
        assert isinstance(model, models.AbstractSequenceClassifier)
        vectors = eqx.filter_jit(type(model).represent)(model, TOKENS, LENGTHS)
        expected = dense(model.readout, number(vectors))
        logits = LOGITS[name] if name in SPECS else call(model, TOKENS, LENGTHS)
        np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_an_odd_width_has_no_sinusoids():
    with pytest.raises(ValueError, match="odd number"):
        sinusoids(jnp.arange(3), 5)
