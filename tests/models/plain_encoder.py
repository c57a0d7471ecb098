"""The blocks of encoders once more: number by number, in double precision, with given dropout."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erf

from recombine import models
from recombine.models import specs
from recombine.models._dropout import kept

KEY = jax.random.key(0)
SIZES = specs.SequenceSizes(vocabulary=5, classes=4)
SMALL = {"width": 8, "hidden": 6, "heads": 2, "layers": 3, "dropout": 0.5}
SPECS = {
    name: kind(**SMALL, test_layers=None)
    for name, kind in specs.sequence_specs().items()
    if issubclass(kind, specs.AbstractEncoderSpec)
}
"""Small encoders, by name."""


def filled(tree):
    """The same network with random numbers for all weights, also those that start at 0 or 1."""
    generator = np.random.default_rng(0)

    def fill(leaf):
        return jnp.asarray(generator.normal(scale=0.5, size=leaf.shape), leaf.dtype)

    is_array = lambda leaf: hasattr(leaf, "dtype")  # noqa: E731
    return jax.tree.map(lambda leaf: fill(leaf) if is_array(leaf) else leaf, tree)


def make(spec):
    """A small network of random numbers. Nothing is compiled."""
    return filled(eqx.filter_eval_shape(spec.build, SIZES, KEY))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def number(x):
    return np.asarray(x, float)


def dense(layer, x):
    y = x @ number(layer.weight)
    return y if layer.bias is None else y + number(layer.bias)


def norm(layer, x):
    deviations = x - x.mean(-1, keepdims=True)
    x = deviations / np.sqrt((deviations**2).mean(-1, keepdims=True) + 1e-5)
    return x * number(layer.scale) + number(layer.offset)


def sinusoid(position, width):
    angles = [position / 10_000 ** (2 * (c // 2) / width) for c in range(width)]
    return np.array([np.cos(a) if c % 2 else np.sin(a) for c, a in enumerate(angles)])


def keys_of(key, count):
    return [None] * count if key is None else list(jax.random.split(key, count))


def dropped(x, rate, key):
    """Dropout of x by the numbers that a key draws."""
    if key is None or rate == 0:
        return x
    return np.where(kept(x.shape, rate, key=key), x / (1 - rate), 0)


def plain_scores(scores, targets, q, k, mask, at, key):
    """Weights of `[heads, batch, targets, sources]`, target by target and source by source."""
    heads, batch, length, width = q.shape
    sources = k.shape[2]
    weights = np.zeros((heads, batch, length, sources))
    if isinstance(scores, models.RelativeScores):
        of_content, of_positions, of_weights = keys_of(key, 3)
        scale = width**-0.5 if scores.scale is None else float(scores.scale)
        k = dropped(k, scores.dropout, of_content)
        last = sources - 1 if at is not None or scores.gate is not None else length - 1
        offsets = range(1 - sources, last + 1)
        places = np.stack([sinusoid(o, heads * width) for o in offsets]) @ number(scores.position)
        places = places.reshape(-1, heads, width).swapaxes(0, 1)
        places = dropped(places, scores.dropout, of_positions)
    elif isinstance(scores, models.GeometricScores):
        k = dropped(k, scores.dropout, key)
    for h, b, t in np.ndindex(heads, batch, length):
        i = sources - length + t if at is None else int(at[b, t])
        query, row, readable = q[h, b, t], targets[b, t], np.flatnonzero(mask[b, t])
        if isinstance(scores, models.GeometricScores):
            sides, left = dense(scores.direction, row), 1.0
            # From the closest to the farthest, right before left.
            for j in sorted(set(readable) - {i}, key=lambda j: (abs(i - j), j < i)):
                side = sides[h] if j > i else sides[heads + h]
                logit = float(scores.alpha) * (query @ k[h, b, j])
                p = sigmoid(logit + float(scores.beta) * side + float(scores.gamma))
                weights[h, b, t, j], left = left * p, left * (1 - p)
            if scores.normalised:
                weights[h, b, t] /= weights[h, b, t].sum()
            continue
        for j in readable:
            if isinstance(scores, models.SoftmaxScores):
                weights[h, b, t, j] = np.exp(query @ k[h, b, j] / np.sqrt(width))
                continue
            place = places[h, j - i + sources - 1]
            if scores.gate is not None:
                r = sigmoid(dense(scores.gate, row)[h])
                place = r * place + (1 - r) * places[h, j + sources - 1]
            logit = (query + number(scores.content_bias[h])) @ k[h, b, j]
            logit += (query + number(scores.position_bias[h])) @ place
            weights[h, b, t, j] = np.exp(scale * logit)
        weights[h, b, t] /= weights[h, b, t].sum()
    if isinstance(scores, models.SoftmaxScores):
        weights = dropped(weights, scores.dropout, key)
    if isinstance(scores, models.RelativeScores):
        weights = dropped(weights, scores.weight_dropout, of_weights)
    return weights


def plain_attention(attention, targets, sources, mask, at, key):
    """What is read, and the weights."""
    mask = np.broadcast_to(mask, (len(targets), targets.shape[1], sources.shape[1]))

    def by_head(x):
        return np.moveaxis(x.reshape(*x.shape[:2], attention.heads, -1), 2, 0)

    k, v = map(by_head, np.split(dense(attention.key_value, sources), 2, axis=2))
    q = by_head(dense(attention.query, targets))
    weights = plain_scores(attention.scores, targets, q, k, mask, at, key)
    read = np.concatenate(list(np.einsum("hbij,hbjd->hbid", weights, v)), axis=2)
    return dense(attention.output, read), weights


def plain_feed_forward(network, x, key):
    inner = dense(network.inner, x)
    gelu = inner * (1 + erf(inner / np.sqrt(2))) / 2
    hidden = np.maximum(inner, 0) if network.activation is jax.nn.relu else gelu
    return dense(network.outer, dropped(hidden, network.dropout, key))


def plain_block(block, targets, sources, mask, at=None, key=None):
    """The targets after a block, the weights of its attention and its gates, if any."""
    targets, sources = number(targets), number(sources)
    if isinstance(block, models.CopyGate):
        keys = keys_of(key, 5)
        read, weights = plain_attention(block.attention, targets, sources, mask, at, keys[0])
        a = norm(block.norm, targets + dropped(read, block.dropout, keys[1]))
        data = plain_feed_forward(block.data, a, keys[2])
        data = data + a if block.residual else data
        data = np.tanh(data) if block.data_norm is None else norm(block.data_norm, data)
        gates = sigmoid(plain_feed_forward(block.gate, a, keys[3]))
        if keys[4] is not None:
            # A column is copied or not; nothing is scaled up.
            gates = gates * np.asarray(kept((*gates.shape[:2], 1), block.gate_dropout, key=keys[4]))
        return gates * data + (1 - gates) * targets, weights, gates
    keys, (first, second) = keys_of(key, 4), block.norms
    rate, pre = block.dropout, isinstance(block, models.PreNorm)
    x, y = (norm(first, targets), norm(first, sources)) if pre else (targets, sources)
    read, weights = plain_attention(block.attention, x, y, mask, at, keys[0])
    a = targets + dropped(read, rate, keys[1])
    a = a if pre else norm(first, a)
    update = plain_feed_forward(block.feed_forward, norm(second, a) if pre else a, keys[2])
    after = a + dropped(update, rate, keys[3])
    return after if pre else norm(second, after), weights, None
