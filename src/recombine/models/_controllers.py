"""Controllers of a memory: networks that say at every step what is asked of it.

What a controller computes from its inputs alone is computed for all steps at once. What depends on
memory and on its own state goes through `Sums`, so that the loop over time can decide what to keep
for the derivative.
"""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._dense import Dense
from ._initializers import xavier_uniform
from ._lstm import LSTM, LSTMState

Sums = Callable[[int, Array], Array]
"""`sums(layer, fed)`: the sums of a layer, with what is fed into it besides the inputs."""


class AbstractController(eqx.Module):
    """A network that sees an input and the words that were read, and says what to do.

    What it says has `size` numbers.
    """

    size: eqx.AbstractVar[int]

    @abc.abstractmethod
    def start(self, batch: int) -> Any:
        """The state before the first step."""

    @abc.abstractmethod
    def given(
        self, x: Float[Array, "time batch inputs"]
    ) -> tuple[Float[Array, "time batch _"], ...]:
        """The share of the inputs and of biases in the sums of every layer."""

    @abc.abstractmethod
    def weights(self) -> tuple[Float[Array, "_ _"], ...]:
        """The weights of whatever else is fed into every layer."""

    @abc.abstractmethod
    def step(
        self, sums: Sums, words: Float[Array, "batch words"], state: Any
    ) -> tuple[Float[Array, "batch size"], Any]:
        """What is said at one step, and the state after it."""


class LSTMController(AbstractController):
    """Layers of LSTMs. Each sees the input, the words and the layer below; all of them speak."""

    layers: tuple[LSTM, ...]
    inputs: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(self, inputs: int, words: int, *, units: int, layers: int = 1, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `words`: numbers of an input, and of all words that are read together.
        - `units`, `layers`: sizes. Weights of every gate start as `xavier_uniform`, those of the
            candidate 5/3 as large; biases at 0 but for the forget gate's, which is 1.
        """
        keys = [key, *jax.random.split(jax.random.fold_in(key, 1), layers - 1)]
        below = [0] + [units] * (layers - 1)
        self.layers = tuple(
            _gatewise_lstm(inputs + words + n, units, key=k)
            for n, k in zip(below, keys, strict=True)
        )
        self.inputs, self.size = inputs, units * layers

    def start(self, batch):
        return tuple(layer.start(batch) for layer in self.layers)

    def given(self, x):
        rows = x.reshape(-1, self.inputs)
        shares = (rows @ lstm.weight[: self.inputs] + lstm.bias for lstm in self.layers)
        return tuple(share.reshape(*x.shape[:2], -1) for share in shares)

    def weights(self):
        return tuple(lstm.weight[self.inputs :] for lstm in self.layers)

    def step(self, sums, words, state):
        after: list[LSTMState] = []
        for i, (lstm, old) in enumerate(zip(self.layers, state, strict=True)):
            below = [after[-1].hidden] if after else []
            fed = jnp.concatenate([words, *below, old.hidden], axis=1)
            after.append(lstm.update(sums(i, fed), old.cell))
        return jnp.concatenate([new.hidden for new in after], axis=1), tuple(after)


class FeedForwardController(AbstractController):
    """Layers of ReLUs without a state: all memory is outside."""

    layers: tuple[Dense, ...]
    inputs: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(self, inputs: int, words: int, *, units: int, layers: int = 1, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `words`: numbers of an input, and of all words that are read together.
        - `units`, `layers`: sizes. Weights start as `xavier_uniform` with a gain of √2, biases
            at 0.
        """
        sizes = [inputs + words] + [units] * layers
        keys = jax.random.split(key, layers)
        self.layers = tuple(
            Dense(xavier_uniform((n, units), gain=2**0.5, key=k), jnp.zeros(units))
            for n, k in zip(sizes[:-1], keys, strict=True)
        )
        self.inputs, self.size = inputs, units

    def start(self, batch):
        return ()

    def given(self, x):
        first, *others = self.layers
        shares = [Dense(first.weight[: self.inputs], first.bias)(x)]
        for layer in others:
            assert layer.bias is not None
            shares.append(jnp.broadcast_to(layer.bias, (*x.shape[:2], len(layer.bias))))
        return tuple(shares)

    def weights(self):
        first, *others = self.layers
        return (first.weight[self.inputs :], *(layer.weight for layer in others))

    def step(self, sums, words, state):
        y = words
        for i in range(len(self.layers)):
            y = jax.nn.relu(sums(i, y))
        return y, state


def _gatewise_lstm(inputs: int, units: int, *, key: PRNGKeyArray) -> LSTM:
    gates = [xavier_uniform((inputs + units, units), key=k) for k in jax.random.split(key, 4)]
    gates[2] = gates[2] * (5 / 3)
    return eqx.tree_at(
        lambda lstm: lstm.weight, LSTM(inputs, units, key=key), jnp.concatenate(gates, axis=1)
    )
