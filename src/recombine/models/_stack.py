"""Layers one after another: one block again and again, or one per layer."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._adaptive_time import AdaptiveTime
from ._blocks import AbstractBlock
from ._dropout import split
from ._norms import LayerNorm

_MANY = 2**27
"""With more numbers in the columns of all layers, training keeps nothing else of a layer."""


class Stack(eqx.Module):
    """A block that is applied several times, or several blocks, to columns that read each other."""

    block: AbstractBlock
    """One block for all layers; or, not `shared`, one per layer, along a leading axis."""
    halting: AdaptiveTime | None
    """How columns halt; None if all pass through all layers."""
    norm: LayerNorm | None
    """What normalises the last columns, if anything."""
    layers: int = eqx.field(static=True)
    test_layers: int = eqx.field(static=True)
    """The number of layers without a `key`."""
    shared: bool = eqx.field(static=True)

    def __init__(
        self,
        block: AbstractBlock,
        layers: int,
        *,
        test_layers: int | None = None,
        shared: bool = True,
        halting: AdaptiveTime | None = None,
        norm: LayerNorm | None = None,
    ):
        """**Arguments:** the fields."""
        test_layers = layers if test_layers is None else test_layers
        if min(layers, test_layers) < 1:
            raise ValueError(f"a stack has at least 1 layer; got {min(layers, test_layers)}")
        if not shared and test_layers != layers:
            raise ValueError("layers that share nothing are as many in tests; drop `test_layers`")
        self.block, self.halting, self.norm = block, halting, norm
        self.layers, self.test_layers, self.shared = layers, test_layers, shared

    def __call__(
        self,
        columns: Float[Array, "batch length width"],
        mask: Bool[Array, "..."],
        *,
        at: Int[Array, "batch targets"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch targets width"], dict[str, Array]]:
        """The columns after the last layer, and extras by name.

        Extras that are single numbers are kept, one per layer; for the others see `trace`. If
        columns halt, there are also their `steps` and the `remainder` of the step at which they
        halted, both `[batch, length]` and 0 for padding.

        **Arguments:**

        - `mask`: which columns a column may read.
        - `at`: positions of the columns that are wanted; None for all. The last layer computes no
            others.
        - `key`: for dropout, as in training; without it there are `test_layers`.
        """
        layers = self.test_layers if key is None else self.layers
        keys = split(key, layers)
        if self.halting is not None:
            columns, extras = self._halted(columns, mask, keys)
            columns = columns if at is None else _taken(columns, at)
        elif key is not None and (layers - 1) * columns.size > _MANY:
            columns, extras = self._recomputed(columns, mask, keys[:-1])
            columns, last = self._last(layers - 1, columns, mask, at, keys[-1])
            extras = {name: jnp.append(extras[name], last[name]) for name in last}
        else:
            # Not scanned: then what the backward pass needs is not copied to and fro.
            seen = []
            for t in range(layers - 1):
                columns, extras = self.layer(t)(columns, columns, mask, key=keys[t])
                seen.append(_numbers(extras))
            columns, last = self._last(layers - 1, columns, mask, at, keys[-1])
            extras = _stacked([*seen, last])
        return columns if self.norm is None else self.norm(columns), extras

    def with_memory(
        self,
        columns: Float[Array, "batch length width"],
        memory: Float[Array, "layers batch places width"],
        mask: Bool[Array, "..."],
        *,
        key: PRNGKeyArray | None = None,
        every: bool = False,
    ) -> tuple[
        Float[Array, "batch length width"],
        Float[Array, "layers batch length width"],
        dict[str, Array],
    ]:
        """The columns after the last layer, those before every layer, and extras by name.

        **Arguments:**

        - `memory`: columns before every layer that columns may read besides, and that stand before
            them; nothing is learned through them.
        - `mask`: which columns of the memory, then of the others, a column may read.
        - `every`: keep all extras, not only those that are single numbers.
        """
        keys, before, seen = split(key, self.layers), [], []
        for t in range(self.layers):
            before.append(columns)
            sources = jnp.concatenate([jax.lax.stop_gradient(memory[t]), columns], axis=1)
            columns, extras = self.layer(t)(columns, sources, mask, key=keys[t])
            seen.append(extras if every else _numbers(extras))
        columns = columns if self.norm is None else self.norm(columns)
        return columns, jnp.stack(before), _stacked(seen)

    def trace(
        self, columns: Float[Array, "batch length width"], mask: Bool[Array, "..."]
    ) -> dict[str, Array]:
        """All extras of every layer, and its `columns`, along a leading axis; without dropout."""
        seen = []
        for t in range(self.test_layers):
            columns, extras = self.layer(t)(columns, columns, mask)
            seen.append(extras | {"columns": columns})
        return _stacked(seen)

    def layer(self, t: int | Int[Array, ""]) -> AbstractBlock:
        """The block of a layer."""
        return self.block if self.shared else jax.tree.map(lambda x: x[t], self.block)

    def _last(self, t, columns, mask, at, key):
        """The columns that are wanted after the last layer, and its numbers."""
        targets = columns if at is None else _taken(columns, at)
        targets, extras = self.layer(t)(targets, columns, mask, at=at, key=key)
        return targets, _numbers(extras)

    def _halted(self, columns, mask, keys):
        """What every column had gathered when it halted, and extras."""
        assert self.halting is not None
        batch, length, _ = columns.shape
        # A column is padding if no column may read it.
        read = jnp.broadcast_to(mask, (batch, length, length)).any(axis=1)
        state, seen = self.halting.start(columns, read), []
        for t, key in enumerate(keys):
            before = columns
            columns, extras = self.layer(t)(before, before, mask, key=key)
            state = self.halting.advance(state, before, columns, jnp.asarray(t == len(keys) - 1))
            seen.append(_numbers(extras))
        pondering = {"steps": state.steps, "remainder": state.remainder}
        return state.output, _stacked(seen) | pondering

    def _recomputed(self, columns, mask, keys):
        """The columns after as many layers as there are keys, and their numbers.

        The backward pass computes again what a layer needs beside its columns: a fifth more time,
        and a tenth of the memory.
        """

        @jax.checkpoint
        def advance(columns, step):
            t, key = step
            columns, extras = self.layer(t)(columns, columns, mask, key=key)
            return columns, _numbers(extras)

        return jax.lax.scan(advance, columns, (jnp.arange(len(keys)), jnp.stack(keys)))


def _taken(
    columns: Float[Array, "batch length width"], at: Int[Array, "batch targets"]
) -> Float[Array, "batch targets width"]:
    """The columns at these positions."""
    return jnp.take_along_axis(columns, at[:, :, None], axis=1)


def _numbers(extras: dict[str, Array]) -> dict[str, Array]:
    """The extras that are single numbers."""
    return {name: value for name, value in extras.items() if value.ndim == 0}


def _stacked(seen: list[dict[str, Array]]) -> dict[str, Any]:
    """Extras of layers along a leading axis."""
    return {name: jnp.stack([extras[name] for extras in seen]) for name in seen[0]}
