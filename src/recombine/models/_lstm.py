"""Long short-term memory."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._initializers import xavier_uniform


class LSTMState(NamedTuple):
    """What an LSTM carries from one step to the next."""

    hidden: Float[Array, "batch units"]
    cell: Float[Array, "batch units"]


class LSTM(eqx.Module):
    """One layer with one bias per gate; the forget gate starts at a bias of 1.

    Gates of [x, h] W + b: input i, forget f, candidate g, output o. The cell becomes
    σ(f) c + σ(i) tanh(g), the hidden state σ(o) tanh(c).
    """

    weight: Float[Array, "inputs_and_units gates"]
    """Of the inputs, then of the hidden state; to the gates i, f, g and o."""
    bias: Float[Array, " gates"]

    def __init__(self, inputs: int, units: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `units`: sizes. Weights start as `xavier_uniform`, biases at 0 but for those of
            the forget gate.
        """
        self.weight = xavier_uniform((inputs + units, 4 * units), key=key)
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
        return _next(_gates(gates), cell)

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
        reads = (jnp.arange(time)[:, None] < lengths)[:, :, None]
        hidden, last = _read(
            given.reshape(time, batch, -1), self.weight[inputs:], reads, self.start(batch), reverse
        )
        return jnp.where(reads, hidden, 0).swapaxes(0, 1), last


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def _read(given, recurrent, reads, start, reverse):
    """The hidden states and the last state, from the inputs' share of the gates at all times.

    A state stays where nothing is read. The derivative is written down: that by the weights is one
    product over all times, where the derivative of a scan would add one up at every time.
    """
    return _read_forward(given, recurrent, reads, start, reverse)[0]


def _read_forward(given, recurrent, reads, start, reverse):
    def step(state, now):
        given, reads = now
        gates = _gates(given + state.hidden @ recurrent)
        new = _next(gates, state.cell)
        new = jax.tree.map(lambda a, b: jnp.where(reads, a, b), new, state)
        return new, (new.hidden, gates, state)

    last, (hidden, gates, before) = jax.lax.scan(step, start, (given, reads), reverse=reverse)
    return (hidden, last), (recurrent, reads, gates, before)


def _read_backward(reverse, residual, slopes):
    recurrent, reads, gates, before = residual
    of_hidden, of_last = slopes

    def step(slope, now):
        of_hidden, reads, gates, before = now
        i, f, g, o = gates
        h, c = slope.hidden + of_hidden, slope.cell
        squashed = jnp.tanh(f * before.cell + i * g)
        of_cell = c + h * o * (1 - squashed**2)
        of_gates = jnp.concatenate(
            [
                of_cell * g * i * (1 - i),
                of_cell * before.cell * f * (1 - f),
                of_cell * i * (1 - g**2),
                h * squashed * o * (1 - o),
            ],
            axis=1,
        )
        of_gates = jnp.where(reads, of_gates, 0)
        earlier = LSTMState(
            of_gates @ recurrent.T + jnp.where(reads, 0, h), jnp.where(reads, of_cell * f, c)
        )
        return earlier, of_gates

    of_start, of_given = jax.lax.scan(
        step, of_last, (of_hidden, reads, gates, before), reverse=not reverse
    )
    flat = of_given.reshape(-1, of_given.shape[2])
    of_recurrent = before.hidden.reshape(len(flat), -1).T @ flat
    return of_given, of_recurrent, None, of_start


_read.defvjp(_read_forward, _read_backward)


def _gates(sums):
    i, f, g, o = jnp.split(sums, 4, axis=1)
    return jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)


def _next(gates, cell) -> LSTMState:
    i, f, g, o = gates
    cell = f * cell + i * g
    return LSTMState(o * jnp.tanh(cell), cell)
