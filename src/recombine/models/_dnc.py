"""Differentiable neural computers: a controller that writes to cells of memory and reads them.

Sections 2.1 and A.1; see `_memory` for what memory does.
"""

from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._controllers import AbstractController, LSTMController
from ._dense import Dense
from ._memory import MemoryAccess, MemoryState, Reading
from ._memory_scan import Cycle, Weighed, memory_scan

LARGEST = 20.0
"""What the numbers that the controller sends to memory are cut to."""


class DNCState(NamedTuple):
    """What a DNC carries from one step to the next, for every sequence."""

    controller: Any
    memory: MemoryState


class DNCTrace(NamedTuple):
    """What a DNC does at every step."""

    outputs: Float[Array, "batch time outputs"]
    asked: MemoryAccess
    """What the controller asks; all arrays have an axis of time after the batch."""
    reading: Reading
    """How heads find what they read, along links before and after they are sharpened."""
    usage: Float[Array, "batch time cells"]
    written: Float[Array, "batch time cells"]
    """The weights of writing."""
    read: Float[Array, "batch time heads cells"]
    """The weights of reading."""


def one_plus(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """1 + log(1 + eˣ), at least 1."""
    return 1 + jax.nn.softplus(x)


class DNCOutput(eqx.Module):
    """y = W_y h + W_r r: two linear maps, of what the controller says and of what heads read."""

    says: Dense
    words: Dense

    def __init__(self, says: int, words: int, outputs: int, *, key: PRNGKeyArray):
        of_says, of_words = jax.random.split(key)
        self.says = Dense.xavier(says, outputs, key=of_says)
        self.words = Dense.xavier(words, outputs, key=of_words)

    def __call__(self, says: Float[Array, "*rows says"], words: Float[Array, "*rows words"]):
        return self.says(says) + self.words(words)


class DNC(eqx.Module):
    """A differentiable neural computer.

    The controller sees an input and what the heads read a step ago; the output is what the
    controller says and what the heads read now, or the sum of linear maps of both. The eight
    variants of Chapter 2 are the eight settings of `masks`, `empties` and `sharpens`.
    """

    controller: AbstractController
    interface: Dense
    """From the controller to what it asks of memory, ξ."""
    output: DNCOutput | None
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
        layers: int = 1,
        controller: Callable[..., AbstractController] = LSTMController,
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
        - `units`, `layers`: units of a layer of the controller, and its layers.
        - `controller`: `LSTMController`, `FeedForwardController`, or whatever is made alike.
        - `cells`, `word`: how many cells memory has, and numbers of each.
        - `heads`: how many heads read.
        - `masks`: whether lookups compare masked words (M).
        - `empties`: whether freed cells lose what is in them (D).
        - `sharpens`: whether distributions along links are sharpened (S).
        - `mask_min`: δ, the least that a mask can be.
        - `mask_bias`: where the interface's biases of the masks start. Linear maps start as
            `xavier_uniform`, and their other biases at 0.
        """
        for name, count in (("cells", cells), ("word", word), ("heads", heads), ("units", units)):
            if count < 1:
                raise ValueError(f"{name}={count} is less than 1")
        if not 0 <= mask_min < 1:
            raise ValueError(f"mask_min={mask_min:g} is not at least 0 and less than 1")
        self.cells, self.word, self.heads = cells, word, heads
        self.masks, self.empties, self.sharpens = masks, empties, sharpens
        self.mask_min = mask_min
        of_controller, of_interface, of_output = jax.random.split(key, 3)
        words = heads * word
        self.controller = controller(inputs, words, units=units, layers=layers, key=of_controller)
        sizes = self._sizes()
        starts = [jnp.full(n, mask_bias if "mask" in part else 0.0) for part, n in sizes.items()]
        says = self.controller.size
        interface = Dense.xavier(says, sum(sizes.values()), key=of_interface)
        self.interface = eqx.tree_at(lambda d: d.bias, interface, jnp.concatenate(starts))
        self.output = None if outputs is None else DNCOutput(says, words, outputs, key=of_output)

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

    def asked(self, says: Float[Array, "batch interface"]) -> MemoryAccess:
        """What the numbers of the interface mean."""
        sizes = self._sizes()
        *ends, _ = accumulate(sizes.values())
        pieces = jnp.split(jnp.clip(says, -LARGEST, LARGEST), ends, axis=1)
        part = dict(zip(sizes, pieces, strict=True))
        by_head = (len(says), self.heads, -1)

        def mask(name):
            return jax.nn.sigmoid(part[name]) * (1 - self.mask_min) + self.mask_min

        return MemoryAccess(
            read_keys=part["read_keys"].reshape(by_head),
            read_strengths=one_plus(part["read_strengths"]),
            write_key=part["write_key"],
            write_strength=one_plus(part["write_strength"][:, 0]),
            erased=jax.nn.sigmoid(part["erased"]),
            written=part["written"],
            frees=jax.nn.sigmoid(part["frees"]),
            allocates=jax.nn.sigmoid(part["allocates"][:, 0]),
            writes=jax.nn.sigmoid(part["writes"][:, 0]),
            modes=jax.nn.softmax(part["modes"].reshape(by_head), axis=2),
            write_mask=mask("write_mask") if self.masks else None,
            read_masks=mask("read_masks").reshape(by_head) if self.masks else None,
            forward_sharpness=one_plus(part["forward_sharpness"]) if self.sharpens else None,
            backward_sharpness=one_plus(part["backward_sharpness"]) if self.sharpens else None,
        )

    def start(self, batch: int) -> DNCState:
        """The state before the first step: zeros."""
        dtype = self.interface.weight.dtype
        memory = MemoryState.empty(batch, self.cells, self.word, self.heads, dtype)
        return DNCState(self.controller.start(batch), memory)

    def __call__(
        self,
        x: Float[Array, "batch time inputs"],
        lengths: Int[Array, " batch"] | None = None,
    ) -> tuple[Float[Array, "batch time outputs"], DNCState]:
        """Read sequences, each up to its length; by default to the end.

        **Returns:** the outputs, 0 beyond the lengths, and the state after the last element.
        """
        reads = None if lengths is None else jnp.arange(x.shape[1])[:, None] < lengths
        given, weights = self._layers(x)
        says, words, last = memory_scan(
            self._cycle(), given, weights, tuple(self.start(len(x))), reads
        )
        y = self._outputs(says, words)
        y = y if reads is None else jnp.where(reads[:, :, None], y, 0)
        return y.swapaxes(0, 1), DNCState(*last)

    def trace(self, x: Float[Array, "batch time inputs"]) -> DNCTrace:
        """What happens at every step, to look at and not to learn from."""
        given, weights = self._layers(x)
        cycle = self._cycle()

        def step(state, given):
            says, after, asked, reading = cycle.step(Weighed(given, weights), state, None)
            memory = after[1]
            seen = asked, reading, memory.usage, memory.written, memory.read
            return after, (says, memory.words, seen)

        _, (says, words, seen) = jax.lax.scan(step, tuple(self.start(len(x))), given)
        trace = DNCTrace(self._outputs(says, words), *seen)
        return jax.tree.map(lambda a: a.swapaxes(0, 1), trace)

    def _layers(self, x):
        """The inputs' share of all sums, and the weights of what is fed back."""
        given = self.controller.given(x.swapaxes(0, 1))
        bias = self.interface.bias
        assert bias is not None
        bias = jnp.broadcast_to(bias, (x.shape[1], len(x), len(bias)))
        return (*given, bias), (*self.controller.weights(), self.interface.weight)

    def _cycle(self) -> Cycle:
        # The loop's derivative must not find arrays in what it is told to do.
        bare = eqx.filter(self, eqx.is_array, inverse=True)
        return Cycle(bare.controller.step, bare.asked, self.empties)

    def _outputs(self, says, words):
        words = words.reshape(*words.shape[:2], -1)
        if self.output is None:
            return jnp.concatenate([says, words], axis=2)
        return self.output(says, words)
