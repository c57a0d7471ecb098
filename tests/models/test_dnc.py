"""DNCs: memory agrees with a plain loop, keeps its invariants, and each amendment does its part."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models._dropout import dropout

KEY = jax.random.key(0)
LENGTHS = np.array([6, 1, 4])
VARIANTS = [
    dict(zip(("masks", "empties", "sharpens"), chosen, strict=True))
    for chosen in itertools.product((False, True), repeat=3)
]


@eqx.filter_jit
def made(**options):
    # Biases too are drawn, so that all of them matter.
    sizes = {"units": 4, "cells": 5, "word": 3, "heads": 2} | options
    dnc = models.DNC(3, 2, key=KEY, **sizes)
    learns, stays = eqx.partition(dnc, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(learns)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    drawn = [jax.random.normal(k, x.shape, x.dtype) for k, x in zip(keys, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, drawn), stays)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_plus(x):
    return 1 + np.log(1 + np.exp(x))


def slow_lookup(cells, key, strength, mask):
    cosines = np.array(
        [
            (key * mask)
            @ (row * mask)
            / (np.linalg.norm(key * mask) * np.linalg.norm(row * mask) + 1e-6)
            for row in cells
        ]
    )
    scores = np.exp(strength * cosines)
    return scores / scores.sum()


def slow_sharpen(weights, power):
    weights = weights + 1e-6
    raised = (weights / weights.max()) ** power
    return raised / raised.sum()


def slow(dnc, rows):
    """Outputs of one sequence, cell by cell and head by head."""
    n, w, r = dnc.cells, dnc.word, dnc.heads
    controller = dnc.controller
    recurrent = isinstance(controller, models.LSTMController)
    units = len(controller.layers[0].bias) // (4 if recurrent else 1)
    hiddens, states = ([np.zeros(units) for _ in controller.layers] for _ in range(2))
    memory, usage, links = np.zeros((n, w)), np.zeros(n), np.zeros((n, n))
    precedence, written, read = np.zeros(n), np.zeros(n), np.zeros((r, n))
    outputs = []
    for x in np.asarray(rows, float):
        words = np.concatenate([memory.T @ read[i] for i in range(r)])
        for place, layer in enumerate(controller.layers):
            weight, bias = np.asarray(layer.weight), np.asarray(layer.bias)
            if recurrent:
                below = [hiddens[place - 1]] if place else []
                pre = np.concatenate([x, words, *below, hiddens[place]]) @ weight + bias
                i, f, g, o = np.split(pre, 4)
                states[place] = sigmoid(f) * states[place] + sigmoid(i) * np.tanh(g)
                hiddens[place] = sigmoid(o) * np.tanh(states[place])
            else:
                below = hiddens[place - 1] if place else np.concatenate([x, words])
                hiddens[place] = np.maximum(below @ weight + bias, 0)
        hidden = np.concatenate(hiddens) if recurrent else hiddens[-1]
        says = np.asarray(dnc.interface.weight).T @ hidden + np.asarray(dnc.interface.bias)
        says = list(np.clip(says, -20, 20))

        def take(count, says=says):
            part = np.array(says[:count])
            del says[:count]
            return part

        read_keys = take(r * w).reshape(r, w)
        read_strengths, write_key, write_strength = one_plus(take(r)), take(w), one_plus(take(1)[0])
        erased, vector, free = sigmoid(take(w)), take(w), sigmoid(take(r))
        allocates, writes = sigmoid(take(1)[0]), sigmoid(take(1)[0])
        modes = np.exp(take(3 * r).reshape(r, 3))
        modes /= modes.sum(axis=1, keepdims=True)
        write_mask, read_masks = np.ones(w), np.ones((r, w))
        if dnc.masks:
            write_mask = sigmoid(take(w)) * (1 - dnc.mask_min) + dnc.mask_min
            read_masks = sigmoid(take(r * w).reshape(r, w)) * (1 - dnc.mask_min) + dnc.mask_min
        if dnc.sharpens:
            forward_power, backward_power = one_plus(take(r)), one_plus(take(r))
        assert not says

        kept = np.ones(n)
        for head in range(r):
            kept *= 1 - free[head] * read[head]
        usage = (usage + written - usage * written) * kept
        safe = usage * (1 - 1e-6) + 1e-6
        allocated, taken = np.zeros(n), 1.0
        for place in np.argsort(safe, kind="stable"):
            allocated[place] = (1 - safe[place]) * taken
            taken *= safe[place]
        found = slow_lookup(memory, write_key, write_strength, write_mask)
        written = writes * (allocates * allocated + (1 - allocates) * found)
        new_memory, new_links = np.zeros_like(memory), np.zeros_like(links)
        for a in range(n):
            for b in range(w):
                old = memory[a, b] * (kept[a] if dnc.empties else 1)
                new_memory[a, b] = old * (1 - written[a] * erased[b]) + written[a] * vector[b]
            for b in range(n):
                if a != b:
                    new_links[a, b] = (1 - written[a] - written[b]) * links[a, b]
                    new_links[a, b] += written[a] * precedence[b]
        memory, links = new_memory, new_links
        precedence = (1 - written.sum()) * precedence + written
        new_read = np.zeros_like(read)
        for head in range(r):
            forward, backward = links @ read[head], links.T @ read[head]
            if dnc.sharpens:
                forward = slow_sharpen(forward, forward_power[head])
                backward = slow_sharpen(backward, backward_power[head])
            content = slow_lookup(memory, read_keys[head], read_strengths[head], read_masks[head])
            new_read[head] = modes[head] @ np.array([backward, content, forward])
        read = new_read
        words = np.concatenate([memory.T @ read[i] for i in range(r)])
        says, reads = dnc.output.says, dnc.output.words
        y = hidden @ np.asarray(says.weight) + np.asarray(says.bias)
        outputs.append(y + words @ np.asarray(reads.weight) + np.asarray(reads.bias))
    return np.array(outputs), memory


CONTROLLERS = [
    {"layers": 2},
    {"controller": models.FeedForwardController},
    {"controller": models.FeedForwardController, "layers": 2},
]


@pytest.mark.parametrize(
    "options",
    [
        *VARIANTS[::7],
        *(VARIANTS[place] | other for place, other in zip((3, 5, 6), CONTROLLERS, strict=True)),
    ],
)
def test_a_dnc_agrees_with_a_plain_loop(x64, options):
    dnc = made(**options)
    x = jax.random.normal(jax.random.key(2), (3, 6, 3))
    y, last = eqx.filter_jit(dnc)(x, jnp.asarray(LENGTHS))
    for row, length in enumerate(LENGTHS):
        expected, memory = slow(dnc, x[row, :length])
        np.testing.assert_allclose(y[row, :length], expected, atol=1e-9)
        np.testing.assert_allclose(last.memory.cells[row], memory, atol=1e-9)
        assert not np.asarray(y[row, length:]).any()


def test_the_interface_has_the_size_of_the_paper():
    w, r = 3, 2
    for options in VARIANTS:
        size = w * r + 3 * w + 5 * r + 3
        size += (w + w * r) * options["masks"] + 2 * r * options["sharpens"]
        dnc = eqx.filter_eval_shape(made, **options)
        assert dnc.interface.bias.shape == (size,)
    assert size == 2 * w * r + 4 * w + 7 * r + 3


def test_weights_and_biases_start_as_documented():
    dnc = models.DNC(3, 2, units=40, cells=5, word=3, heads=2, mask_bias=0.7, key=KEY)
    (lstm,) = dnc.controller.layers
    gates = np.split(np.asarray(lstm.weight), 4, axis=1)
    np.testing.assert_array_equal(lstm.bias, np.repeat([0.0, 1.0, 0.0, 0.0], 40))
    bound = np.sqrt(6 / (3 + 6 + 40 + 40))
    for gate, gain in zip(gates, (1, 1, 5 / 3, 1), strict=True):
        assert 0.97 * gain * bound < np.abs(gate).max() <= gain * bound
    bias = np.asarray(dnc.interface.bias)
    assert (bias == np.float32(0.7)).sum() == 3 + 2 * 3
    assert (bias == 0).sum() == len(bias) - 9
    asked = dnc.asked(dnc.interface.bias[None])
    np.testing.assert_allclose(asked.read_masks, 0.9 * sigmoid(0.7) + 0.1, rtol=1e-6)


def test_the_slope_is_finite_where_memory_is_empty():
    dnc = made()
    x = jax.random.normal(KEY, (3, 6, 3))
    slope = eqx.filter_jit(
        eqx.filter_grad(lambda dnc: (dnc(x, jnp.asarray(LENGTHS))[0] ** 2).sum())
    )(dnc)
    for leaf in jax.tree.leaves(slope):
        assert np.isfinite(leaf).all()
        assert np.asarray(leaf).any()


@pytest.mark.parametrize(
    ("options", "count"),
    [((0, 0, 0), 10_250), ((0, 1, 0), 10_250), ((1, 1, 1), 11_372), ((1, 0, 0), 11_306)],
)
def test_a_dnc_of_the_copy_task_has_as_many_parameters_as_published(options, count):
    """7,424 of the controller, 32 n + n of the interface, 297 + 153 of both outputs."""
    chosen = dict(zip(("masks", "empties", "sharpens"), map(bool, options), strict=True))
    dnc = eqx.filter_eval_shape(models.DNC, 9, 9, units=32, cells=16, word=16, key=KEY, **chosen)
    assert models.count_parameters(dnc) == count
    assert models.count_parameters(dnc.controller) == 7_424


def plain_outputs(dnc, x, lengths):
    """Outputs step by step, without the loop's own derivative."""
    given, weights = dnc._layers(x)
    reads = jnp.arange(x.shape[1])[:, None] < lengths

    def step(state, now):
        given, reads = now

        def sums(layer, fed):
            return given[layer] + fed @ weights[layer]

        says, after, _, _ = dnc._cycle().step(sums, state, reads)
        y = dnc.output(says, after[1].words.reshape(len(x), -1))
        return after, jnp.where(reads[:, None], y, 0)

    return jax.lax.scan(step, tuple(dnc.start(len(x))), (given, reads))[1].swapaxes(0, 1)


@pytest.mark.parametrize("options", [{**VARIANTS[7], "layers": 2}, VARIANTS[0] | CONTROLLERS[2]])
def test_the_derivative_of_the_loop_is_that_of_a_plain_one(x64, options):
    """Seven steps do not fill the segments of the loop: what fills them up must not count."""
    dnc = made(**options)
    x = jax.random.normal(jax.random.key(2), (3, 7, 3))
    lengths = jnp.array([7, 1, 4])
    weight = jax.random.normal(jax.random.key(3), (3, 7, 2))

    def by(outputs):
        def total(dnc, x):
            return (weight * outputs(dnc, x)).sum()

        return eqx.filter_jit(eqx.filter_value_and_grad(lambda both: total(*both)))((dnc, x))

    value, slope = by(lambda dnc, x: dnc(x, lengths)[0])
    expected, plain = by(lambda dnc, x: plain_outputs(dnc, x, lengths))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for one, other in zip(jax.tree.leaves(slope), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
        assert np.asarray(other).any()


# The parts of the interface before the gate that allocates, of two heads and words of three.
ALLOCATES_AFTER = 2 * 3, 2, 3, 1, 3, 3, 2


def test_the_derivative_agrees_with_finite_differences(x64):
    dnc = made()
    x = jax.random.normal(jax.random.key(2), (2, 5, 3))
    learns, stays = eqx.partition(dnc, eqx.is_inexact_array)
    weight = jax.random.normal(jax.random.key(3), (2, 5, 2))

    @jax.jit
    def total(learns):
        return (weight * eqx.combine(learns, stays)(x)[0]).sum()

    # Usage is blind to the last writing by intent, and then the derivative is not that of the
    # outputs. Where writing follows content alone, usage decides nothing.
    by_content = learns.interface.bias.at[sum(part for part in ALLOCATES_AFTER)].set(-1e3)
    learns = eqx.tree_at(lambda m: m.interface.bias, learns, by_content)
    slope = jax.jit(jax.grad(total))(learns)
    leaves, tree = jax.tree.flatten(learns)
    for place, leaf in enumerate(leaves):
        moved = jax.random.normal(jax.random.key(place), leaf.shape)
        ends = [
            total(
                jax.tree.unflatten(tree, [*leaves[:place], leaf + s * moved, *leaves[place + 1 :]])
            )
            for s in (1e-6, -1e-6)
        ]
        along = (jax.tree.leaves(slope)[place] * moved).sum()
        np.testing.assert_allclose(along, (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-8)
        assert along != 0


def test_a_trace_has_the_outputs_and_what_led_to_them():
    dnc = made()
    x = jax.random.normal(jax.random.key(2), (3, 6, 3))
    trace = eqx.filter_jit(dnc.trace)(x)
    y, last = eqx.filter_jit(dnc)(x)
    np.testing.assert_allclose(trace.outputs, y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trace.read[:, -1], last.memory.read, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(trace.usage[:, -1], last.memory.usage, rtol=1e-5, atol=1e-6)
    assert trace.asked.modes.shape == (3, 6, 2, 3)
    assert trace.asked.read_masks.shape == (3, 6, 2, 3)
    # Sharpened distributions sum to 1, those before need not.
    np.testing.assert_allclose(trace.reading.forward.sum(axis=3), 1, rtol=1e-5)
    assert np.asarray(trace.reading.plain_forward).sum(axis=3).max() < 0.99


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cells": 0}, "cells=0 is less than 1"),
        ({"heads": -1}, "heads=-1 is less than 1"),
        ({"mask_min": 1.0}, "mask_min=1 is not at least 0"),
    ],
)
def test_sizes_that_make_no_memory_are_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        models.DNC(3, 2, **({"units": 4, "cells": 5, "word": 3, "key": KEY} | options))


@pytest.mark.parametrize("output_layer", [False, True])
def test_a_classifier_reads_the_output_at_the_last_token(output_layer):
    """In training some of the numbers of embeddings are dropped, and nothing else."""
    network = eqx.filter_jit(models.MemoryClassifier)(
        5, 3, embedding=4, units=6, cells=4, word=3, heads=2, output_layer=output_layer, key=KEY
    )
    tokens, lengths = jnp.array([[1, 2, 5, 0], [3, 0, 0, 0]]), jnp.array([3, 1])
    call = eqx.filter_jit(lambda network, *given, key=None: network(*given, key=key))
    logits = call(network, tokens, lengths)
    for key, found in ((None, logits), (KEY, call(network, tokens, lengths, key=KEY))):
        x = dropout(network.embedding(tokens), 0.5, key=key)
        y, _ = eqx.filter_jit(network.dnc)(x, lengths)
        assert y.shape[2] == (6 if output_layer else 6 + 2 * 3)
        read = network.readout(jnp.stack([y[0, 2], y[1, 0]]))
        np.testing.assert_allclose(found, read, rtol=1e-5, atol=1e-6)
    assert not network.dnc.masks
    assert network.dnc.empties
    assert network.dnc.sharpens
    padded = call(network, jnp.pad(tokens, ((0, 0), (0, 3))), lengths)
    np.testing.assert_allclose(padded, logits, rtol=1e-5, atol=1e-6)
