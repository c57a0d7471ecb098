"""The memory of a DNC keeps its invariants, and each amendment does its part."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine import models
from recombine.models import _memory
from recombine.models._memory import MemoryState

KEY = jax.random.key(0)
CELLS, WORD, HEADS = 5, 3, 2


def dnc_of(**options):
    sizes = {"units": 4, "cells": CELLS, "word": WORD, "heads": HEADS}
    return models.DNC(3, 2, key=KEY, **sizes, **options)


STEPS = {
    sharpens: eqx.filter_jit(
        lambda says, memory, sharpens=sharpens: _memory.access(
            dnc_of(sharpens=sharpens).asked(says), memory, empties=True
        )[0]
    )
    for sharpens in (False, True)
}


@pytest.mark.parametrize("sharpens", [False, True])
@given(seed=st.integers(0, 2**31 - 1), scale=st.sampled_from([0.5, 5.0, 100.0]))
def test_invariants_of_memory(sharpens, seed, scale):
    """Also where all gates are saturated, as with large numbers, which are cut at ±20."""
    size = len(dnc_of(sharpens=sharpens).interface.bias)
    memory = MemoryState.empty(2, CELLS, WORD, HEADS)
    for key in jax.random.split(jax.random.key(seed), 8):
        memory = STEPS[sharpens](scale * jax.random.normal(key, (2, size)), memory)
        assert all(np.isfinite(part).all() for part in memory)
        usage, links = np.asarray(memory.usage), np.asarray(memory.links)
        assert (usage >= 0).all()
        assert (usage <= 1 + 1e-6).all()
        written = np.asarray(memory.written.sum(axis=1))
        assert (written >= 0).all()
        assert (written <= 1 + 1e-5).all()
        for sums in (links.sum(axis=1), links.sum(axis=2)):
            assert (sums >= -1e-5).all()
            assert (sums <= 1 + 1e-5).all()
        assert (np.diagonal(links, axis1=1, axis2=2) == 0).all()
        total = np.asarray(memory.read.sum(axis=2))
        assert (total <= 1 + 1e-5).all()
        assert not sharpens or (total >= 1 - 1e-5).all()
        given = _memory.allocation(memory.usage).sum(axis=1)
        np.testing.assert_allclose(given, 1 - np.prod(usage, axis=1), atol=1e-4)


def test_cells_are_allocated_from_the_least_to_the_most_used():
    usage = jnp.array([[0.5, 0.2, 0.9, 0.2]])
    expected = [0.5 * 0.2 * 0.2, 0.8, 0.1 * 0.5 * 0.2 * 0.2, 0.8 * 0.2]
    np.testing.assert_allclose(_memory.allocation(usage)[0], expected, rtol=1e-4)


def test_a_mask_of_ones_changes_nothing_and_closed_gates_empty_nothing():
    cells, keys = jax.random.normal(KEY, (2, 4, 3)), jax.random.normal(jax.random.key(1), (2, 1, 3))
    strengths = jnp.full((2, 1), 10.0)
    masked = _memory.lookup(cells, keys, strengths, jnp.ones((2, 1, 3)))
    plain = _memory.lookup(cells, keys, strengths)
    np.testing.assert_allclose(masked, plain, rtol=1e-6)
    dnc = dnc_of(masks=False, sharpens=False)
    asked = dnc.asked(jax.random.normal(KEY, (1, len(dnc.interface.bias))))
    asked = asked._replace(frees=jnp.zeros((1, HEADS)))
    memory = jax.tree.map(lambda x: jnp.full(x.shape, 0.1), dnc.start(1).memory)
    step = jax.jit(_memory.access, static_argnames="empties")
    kept, emptied = (step(asked, memory, empties=e)[0] for e in (False, True))
    jax.tree.map(np.testing.assert_array_equal, kept, emptied)


def test_a_freed_cell_is_found_unless_it_is_emptied():
    dnc = dnc_of(masks=False, sharpens=False)
    word = jnp.array([0.6, 0.8, 0.0])
    memory = dnc.start(1).memory
    memory = memory._replace(
        cells=memory.cells.at[0, 1].set(word).at[0, 2, 2].set(1.0),
        read=jnp.eye(CELLS)[jnp.array([[1, 1]])],
    )
    says = jnp.zeros((1, len(dnc.interface.bias)))
    asked = dnc.asked(says)._replace(
        read_keys=jnp.stack([word, word])[None], read_strengths=jnp.full((1, 2), 10.0),
        writes=jnp.zeros(1), frees=jnp.ones((1, 2)),
        modes=jnp.tile(jnp.array([0.0, 1.0, 0.0]), (1, 2, 1)),
    )  # fmt: skip

    def found(asked, empties):
        return _memory.access(asked, memory, empties=empties)[0].read[0, 0]

    assert found(asked, False)[1] > 0.99
    emptied = found(asked, True)
    np.testing.assert_allclose(emptied[1], emptied[0], rtol=1e-6)
    # The cosine has no scale: a cell that is freed by 99.9 % is found as before.
    assert found(asked._replace(frees=jnp.array([[0.999, 0.0]])), True)[1] > 0.99
    # The largest number that a gate can be sent frees a cell entirely.
    saturated = dnc.asked(says + 1000.0).frees
    np.testing.assert_array_equal(saturated, 1)


def test_sharpening_sums_to_one_and_never_flattens():
    """Without links the distribution is uniform; a power of 1 makes it sum to 1."""
    empty = _memory.sharpened(jnp.zeros((1, 2, 4)), jnp.array([[1.0, 7.0]]))
    np.testing.assert_allclose(empty, 0.25, rtol=1e-6)
    weights = jax.random.uniform(KEY, (50, 1, 4)) / 4
    peaks = [
        _memory.sharpened(weights, jnp.full((50, 1), power)).max(axis=2)
        for power in (1.0, 1.5, 3.0, 30.0)
    ]
    assert (np.diff(np.array(peaks), axis=0) >= -1e-6).all()
    normalised = weights / weights.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(peaks[0], normalised.max(axis=2), rtol=1e-4)


def test_derivatives_of_the_large_updates_are_those_of_their_formulas(x64):
    draw = lambda i, *shape: jax.random.uniform(jax.random.key(i), (2, *shape))  # noqa: E731
    cells, links, w, p = draw(0, 4, 3), draw(1, 4, 4), draw(2, 4) / 4, draw(3, 4) / 4
    kept, erased, written = draw(4, 4), draw(5, 3), draw(6, 3)

    def plain_links(links, w, p):
        new = (1 - w[:, :, None] - w[:, None]) * links + w[:, :, None] * p[:, None]
        return new * (1 - jnp.eye(4))

    def plain_cells(cells, kept, w, erased, written):
        erased = w[:, :, None] * erased[:, None]
        return cells * kept[:, :, None] * (1 - erased) + w[:, :, None] * written[:, None]

    pairs = (
        (_memory.linked, plain_links, (links, w, p)),
        (_memory.rewritten, plain_cells, (cells, kept, w, erased, written)),
    )
    for ours, plain, arguments in pairs:
        weight = jax.random.normal(KEY, plain(*arguments).shape)
        value, pull = jax.vjp(ours, *arguments)
        expected, plain_pull = jax.vjp(plain, *arguments)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for one, other in zip(pull(weight), plain_pull(weight), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_usage_does_not_blame_the_weights_of_the_last_writing(x64):
    """(A.6): what was written last counts as used, but no slope flows back through it."""
    dnc = dnc_of(masks=False, sharpens=False)
    asked = dnc.asked(jax.random.normal(KEY, (1, len(dnc.interface.bias))))
    memory = jax.tree.map(lambda x: jnp.full(x.shape, 0.1), dnc.start(1).memory)

    def usage(written, usage):
        before = memory._replace(written=written, usage=usage)
        return _memory.access(asked, before, empties=True)[0].usage.sum()

    by_written, by_usage = jax.jit(jax.grad(usage, argnums=(0, 1)))(memory.written, memory.usage)
    np.testing.assert_array_equal(by_written, 0)
    kept = _memory.retention(asked.frees, memory.read)
    np.testing.assert_allclose(by_usage, (1 - memory.written) * kept, rtol=1e-12)


def test_the_memory_of_a_sequence_that_is_over_stays():
    dnc = dnc_of()
    draw = jax.random.uniform
    memory = jax.tree.map(lambda x: draw(KEY, x.shape) / CELLS, dnc.start(2).memory)
    asked = dnc.asked(jax.random.normal(KEY, (2, len(dnc.interface.bias))))
    reads = jnp.array([True, False])
    after, _ = _memory.access(asked, memory, empties=True, reads=reads)
    whole, _ = _memory.access(asked, memory, empties=True)
    off = memory._replace(links=memory.links * (1 - jnp.eye(CELLS)))
    for new, old, free in zip(after, off, whole, strict=True):
        np.testing.assert_array_equal(new[1], old[1])
        np.testing.assert_array_equal(new[0], free[0])
        assert not np.allclose(free[1], old[1])
