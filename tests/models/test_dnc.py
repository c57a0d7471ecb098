"""DNCs: memory agrees with a plain loop, keeps its invariants, and each amendment does its part."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine import models
from recombine.models import _dnc
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
    dnc = models.DNC(3, 2, units=4, cells=5, word=3, heads=2, key=KEY, **options)
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
    units = dnc.controller.units
    hidden, cell = np.zeros(units), np.zeros(units)
    memory, usage, links = np.zeros((n, w)), np.zeros(n), np.zeros((n, n))
    precedence, written, read = np.zeros(n), np.zeros(n), np.zeros((r, n))
    outputs = []
    for x in np.asarray(rows, float):
        words = np.concatenate([memory.T @ read[i] for i in range(r)])
        pre = np.concatenate([x, words, hidden]) @ np.asarray(dnc.controller.weight)
        i, f, g, o = np.split(pre + np.asarray(dnc.controller.bias), 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
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
        heard = np.concatenate([hidden, words])
        outputs.append(np.asarray(dnc.output.weight).T @ heard + np.asarray(dnc.output.bias))
    return np.array(outputs), memory


@pytest.mark.parametrize("options", [VARIANTS[place] for place in (0, 3, 4, 7)])
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
    gates = np.split(np.asarray(dnc.controller.weight), 4, axis=1)
    bound = np.sqrt(6 / (3 + 6 + 40 + 40))
    for gate, gain in zip(gates, (1, 1, 5 / 3, 1), strict=True):
        assert 0.97 * gain * bound < np.abs(gate).max() <= gain * bound
    bias = np.asarray(dnc.interface.bias)
    assert (bias == np.float32(0.7)).sum() == 3 + 2 * 3
    assert (bias == 0).sum() == len(bias) - 9
    asked = dnc.asked(dnc.interface.bias)
    np.testing.assert_allclose(asked.read_masks, 0.9 * sigmoid(0.7) + 0.1, rtol=1e-6)


@pytest.mark.parametrize("sharpens", [False, True])
def test_invariants_of_memory(sharpens):
    dnc = made(masks=True, empties=True, sharpens=sharpens)
    memory = jax.tree.map(lambda x: x[0], dnc.start(1).memory)
    size = len(dnc.interface.bias)
    step = jax.jit(lambda says, memory: _dnc.access(dnc.asked(says), memory, empties=True))
    for key in jax.random.split(KEY, 40):
        memory = step(5 * jax.random.normal(key, (size,)), memory)
        usage, links = np.asarray(memory.usage), np.asarray(memory.links)
        assert (usage >= 0).all()
        assert (usage <= 1).all()
        assert 0 <= memory.written.sum() <= 1 + 1e-6
        for sums in (links.sum(axis=0), links.sum(axis=1)):
            assert (sums >= -1e-6).all()
            assert (sums <= 1 + 1e-6).all()
        assert (np.diag(links) == 0).all()
        total = np.asarray(memory.read.sum(axis=1))
        assert (total <= 1 + 1e-5).all()
        assert not sharpens or (total >= 1 - 1e-5).all()
        given = _dnc.allocation(memory.usage)
        np.testing.assert_allclose(given.sum(), 1 - np.prod(usage), atol=1e-4)


def test_a_mask_of_ones_changes_nothing_and_closed_gates_empty_nothing():
    cells, key = jax.random.normal(KEY, (4, 3)), jnp.array([1.0, -2.0, 0.5])
    masked = _dnc.lookup(cells, key, jnp.array(10.0), jnp.ones(3))
    np.testing.assert_array_equal(masked, _dnc.lookup(cells, key, jnp.array(10.0)))
    dnc = made(masks=False, sharpens=False)
    asked = dnc.asked(jax.random.normal(KEY, dnc.interface.bias.shape))._replace(frees=jnp.zeros(2))
    memory = jax.tree.map(lambda x: jnp.full(x.shape[1:], 0.1), dnc.start(1).memory)
    step = jax.jit(_dnc.access, static_argnames="empties")
    kept, emptied = (step(asked, memory, empties=e) for e in (False, True))
    jax.tree.map(np.testing.assert_array_equal, kept, emptied)


def test_masks_find_words_of_which_little_is_known():
    cells = jax.random.normal(KEY, (20, 32, 32))

    def on_target(known, masked):
        mask = (jnp.arange(32) < known) * 1.0
        weights = jax.vmap(
            lambda cells: jax.vmap(
                lambda row: _dnc.lookup(
                    cells, row * mask, jnp.array(10.0), mask if masked else None
                )
            )(cells)
        )(cells)
        found = (weights.argmax(axis=2) == jnp.arange(32)).mean()
        return float(found), float(jnp.diagonal(weights, axis1=1, axis2=2).mean())

    # Known numbers: share found and mean weight, without and with a mask.
    expected = {3: (0.25, 0.16, 0.43), 8: (0.88, 0.55, 0.90), 16: (0.99, 0.87, 0.98)}
    for known, (share, plain, masked) in expected.items():
        found, weight = on_target(known, False)
        assert abs(found - share) < 0.05
        assert abs(weight - plain) < 0.05
        found, weight = on_target(known, True)
        assert found > 0.99
        assert abs(weight - masked) < 0.05


def test_a_freed_cell_is_found_unless_it_is_emptied():
    dnc = made(masks=False, sharpens=False)
    word = jnp.array([0.6, 0.8, 0.0])
    memory = jax.tree.map(lambda x: x[0], dnc.start(1).memory)
    memory = memory._replace(
        cells=memory.cells.at[1].set(word).at[2, 2].set(1.0), read=jnp.eye(5)[jnp.array([1, 1])]
    )
    asked = dnc.asked(jnp.zeros(dnc.interface.bias.shape))._replace(
        read_keys=jnp.stack([word, word]), read_strengths=jnp.full(2, 10.0), writes=jnp.array(0.0),
        frees=jnp.ones(2), modes=jnp.tile(jnp.array([0.0, 1.0, 0.0]), (2, 1)),
    )  # fmt: skip
    kept = _dnc.access(asked, memory, empties=False).read[0]
    emptied = _dnc.access(asked, memory, empties=True).read[0]
    assert kept[1] > 0.99
    np.testing.assert_allclose(emptied[1], emptied[0], rtol=1e-6)
    # The cosine has no scale: a cell that is freed by 99.9 % is found as before.
    nearly = asked._replace(frees=jnp.array([0.999, 0.0]))
    assert _dnc.access(nearly, memory, empties=True).read[0][1] > 0.99


@pytest.mark.parametrize(
    ("blur", "power", "peaks"),
    [
        (0.05, None, (0.82, 0.48, 0.25, 0.11)),
        (0.05, 1.0, (0.95, 0.82, 0.72, 0.68)),
        (0.05, 2.0, (1.0, 1.0, 1.0, 1.0)),
        (0.1, None, (0.67, 0.22, 0.06, 0.01)),
        (0.1, 2.0, (0.999, 0.999, 0.999, 0.999)),
    ],
)
def test_sharp_links_stay_sharp_over_many_jumps(blur, power, peaks):
    dnc = models.DNC(1, 1, units=1, cells=16, word=1, masks=False, sharpens=False, key=KEY)
    memory = jax.tree.map(lambda x: x[0], dnc.start(1).memory)
    for place in range(16):
        weights = jnp.full(16, blur / 15).at[place].set(1 - blur)
        links = (1 - weights[:, None] - weights) * memory.links
        links = (links + jnp.outer(weights, memory.precedence)) * (1 - jnp.eye(16))
        precedence = (1 - weights.sum()) * memory.precedence + weights
        memory = memory._replace(links=links, precedence=precedence)
    forward, seen = jnp.eye(16)[:1], []
    for _ in range(15):
        forward = forward @ memory.links.T
        if power is not None:
            forward = _dnc.sharpened(forward, jnp.array([power]))
        seen.append(float(forward.max()))
    np.testing.assert_allclose([seen[jump - 1] for jump in (1, 4, 8, 15)], peaks, atol=0.006)


def test_the_slope_is_finite_where_memory_is_empty():
    dnc = made()
    x = jax.random.normal(KEY, (3, 6, 3))
    slope = eqx.filter_jit(
        eqx.filter_grad(lambda dnc: (dnc(x, jnp.asarray(LENGTHS))[0] ** 2).sum())
    )(dnc)
    for leaf in jax.tree.leaves(slope):
        assert np.isfinite(leaf).all()
        assert np.asarray(leaf).any()


def test_usage_does_not_blame_the_weights_of_the_last_writing(x64):
    """(A.6): what was written last counts as used, but no slope flows back through it."""
    dnc = made(masks=False, sharpens=False)
    asked = dnc.asked(jax.random.normal(KEY, dnc.interface.bias.shape))
    memory = jax.tree.map(lambda x: jnp.full(x.shape[1:], 0.1), dnc.start(1).memory)

    def usage(written, usage):
        before = memory._replace(written=written, usage=usage)
        return _dnc.access(asked, before, empties=True).usage.sum()

    by_written, by_usage = jax.jit(jax.grad(usage, argnums=(0, 1)))(memory.written, memory.usage)
    np.testing.assert_array_equal(by_written, 0)
    kept = np.prod(1 - np.asarray(asked.frees)[:, None] * np.asarray(memory.read), axis=0)
    np.testing.assert_allclose(by_usage, (1 - memory.written) * kept, rtol=1e-12)


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
