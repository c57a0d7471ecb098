"""An encoder that classifies sequences, of parts that are passed in."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._adaptive_time import AdaptiveTime, Pondering
from ._dropout import dropout, split
from ._encoder_layer import AbstractEncoderLayer
from ._mlp import Dense
from ._sinusoids import sinusoids

_MANY = 2**27
"""With more numbers in the columns of all steps, training keeps nothing else of a step."""


class Trace(NamedTuple):
    """What an encoder did at every step."""

    attention: Float[Array, "steps batch heads length length"]
    """Of targets, then sources."""
    gates: Float[Array, "steps batch length size"] | None
    """None if the layers have none."""
    columns: Float[Array, "steps batch length size"]
    """After every step."""


class SequenceClassifier(eqx.Module):
    """An encoder: tokens → columns → steps of layers → one column → classes.

    ```python
    sizes = EncoderConfig(size=64, hidden=128, heads=1, steps=9)
    model = neural_data_router(12, 8, sizes, key=key)
    logits = model(tokens, lengths)  # evaluation
    logits = model(tokens, lengths, key=key)  # training: with dropout
    ```
    """

    embedding: Float[Array, "words size"]
    """Of tokens 1, 2, ...: padding, token 0, has none."""
    layers: AbstractEncoderLayer
    """One layer that all steps share; or, `separate`, as many as steps, along a leading axis."""
    readout: Dense
    adaptive: AdaptiveTime | None
    """How columns halt; None if all take all steps."""
    steps: int = eqx.field(static=True)
    test_steps: int = eqx.field(static=True)
    """How many steps there are without a `key`."""
    separate: bool = eqx.field(static=True)
    absolute: bool = eqx.field(static=True)
    """Whether sinusoids of the positions are added to the embeddings."""
    embedding_rate: float = eqx.field(static=True)
    """Of dropout of the sums of embeddings and absolute positions."""
    reads_last: bool = eqx.field(static=True)
    """Whether classes are read from the last column that is there, or from the first."""

    def __init__(
        self,
        embedding: Float[Array, "words size"],
        layers: AbstractEncoderLayer,
        readout: Dense,
        *,
        steps: int,
        test_steps: int | None = None,
        adaptive: AdaptiveTime | None = None,
        separate: bool = False,
        absolute: bool = False,
        embedding_rate: float = 0.0,
        reads_last: bool = True,
    ):
        """**Arguments:** the fields."""
        test_steps = steps if test_steps is None else test_steps
        if min(steps, test_steps) < 1:
            raise ValueError(f"an encoder takes at least 1 step; got {min(steps, test_steps)}")
        if separate and test_steps != steps:
            raise ValueError("separate layers are as many as steps; drop `test_steps`")
        self.embedding, self.layers, self.readout = embedding, layers, readout
        self.steps, self.test_steps, self.adaptive = steps, test_steps, adaptive
        self.separate, self.absolute, self.embedding_rate = separate, absolute, embedding_rate
        self.reads_last = reads_last

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch classes"]:
        """The logits of the classes. With a `key` for dropout, as in training."""
        return self.readout(self.represent(tokens, lengths, key=key))

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch size"]:
        """The column from which the classes are read."""
        return self._run(tokens, lengths, key)[0]

    def ponder(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch classes"], Pondering]:
        """The logits, and how long columns computed, if time is adaptive."""
        if self.adaptive is None:
            raise ValueError("all columns take all steps; pass `adaptive` to the model")
        column, state = self._run(tokens, lengths, key)
        shape = tokens.shape
        pondering = Pondering(state.steps.reshape(shape), state.remainder.reshape(shape))
        return self.readout(column), pondering

    def with_adaptive_time(
        self, *, decaying: bool = False, epsilon: float = 0.01, key: PRNGKeyArray
    ) -> "SequenceClassifier":
        """The same encoder, whose columns halt; the arguments are those of `AdaptiveTime`."""
        size = self.embedding.shape[1]
        adaptive = AdaptiveTime(size, decaying=decaying, epsilon=epsilon, key=key)
        return eqx.tree_at(lambda m: m.adaptive, self, adaptive, is_leaf=lambda x: x is None)

    def with_test_steps(self, steps: int) -> "SequenceClassifier":
        """The same encoder, which takes so many steps without a `key`."""
        return SequenceClassifier(
            self.embedding, self.layers, self.readout, steps=self.steps, test_steps=steps,
            adaptive=self.adaptive, separate=self.separate, absolute=self.absolute,
            embedding_rate=self.embedding_rate, reads_last=self.reads_last,
        )  # fmt: skip

    def trace(self, tokens: Int[Array, "batch length"], lengths: Int[Array, " batch"]) -> Trace:
        """What happens at every step, without dropout."""
        there = _there(tokens, lengths)
        columns, seen = self._embed(tokens, None), []
        for t in range(self.test_steps):
            columns, weights, gates = self._layer(t)(columns, there, key=None)
            by_item = columns.reshape(*there.shape, -1)
            gates = None if gates is None else gates.reshape(by_item.shape)
            seen.append(Trace(weights.swapaxes(0, 1), gates, by_item))
        return jax.tree.map(lambda *steps: jnp.stack(steps), *seen)

    def _run(self, tokens, lengths, key):
        """The column that is read, and the state of halting, if any."""
        there = _there(tokens, lengths)
        steps = self.test_steps if key is None else self.steps
        of_embedding, *keys = split(key, 1 + steps)
        columns = self._embed(tokens, of_embedding)
        batch, length = tokens.shape
        place = lengths - 1 if self.reads_last else jnp.zeros_like(lengths)
        read = jnp.arange(batch) * length + place

        if self.adaptive is None:
            if key is not None and (steps - 1) * columns.size > _MANY:
                columns = self._recomputed(columns, there, keys[:-1])
            else:
                # Not scanned: then what the backward pass needs is not copied to and fro.
                for t in range(steps - 1):
                    columns, _, _ = self._layer(t)(columns, there, key=keys[t])
            column, _, _ = self._layer(steps - 1)(columns, there, key=keys[-1], rows=read)
            return column, None
        state = self.adaptive.start(columns, there)
        for t in range(steps):
            before = columns
            columns, _, _ = self._layer(t)(before, there, key=keys[t])
            state = self.adaptive.advance(state, before, columns, jnp.asarray(t == steps - 1))
        return state.output[read], state

    def _recomputed(self, columns, there, keys) -> Float[Array, "batch_and_length size"]:
        """The columns after as many steps as there are keys.

        The backward pass computes again what a step needs beside its columns: a fifth more time,
        and a tenth of the memory.
        """

        @jax.checkpoint
        def advance(columns, step):
            t, key = step
            return self._layer(t)(columns, there, key=key)[0], None

        return jax.lax.scan(advance, columns, (jnp.arange(len(keys)), jnp.stack(keys)))[0]

    def _layer(self, t: int | Int[Array, ""]) -> AbstractEncoderLayer:
        """The layer of a step."""
        return jax.tree.map(lambda x: x[t], self.layers) if self.separate else self.layers

    def _embed(self, tokens, key) -> Float[Array, "batch_and_length size"]:
        columns = self.embedding[jnp.maximum(tokens - 1, 0)]
        if self.absolute:
            places = sinusoids(jnp.arange(tokens.shape[1]), columns.shape[2])
            columns = columns + places.astype(columns.dtype)
        return dropout(columns.reshape(tokens.size, -1), self.embedding_rate, key=key)


def _there(tokens, lengths) -> Bool[Array, "batch length"]:
    return jnp.arange(tokens.shape[1]) < lengths[:, None]
