"""Networks that classify sequences."""

import abc
from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._encoder import Encoder
from ._stack import Stack


class AbstractSequenceClassifier(eqx.Module):
    """A network that represents a sequence by one vector, and reads classes from it."""

    readout: eqx.AbstractVar[Dense]

    @abc.abstractmethod
    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch width"]:
        """The vector of every sequence. With a `key` for dropout, as in training.

        Tokens are counted from 1; token 0 fills sequences up from their lengths on.
        """

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch classes"]:
        """The logits of the classes. With a `key` for dropout, as in training."""
        return self.readout(self.represent(tokens, lengths, key=key))


class Trace(NamedTuple):
    """What an encoder does at every layer."""

    attention: Float[Array, "layers batch heads targets sources"]
    gates: Float[Array, "layers batch length width"] | None
    """None if the blocks have none."""
    columns: Float[Array, "layers batch length width"]
    """The columns after every layer."""


class SequenceClassifier(AbstractSequenceClassifier):
    """An encoder and a readout: tokens → columns → layers → one column → classes.

    ```python
    spec = specs.NDRSpec(width=64, hidden=128, heads=1, layers=9)
    model = spec.build(specs.SequenceSizes(vocabulary=12, classes=8), key)
    logits = model(tokens, lengths)  # evaluation
    logits = model(tokens, lengths, key=key)  # training: with dropout
    ```
    """

    encoder: Encoder
    readout: Dense
    reads: Literal["last", "first"] = eqx.field(static=True, default="last")
    """The column from which classes are read: that of the last token, or that of the first."""

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch width"]:
        """The column from which the classes are read."""
        return self._read(tokens, lengths, key)[0]

    def ponder(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Float[Array, "batch classes"], dict[str, Array]]:
        """The logits, and extras of the layers: see `Stack`.

        If columns halt, `extras["steps"]` says after how many layers, and `extras["remainder"]`
        what the last of them weighs; both are 0 for padding.
        """
        column, extras = self._read(tokens, lengths, key)
        return self.readout(column), extras

    def trace(self, tokens: Int[Array, "batch length"], lengths: Int[Array, " batch"]) -> Trace:
        """What happens at every layer, without dropout."""
        extras = self.encoder.trace(tokens, lengths)
        return Trace(extras["attention"].swapaxes(1, 2), extras.get("gates"), extras["columns"])

    def with_test_layers(self, layers: int) -> "SequenceClassifier":
        """The same network, with so many layers without a `key`."""
        stack = self.encoder.stack
        other = Stack(
            stack.block, stack.layers, test_layers=layers, shared=stack.shared,
            halting=stack.halting, norm=stack.norm,
        )  # fmt: skip
        return eqx.tree_at(lambda m: m.encoder.stack, self, other)

    def _read(self, tokens, lengths, key):
        place = lengths - 1 if self.reads == "last" else jnp.zeros_like(lengths)
        columns, extras = self.encoder(tokens, lengths, at=place[:, None], key=key)
        return columns[:, 0], extras
