"""Long short-term memory."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class LSTMState(NamedTuple):
    """What an LSTM carries from one step to the next."""

    hidden: Float[Array, "batch units"]
    cell: Float[Array, "batch units"]


class LSTM(eqx.Module):
    """One layer with one bias a gate; the forget gate starts at a bias of 1.

    Gates of [x, h] W + b: input i, forget f, candidate g, output o. The cell becomes
    σ(f) c + σ(i) tanh(g), the hidden state σ(o) tanh(c).
    """

    weight: Float[Array, "inputs_and_units gates"]
    """Of the inputs, then of the hidden state; to the gates i, f, g and o."""
    bias: Float[Array, " gates"]

    def __init__(self, inputs: int, units: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `units`: sizes. Weights start as Glorot's uniform numbers, biases at 0 but for
            those of the forget gate.
        """
        glorot = jax.nn.initializers.glorot_uniform()
        self.weight = glorot(key, (inputs + units, 4 * units), float)
        self.bias = jnp.zeros(4 * units).at[units : 2 * units].set(1.0)

    @property
    def units(self) -> int:
        return len(self.bias) // 4

    def start(self, batch: int) -> LSTMState:
        """The state before the first step: zeros."""
        zeros = jnp.zeros((batch, self.units), self.weight.dtype)
        return LSTMState(zeros, zeros)

    def update(
        self, gates: Float[Array, "batch gates"], cell: Float[Array, "batch units"]
    ) -> LSTMState:
        """The next state, from the gates before their nonlinearities."""
        i, f, g, o = jnp.split(gates, 4, axis=1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        return LSTMState(jax.nn.sigmoid(o) * jnp.tanh(cell), cell)

    def __call__(
        self,
        x: Float[Array, "batch time inputs"],
        lengths: Int[Array, " batch"],
        *,
        reverse: bool = False,
    ) -> tuple[Float[Array, "batch time units"], LSTMState]:
        """Read sequences, each up to its length.

        **Arguments:**

        - `reverse`: read from the last element, at `lengths - 1`, to the first.

        **Returns:** the hidden states, 0 beyond the lengths, and the state after the last element
        that was read.
        """
        batch, time, inputs = x.shape
        # The inputs' share of the gates needs no loop: one product for all times.
        given = x.swapaxes(0, 1).reshape(-1, inputs) @ self.weight[:inputs] + self.bias
        recurrent = self.weight[inputs:]

        def step(state: LSTMState, now):
            given, reads = now
            new = self.update(given + state.hidden @ recurrent, state.cell)
            kept = jax.tree.map(lambda a, b: jnp.where(reads, a, b), new, state)
            return kept, jnp.where(reads, new.hidden, 0)

        reads = (jnp.arange(time)[:, None] < lengths)[:, :, None]
        gates = given.reshape(time, batch, -1)
        last, hidden = jax.lax.scan(step, self.start(batch), (gates, reads), reverse=reverse)
        return hidden.swapaxes(0, 1), last
