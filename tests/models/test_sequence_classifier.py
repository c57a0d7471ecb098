"""Encoders: parts agree with plain loops, padding changes nothing, sizes are the paper's."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from recombine import models
from recombine.models._dropout import dropout, kept
from recombine.models._relative_attention import by_source

KEY = jax.random.key(0)
CONFIG = models.EncoderConfig(size=8, hidden=6, heads=2, steps=3)
TOKENS = jnp.array([[1, 5, 3, 2, 4], [2, 3, 1, 0, 0], [4, 4, 0, 0, 0]])
LENGTHS = jnp.array([5, 3, 2])
ONES = jnp.ones((300, 400))
NAMES = list(models.SEQUENCE_CLASSIFIERS)


def make(name, config=CONFIG):
    """A model with random numbers for all weights, also those that start at 0 or 1."""
    shapes = eqx.filter_eval_shape(models.SEQUENCE_CLASSIFIERS[name], 5, 4, config, key=KEY)
    generator = np.random.default_rng(0)

    def fill(leaf):
        drawn = generator.normal(scale=0.5, size=leaf.shape)
        return jnp.asarray(drawn.astype(np.float32))

    is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)  # noqa: E731
    return jax.tree.map(lambda leaf: fill(leaf) if is_shape(leaf) else leaf, shapes)


@eqx.filter_jit
def trace(model, tokens, lengths):
    return model.trace(tokens, lengths)


@eqx.filter_jit
def call(model, tokens, lengths, key=None):
    return model(tokens, lengths, key=key)


@eqx.filter_jit
def weigh(scores, columns, queries, keys, there):
    return scores(columns, queries, keys, there, key=None)


MODELS = {name: make(name) for name in NAMES}
TRACES = {name: trace(model, TOKENS, LENGTHS) for name, model in MODELS.items()}
LOGITS = call(MODELS["NDR"], TOKENS, LENGTHS)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def dense(layer, x):
    y = x @ np.asarray(layer.weight, float)
    return y if layer.bias is None else y + np.asarray(layer.bias, float)


def norm(layer, x):
    deviations = x - x.mean(-1, keepdims=True)
    x = deviations / np.sqrt((deviations**2).mean(-1, keepdims=True) + 1e-5)
    return x * np.asarray(layer.scale, float) + np.asarray(layer.offset, float)


def sinusoid(position, size):
    angles = [position / 10_000 ** (2 * (c // 2) / size) for c in range(size)]
    return np.array([np.cos(a) if c % 2 else np.sin(a) for c, a in enumerate(angles)])


def plain_weights(attention, h, head, q, k):
    """Weights of one head and sequence, target by target."""
    scores, (length, d) = attention.scores, h.shape
    part = slice(head * q.shape[1], (head + 1) * q.shape[1])
    weights = np.zeros((length, length))
    for i in range(length):
        if isinstance(scores, models.GeometricScores):
            sides = dense(scores.direction, h[i])
            p = np.zeros(length)
            for j in range(length):
                side = sides[head] if j > i else sides[attention.heads + head]
                match = float(scores.alpha) * (q[i] @ k[j])
                p[j] = (j != i) * sigmoid(match + float(scores.beta) * side + float(scores.gamma))
            # From the closest to the farthest, right before left.
            left = 1.0
            for j in sorted(set(range(length)) - {i}, key=lambda j: (abs(i - j), j < i)):
                weights[i, j], left = left * p[j], left * (1 - p[j])
            if scores.normalised:
                weights[i] /= weights[i].sum()
            continue
        logits = np.zeros(length)
        for j in range(length):
            if isinstance(scores, models.SoftmaxScores):
                logits[j] = q[i] @ k[j] / np.sqrt(q.shape[1])
                continue
            place = sinusoid(j - i, d)
            if scores.gate is not None:
                r = sigmoid(dense(scores.gate, h[i])[head])
                place = r * place + (1 - r) * sinusoid(j, d)
            position = (place @ np.asarray(scores.position, float))[part]
            content = (q[i] + np.asarray(scores.content_bias[head], float)) @ k[j]
            bias = np.asarray(scores.position_bias[head], float)
            logits[j] = float(scores.scale) * (content + (q[i] + bias) @ position)
        weights[i] = np.exp(logits - logits.max())
        weights[i] /= weights[i].sum()
    return weights


def plain_step(layer, h):
    """One step of one sequence: columns, weights of all heads and gates."""
    attention, d = layer.attention, h.shape[1]
    size = d // attention.heads
    q, kv = dense(attention.query, h), dense(attention.key_value, h)
    weights, read = [], np.zeros_like(h)
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        k, v = kv[:, :d][:, part], kv[:, d:][:, part]
        weights.append(plain_weights(attention, h, head, q[:, part], k))
        read[:, part] = weights[-1] @ v
    read = dense(attention.output, read)
    if isinstance(layer, models.PostNormLayer):
        a = norm(layer.norms[0], h + read)
        after = norm(layer.norms[1], a + dense(layer.outer, np.maximum(dense(layer.inner, a), 0)))
        return after, weights, None
    a = norm(layer.norm, h + read)
    inner = dense(layer.inner, a)
    if layer.residual:
        hidden = inner * (1 + erf(inner / np.sqrt(2))) / 2
    else:
        hidden = np.maximum(inner, 0)
    width = len(layer.data.weight)
    data = dense(layer.data, hidden[:, :width])
    data = data + a if layer.residual else data
    data = np.tanh(data) if layer.data_norm is None else norm(layer.data_norm, data)
    gate = sigmoid(dense(layer.gate, hidden[:, width:]))
    return gate * data + (1 - gate) * h, weights, gate


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_agrees_with_a_plain_loop(name):
    model, seen = MODELS[name], TRACES[name]
    for row, length in enumerate(LENGTHS):
        h = np.asarray(model.embedding, float)[np.asarray(TOKENS[row, :length]) - 1]
        if model.absolute:
            h = h + np.stack([sinusoid(i, h.shape[1]) for i in range(length)])
        for t in range(model.steps):
            h, weights, gates = plain_step(model.layers, h)
            found = seen.attention[t, row, :, :length, :length]
            np.testing.assert_allclose(found, weights, atol=1e-5)
            np.testing.assert_allclose(seen.columns[t, row, :length], h, atol=2e-5)
            assert (gates is None) == (seen.gates is None)
            if gates is not None:
                np.testing.assert_allclose(seen.gates[t, row, :length], gates, atol=1e-5)
        if name == "NDR":
            np.testing.assert_allclose(LOGITS[row], dense(model.readout, h[-1]), atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_padding_is_never_read_and_changes_nothing(name):
    seen = TRACES[name]
    other = trace(MODELS[name], jnp.where(TOKENS == 0, 5, TOKENS), LENGTHS)
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(seen.attention[:, row, :, :, length:], 0)
        there = (slice(None), row, slice(length))
        np.testing.assert_allclose(other.columns[there], seen.columns[there], atol=1e-6)


def test_a_shifted_sequence_has_the_same_relative_scores():
    """Columns see where others are from where they are, not where they are themselves."""
    scores = MODELS["+ rel"].layers.attention.scores
    q, k = np.random.default_rng(1).normal(size=(2, 2, 1, 4, 4)).astype(np.float32)
    weights = weigh(scores, np.zeros((4, 8), np.float32), q, k, np.ones((1, 4), bool))
    there = np.array([[False, False, True, True, True, True]])
    later, later_k = (np.pad(x, [(0, 0)] * 2 + [(2, 0), (0, 0)]) for x in (q, k))
    shifted = weigh(scores, np.zeros((6, 8), np.float32), later, later_k, there)
    np.testing.assert_allclose(shifted[:, :, 2:, 2:], weights, atol=1e-6)


def test_open_and_closed_position_gates_choose_relative_or_absolute_positions():
    scores = MODELS["+ abs/rel + gate"].layers.attention.scores
    q, k = np.random.default_rng(1).normal(size=(2, 2, 1, 4, 4)).astype(np.float32)
    columns, there = np.zeros((4, 8), np.float32), np.ones((1, 4), bool)

    def at(bias):
        gated = eqx.tree_at(lambda s: s.gate.bias, scores, jnp.full(2, bias))
        return weigh(gated, columns, q, k, there)

    relative = eqx.tree_at(lambda s: s.gate, scores, None, is_leaf=lambda x: x is scores.gate)
    np.testing.assert_allclose(at(40.0), weigh(relative, columns, q, k, there), atol=1e-6)
    places = np.stack([sinusoid(j, 8) for j in range(4)]) @ np.asarray(scores.position)
    places = places.reshape(4, 2, 4).swapaxes(0, 1)
    content = (q[:, 0] + scores.content_bias[:, None]) @ k[:, 0].swapaxes(1, 2)
    position = (q[:, 0] + scores.position_bias[:, None]) @ places.swapaxes(1, 2)
    expected = np.exp(float(scores.scale) * (content + position))
    expected /= expected.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(at(-40.0)[:, 0], expected, atol=1e-5)


def test_offsets_become_sources():
    rows = jax.jit(by_source)(jnp.tile(jnp.arange(-3.0, 4.0), (1, 1, 4, 1)))[0, 0]
    np.testing.assert_array_equal(rows, np.arange(4) - np.arange(4)[:, None])


def test_closed_gates_copy_a_column_exactly_and_open_ones_replace_it():
    model = MODELS["NDR"]
    bias = lambda m: m.layers.gate.bias  # noqa: E731
    shut = trace(eqx.tree_at(bias, model, jnp.full(8, -1e9)), TOKENS, LENGTHS)
    np.testing.assert_array_equal(shut.columns[-1][0], model.embedding[TOKENS[0] - 1])
    np.testing.assert_array_equal(shut.gates, 0)
    wide = trace(eqx.tree_at(bias, model, jnp.full(8, 1e9)), TOKENS, LENGTHS)
    np.testing.assert_array_equal(wide.gates, 1)
    norm = model.layers.data_norm
    standard = (wide.columns[-1] - norm.offset) / norm.scale
    np.testing.assert_allclose(standard.mean(axis=2), 0, atol=1e-4)


def test_gates_start_nearly_closed_one_a_channel():
    assert TRACES["NDR"].gates.shape == (3, 3, 5, 8)
    model = eqx.filter_jit(models.neural_data_router)(5, 4, CONFIG, key=KEY)
    np.testing.assert_array_equal(model.layers.gate.bias, -3)
    # Inputs of a gate are of the order of 1, so that most gates are close to σ(−3) = 0.047.
    assert 0.02 < np.median(trace(model, TOKENS, LENGTHS).gates) < 0.1


def test_gate_dropout_copies_whole_columns():
    often = dataclasses.replace(CONFIG, dropout=0.0, attention_dropout=0.0, gate_dropout=0.5)
    layer = make("NDR", often).layers
    columns = jax.random.normal(KEY, (400, 8))
    step = eqx.filter_jit(lambda key: layer(columns, jnp.ones((40, 10), bool), key=key))
    after, _, gates = step(jax.random.key(1))
    after, gates, columns = map(np.asarray, (after, gates, columns))
    dropped = (gates == 0).all(axis=1)
    np.testing.assert_array_equal(dropped, (gates == 0).any(axis=1))
    assert 0.4 < dropped.mean() < 0.6
    np.testing.assert_array_equal((after == columns).all(axis=1), dropped)


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


def test_training_drops_out_anew_at_every_step_and_for_every_key():
    model = MODELS["NDR"]
    drawn = lambda key: call(model, TOKENS, LENGTHS, key)  # noqa: E731
    assert np.array_equal(drawn(KEY), drawn(KEY))
    assert not np.allclose(drawn(KEY), drawn(jax.random.key(1)))
    assert not np.allclose(drawn(KEY), LOGITS)


def test_more_steps_at_test_are_the_same_layer_again():
    longer = dataclasses.replace(CONFIG, test_steps=5)
    seen = trace(make("NDR", longer), TOKENS, LENGTHS)
    np.testing.assert_allclose(seen.columns[:3], TRACES["NDR"].columns, atol=1e-6)
    assert len(seen.columns) == 5
    same = trace(make("NDR", CONFIG).with_test_steps(5), TOKENS, LENGTHS)
    np.testing.assert_array_equal(same.columns, seen.columns)
    assert not np.allclose(seen.columns[4], seen.columns[2])


def test_separate_layers_that_are_alike_are_a_shared_one():
    shared = MODELS["+ rel"]
    separate = make("+ rel", dataclasses.replace(CONFIG, separate=True))
    weights = models.count_parameters(separate.layers), models.count_parameters(shared.layers)
    assert weights[0] == 3 * weights[1]
    copies = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), shared.layers)
    alike = eqx.tree_at(
        lambda m: (m.layers, m.embedding, m.readout),
        separate,
        (copies, shared.embedding, shared.readout),
    )
    last = jnp.arange(3), LENGTHS - 1
    expected = dense(shared.readout, np.asarray(TRACES["+ rel"].columns[-1][last], float))
    np.testing.assert_allclose(call(alike, TOKENS, LENGTHS), expected, atol=1e-5)
    with pytest.raises(ValueError, match="as many as steps"):
        make("+ rel", dataclasses.replace(CONFIG, separate=True, test_steps=4))


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("name", ["+ rel", "NDR"])
def test_large_encoders_compute_steps_again_instead_of_keeping_them(name, separate, monkeypatch):
    model = make(name, dataclasses.replace(CONFIG, steps=6, separate=separate))

    def gradient_of(many):
        monkeypatch.setattr(models._sequence_classifier, "_MANY", many)
        loss = lambda model, key: jnp.sum(model(TOKENS, LENGTHS, key=key) ** 2)  # noqa: E731
        compiled = eqx.filter_jit(eqx.filter_value_and_grad(loss)).lower(model, KEY).compile()
        memory = compiled.compiled.memory_analysis().temp_size_in_bytes
        return jax.tree.leaves(compiled(model, KEY)), memory

    plain, kept_memory = gradient_of(2**27)
    again, memory = gradient_of(0)
    assert memory < 0.7 * kept_memory
    for ours, theirs in zip(again, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_first_column_can_be_read():
    first = make("NDR", dataclasses.replace(CONFIG, reads_last=False))
    expected = dense(first.readout, np.asarray(TRACES["NDR"].columns[-1][:, 0], float))
    np.testing.assert_allclose(call(first, TOKENS, LENGTHS), expected, atol=1e-5)


def parameters(make, *arguments, **options):
    return models.count_parameters(eqx.filter_eval_shape(make, *arguments, key=KEY, **options))


@pytest.mark.parametrize("name", NAMES)
def test_a_shared_layer_has_as_many_parameters_at_any_depth(name):
    deep = dataclasses.replace(CONFIG, steps=20)
    make = models.SEQUENCE_CLASSIFIERS[name]
    assert parameters(make, 5, 4, deep) == parameters(make, 5, 4, CONFIG)


def test_parameters_are_as_many_as_the_papers():
    """Table E.1: 40 words, an end and, for transformers, a beginning."""
    router = models.EncoderConfig(size=256, hidden=512, heads=4, steps=8)
    assert parameters(models.residual_data_router, 42, 8, router) == 673_299
    encoder = models.EncoderConfig(size=128, hidden=256, heads=4, steps=8)
    assert parameters(models.relative_transformer, 42, 8, encoder) == 155_018
    lstm = parameters(
        models.RecurrentClassifier, 41, 8, embedding=256, units=256, bidirectional=True
    )
    assert lstm == 407_816


def test_an_encoder_with_odd_parts_is_refused():
    with pytest.raises(ValueError, match="cannot be cut into 3 heads"):
        models.EncoderConfig(size=8, heads=3)
    with pytest.raises(ValueError, match="heads=0 is less than 1"):
        models.EncoderConfig(size=8, heads=0)
    with pytest.raises(ValueError, match=r"dropout rate of 1\.5 is not at least 0"):
        kept((2,), 1.5, key=jax.random.key(0))
    with pytest.raises(ValueError, match="layers=0 is less than 1"):
        models.RecurrentClassifier(3, 2, embedding=4, units=4, layers=0, key=jax.random.key(0))
    with pytest.raises(ValueError, match="at least 1 step"):
        make("NDR", dataclasses.replace(CONFIG, steps=0))
    with pytest.raises(ValueError, match="odd number"):
        models.sinusoids(jnp.arange(3), 5)
