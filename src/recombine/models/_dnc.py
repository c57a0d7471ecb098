"""Differentiable neural computers: a controller that writes to cells of memory and reads them.

Sections 2.1 and A.1. The three amendments of the chapter are chosen one by one: masked lookup (M),
cells that are emptied when they are freed (D), and sharp links (S).
"""

from itertools import accumulate
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._initializers import xavier_uniform
from ._lstm import LSTM, LSTMState

EPSILON = 1e-6
"""What keeps norms, usages and links from 0. What is freed is hidden from lookups by it alone."""
LARGEST = 20.0
"""What the numbers that the controller sends to memory are cut to."""


class MemoryAccess(NamedTuple):
    """What the controller asks of memory."""

    read_keys: Float[Array, "heads word"]
    read_strengths: Float[Array, " heads"]
    write_key: Float[Array, " word"]
    write_strength: Float[Array, ""]
    erased: Float[Array, " word"]
    """Which parts of a word are erased, e."""
    written: Float[Array, " word"]
    """The word that is written, v."""
    frees: Float[Array, " heads"]
    """Whether heads free what they read a step ago, f."""
    allocates: Float[Array, ""]
    """Whether to write where memory is free, or where the key is found, gᵃ."""
    writes: Float[Array, ""]
    """Whether to write at all, gʷ."""
    modes: Float[Array, "heads 3"]
    """How heads read: backward along links, by content, forward; π."""
    write_mask: Float[Array, " word"] | None
    """Which parts of words are compared; without M `None`, for all."""
    read_masks: Float[Array, "heads word"] | None
    forward_sharpness: Float[Array, " heads"] | None
    """The power that distributions are raised to; without S `None`, for no change."""
    backward_sharpness: Float[Array, " heads"] | None


class MemoryState(NamedTuple):
    """What is in memory, and where it was written and read last."""

    cells: Float[Array, "cells word"]
    """M."""
    usage: Float[Array, " cells"]
    """u."""
    links: Float[Array, "cells cells"]
    """L: how much cell i was written right after cell j."""
    precedence: Float[Array, " cells"]
    """p: how much a cell is the one that was written last."""
    written: Float[Array, " cells"]
    """The weights of writing, wʷ."""
    read: Float[Array, "heads cells"]
    """The weights of reading, wʳ."""

    def words(self) -> Float[Array, "heads word"]:
        """What the heads read."""
        return self.read @ self.cells


class DNCState(NamedTuple):
    """What a DNC carries from one step to the next, for every sequence."""

    controller: LSTMState
    memory: MemoryState


def one_plus(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """1 + log(1 + eˣ), at least 1."""
    return 1 + jax.nn.softplus(x)


def lookup(
    cells: Float[Array, "cells word"],
    key: Float[Array, " word"],
    strength: Float[Array, ""],
    mask: Float[Array, " word"] | None = None,
) -> Float[Array, " cells"]:
    """The softmax of the cells' cosines with a key (2.1), of masked words (2.4)."""
    if mask is not None:
        cells, key = cells * mask, key * mask
    norms = _norm(key) * _norm(cells)
    return jax.nn.softmax(strength * (cells @ key) / (norms + EPSILON))


def allocation(usage: Float[Array, " cells"]) -> Float[Array, " cells"]:
    """Where to write what is new: to the least used cell, as far as it is free, and so on.

    aφ₍ⱼ₎ = (1 − uφ₍ⱼ₎) Πᵢ˂ⱼ uφ₍ᵢ₎, with φ the cells from the least to the most used one.
    """
    usage = usage * (1 - EPSILON) + EPSILON
    order = jnp.argsort(usage)
    rising = usage[order]
    taken = jnp.concatenate([jnp.ones(1, usage.dtype), jnp.cumprod(rising)[:-1]])
    return jnp.zeros_like(usage).at[order].set((1 - rising) * taken)


def sharpened(
    weights: Float[Array, "heads cells"], powers: Float[Array, " heads"]
) -> Float[Array, "heads cells"]:
    """Weights raised to a power and made to sum to 1 (A.10)."""
    weights = weights + EPSILON
    raised = (weights / weights.max(axis=1, keepdims=True)) ** powers[:, None]
    return raised / raised.sum(axis=1, keepdims=True)


def access(asked: MemoryAccess, before: MemoryState, *, empties: bool) -> MemoryState:
    """One step of memory: free, write, link, read (A.5 to A.12).

    **Arguments:**

    - `empties`: whether cells that are freed lose what is in them (D).
    """
    kept = jnp.prod(1 - asked.frees[:, None] * before.read, axis=0)  # ψ, (A.5)
    last = jax.lax.stop_gradient(before.written)
    usage = (before.usage + last - before.usage * last) * kept  # (A.6)

    found = lookup(before.cells, asked.write_key, asked.write_strength, asked.write_mask)
    place = asked.allocates * allocation(usage) + (1 - asked.allocates) * found
    w = asked.writes * place  # (A.7)
    cells = before.cells * kept[:, None] if empties else before.cells
    cells = cells * (1 - jnp.outer(w, asked.erased)) + jnp.outer(w, asked.written)  # (A.8)

    links = (1 - w[:, None] - w) * before.links + jnp.outer(w, before.precedence)
    links = links * (1 - jnp.eye(len(w), dtype=w.dtype))
    precedence = (1 - w.sum()) * before.precedence + w  # (A.9)

    forward, backward = before.read @ links.T, before.read @ links
    if asked.forward_sharpness is not None and asked.backward_sharpness is not None:
        forward = sharpened(forward, asked.forward_sharpness)
        backward = sharpened(backward, asked.backward_sharpness)
    content = jax.vmap(lookup, (None, 0, 0, 0))(
        cells, asked.read_keys, asked.read_strengths, asked.read_masks
    )
    read = jnp.einsum("hm,mhc->hc", asked.modes, jnp.stack([backward, content, forward]))  # (A.12)
    return MemoryState(cells, usage, links, precedence, w, read)


class DNC(eqx.Module):
    """A differentiable neural computer with an LSTM as its controller.

    The controller sees an input and what the heads read a step ago; the output is what the
    controller says and what the heads read now, or a linear map of both.
    """

    controller: LSTM
    interface: Dense
    """From the controller to what it asks of memory, ξ."""
    output: Dense | None
    """From what the controller says and what the heads read; None if these are the output."""
    cells: int = eqx.field(static=True)
    word: int = eqx.field(static=True)
    heads: int = eqx.field(static=True)
    masks: bool = eqx.field(static=True)
    empties: bool = eqx.field(static=True)
    sharpens: bool = eqx.field(static=True)
    mask_min: float = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int | None,
        *,
        units: int,
        cells: int,
        word: int,
        heads: int = 1,
        masks: bool = True,
        empties: bool = True,
        sharpens: bool = True,
        mask_min: float = 0.1,
        mask_bias: float = 1.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `inputs`, `outputs`: numbers that are read and written at every step. With None, what the
            controller says and what the heads read are the output, side by side.
        - `units`: units of the controller. Its weights start as `xavier_uniform` of every gate,
            those of the candidate 5/3 as large, and so do those of the linear maps; biases at 0 but
            for the forget gate's, which is 1.
        - `cells`, `word`: how many cells memory has, and numbers of each.
        - `heads`: how many heads read.
        - `masks`: whether lookups compare masked words (M).
        - `empties`: whether freed cells lose what is in them (D).
        - `sharpens`: whether distributions along links are sharpened (S).
        - `mask_min`: δ, the least that a mask can be.
        - `mask_bias`: where the interface's biases of the masks start.
        """
        self.cells, self.word, self.heads = cells, word, heads
        self.masks, self.empties, self.sharpens = masks, empties, sharpens
        self.mask_min = mask_min
        of_controller, of_interface, of_output = jax.random.split(key, 3)
        self.controller = _gatewise_lstm(inputs + heads * word, units, key=of_controller)
        sizes = self._sizes()
        starts = [jnp.full(n, mask_bias if "mask" in part else 0.0) for part, n in sizes.items()]
        interface = Dense.xavier(units, sum(sizes.values()), key=of_interface)
        self.interface = eqx.tree_at(lambda d: d.bias, interface, jnp.concatenate(starts))
        says = units + heads * word
        self.output = None if outputs is None else Dense.xavier(says, outputs, key=of_output)

    def _sizes(self) -> dict[str, int]:
        """The parts of the interface, and how many numbers each has."""
        w, r = self.word, self.heads
        sizes = {
            "read_keys": r * w, "read_strengths": r, "write_key": w, "write_strength": 1,
            "erased": w, "written": w, "frees": r, "allocates": 1, "writes": 1, "modes": 3 * r,
        }  # fmt: skip
        if self.masks:
            sizes |= {"write_mask": w, "read_masks": r * w}
        if self.sharpens:
            sizes |= {"forward_sharpness": r, "backward_sharpness": r}
        return sizes

    def asked(self, says: Float[Array, " interface"]) -> MemoryAccess:
        """What the numbers of the interface mean."""
        sizes = self._sizes()
        *ends, _ = accumulate(sizes.values())
        pieces = jnp.split(jnp.clip(says, -LARGEST, LARGEST), ends)
        part = dict(zip(sizes, pieces, strict=True))
        by_head = (self.heads, -1)

        def mask(name):
            return jax.nn.sigmoid(part[name]) * (1 - self.mask_min) + self.mask_min

        return MemoryAccess(
            read_keys=part["read_keys"].reshape(by_head),
            read_strengths=one_plus(part["read_strengths"]),
            write_key=part["write_key"],
            write_strength=one_plus(part["write_strength"][0]),
            erased=jax.nn.sigmoid(part["erased"]),
            written=part["written"],
            frees=jax.nn.sigmoid(part["frees"]),
            allocates=jax.nn.sigmoid(part["allocates"][0]),
            writes=jax.nn.sigmoid(part["writes"][0]),
            modes=jax.nn.softmax(part["modes"].reshape(by_head), axis=1),
            write_mask=mask("write_mask") if self.masks else None,
            read_masks=mask("read_masks").reshape(by_head) if self.masks else None,
            forward_sharpness=one_plus(part["forward_sharpness"]) if self.sharpens else None,
            backward_sharpness=one_plus(part["backward_sharpness"]) if self.sharpens else None,
        )

    def start(self, batch: int) -> DNCState:
        """The state before the first step: zeros."""
        n, dtype = self.cells, self.interface.weight.dtype
        shapes = ((n, self.word), (n,), (n, n), (n,), (n,), (self.heads, n))
        memory = MemoryState(*(jnp.zeros((batch, *shape), dtype) for shape in shapes))
        return DNCState(self.controller.start(batch), memory)

    def step(
        self, x: Float[Array, "batch inputs"], state: DNCState
    ) -> tuple[Float[Array, "batch outputs"], DNCState]:
        """The output of one step, and the state after it."""
        batch = len(x)
        words = jax.vmap(MemoryState.words)(state.memory).reshape(batch, -1)
        sums = jnp.concatenate([x, words, state.controller.hidden], axis=1)
        gates = sums @ self.controller.weight + self.controller.bias
        controller = self.controller.update(gates, state.controller.cell)
        says = self.interface(controller.hidden)

        def accessed(says, before):
            return access(self.asked(says), before, empties=self.empties)

        memory = jax.vmap(accessed)(says, state.memory)
        words = jax.vmap(MemoryState.words)(memory).reshape(batch, -1)
        y = jnp.concatenate([controller.hidden, words], axis=1)
        y = y if self.output is None else self.output(y)
        return y, DNCState(controller, memory)

    def __call__(
        self, x: Float[Array, "batch time inputs"], lengths: Int[Array, " batch"]
    ) -> tuple[Float[Array, "batch time outputs"], DNCState]:
        """Read sequences, each up to its length.

        **Returns:** the outputs, 0 beyond the lengths, and the state after the last element.
        """

        def step(state, now):
            x, reads = now

            def chosen(new, old):
                return jnp.where(reads.reshape(-1, *[1] * (new.ndim - 1)), new, old)

            y, new = self.step(x, state)
            return jax.tree.map(chosen, new, state), jnp.where(reads[:, None], y, 0)

        reads = jnp.arange(x.shape[1])[:, None] < lengths
        last, y = jax.lax.scan(step, self.start(len(x)), (x.swapaxes(0, 1), reads))
        return y.swapaxes(0, 1), last


def _norm(x: Float[Array, "*rows word"]) -> Float[Array, "*rows"]:
    """Norms, whose derivative at 0 is 0."""
    squares = (x**2).sum(axis=-1)
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1)), 0)


def _gatewise_lstm(inputs: int, units: int, *, key: PRNGKeyArray) -> LSTM:
    gates = [xavier_uniform((inputs + units, units), key=k) for k in jax.random.split(key, 4)]
    gates[2] = gates[2] * (5 / 3)
    return eqx.tree_at(
        lambda lstm: lstm.weight, LSTM(inputs, units, key=key), jnp.concatenate(gates, axis=1)
    )
