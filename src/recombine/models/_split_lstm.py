"""Long short-term memory whose input weights and recurrent weights are matrices of their own."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ._initializers import orthogonal, xavier_normal
from ._lstm import LSTMState, _gates, _next, _read

_TANH_GAIN = 5 / 3


class SplitLSTM(eqx.Module):
    """`LSTM`, for those who ask which of its inputs a weight reads.

    Gates of x W + h U + b: input i, forget f, candidate g, output o.
    """

    inputs: Float[Array, "inputs gates"]
    """W."""
    recurrent: Float[Array, "units gates"]
    """U."""
    bias: Float[Array, " gates"]

    def __init__(self, inputs: int, units: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `units`: sizes. Weights of a gate start as `xavier_normal` / √2, those of the
            candidate 5/3 as large, and its recurrent ones orthogonal; biases at 0 but for those of
            the forget gate, at 1.
        """
        keys = jax.random.split(key, 8)
        gains = [gain / math.sqrt(2) for gain in (1, 1, _TANH_GAIN, 1)]

        def drawn(rows, keys):
            return [
                xavier_normal((rows, units), gain=g, key=k)
                for g, k in zip(gains, keys, strict=True)
            ]

        recurrent = drawn(units, keys[4:])
        recurrent[2] = orthogonal((units, units), gains[2], key=keys[6])
        self.inputs = jnp.concatenate(drawn(inputs, keys[:4]), axis=1)
        self.recurrent = jnp.concatenate(recurrent, axis=1)
        self.bias = jnp.zeros(4 * units).at[units : 2 * units].set(1.0)

    @property
    def units(self) -> int:
        return len(self.recurrent)

    def start(self, batch: int) -> LSTMState:
        """The state before the first step: zeros."""
        zeros = jnp.zeros((batch, self.units), self.recurrent.dtype)
        return LSTMState(zeros, zeros)

    def step(self, x: Float[Array, "batch inputs"], state: LSTMState) -> LSTMState:
        """The state after one more element."""
        sums = x @ self.inputs + self.bias + state.hidden @ self.recurrent
        return _next(_gates(sums), state.cell)

    def __call__(
        self,
        x: Float[Array, "time batch inputs"],
        reads: Bool[Array, "time batch"],
        start: LSTMState,
    ) -> tuple[Float[Array, "time batch units"], LSTMState]:
        """Read sequences; a state stays where nothing is read.

        **Returns:** the hidden states, 0 where nothing is read, and the last state.
        """
        time, batch, inputs = x.shape
        # The inputs' share of the gates needs no loop: one product for all times.
        given = (x.reshape(-1, inputs) @ self.inputs + self.bias).reshape(time, batch, -1)
        reads = reads[:, :, None]
        hidden, last = _read(given, self.recurrent, reads, start, False)
        return jnp.where(reads, hidden, 0), last
