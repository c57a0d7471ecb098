"""Networks that compute with numbers: digits in, the digits of one or more results out."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._dense import Dense
from ._mlp import MLP
from ._split_lstm import SplitLSTM

_BASE = 10


class AbstractNumberNetwork(eqx.Module):
    """A network that says what the digits of every result are.

    Inputs are in as many equal parts as there are results: those of the first result come first.
    """

    @abstractmethod
    def __call__(self, x: Float[Array, "batch inputs"]) -> Float[Array, "batch results digits 10"]:
        """The logits of every digit of every result."""


class NumberMLP(AbstractNumberNetwork):
    """A multi-layer perceptron that is used once for every result.

    In the pass of a result all inputs but its own are 0, and only its own outputs are read: with
    two results the network may use the same weights for both, or others.
    """

    mlp: MLP
    results: int = eqx.field(static=True)
    digits: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        results: int,
        digits: int,
        *,
        hidden: tuple[int, ...] = (2000, 2000, 2000, 2000),
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `inputs`: of all results together.
        - `hidden`: units of the hidden layers. Weights and biases start as in PyTorch.
        """
        _check_parts(inputs, results)
        sizes = (inputs, *hidden, results * digits * _BASE)
        self.mlp = MLP(sizes, uniform=True, key=key)
        self.results, self.digits = results, digits

    def __call__(self, x):
        own = jnp.eye(self.results)
        parts = x.reshape(len(x), 1, self.results, -1) * own[:, :, None]
        logits = self.mlp(parts.reshape(len(x) * self.results, -1))
        passes = logits.reshape(len(x), self.results, self.results, self.digits, _BASE)
        return jnp.stack([passes[:, i, i] for i in range(self.results)], axis=1)


class NumberLSTM(AbstractNumberNetwork):
    """Layers of LSTMs that see their inputs for some steps.

    Together, all inputs are there for `steps` steps per result, and all results are read at the
    last one. Forced, the inputs of each result are there for `steps` steps, one result after the
    other, and it is read at the last of them.
    """

    cells: tuple[SplitLSTM, ...]
    readout: Dense
    results: int = eqx.field(static=True)
    digits: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    forced: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        results: int,
        digits: int,
        *,
        units: int = 256,
        layers: int = 2,
        steps: int = 3,
        forced: bool = False,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `inputs`: of all results together.
        - `units`, `layers`: of the LSTM.
        - `steps`: steps per result.
        - `forced`: one result after the other.
        """
        _check_parts(inputs, results)
        *keys, of_readout = jax.random.split(key, layers + 1)
        sizes = [inputs] + [units] * (layers - 1)
        self.cells = tuple(
            SplitLSTM(size, units, key=k) for size, k in zip(sizes, keys, strict=True)
        )
        self.readout = Dense.uniform(units, results * digits * _BASE, key=of_readout)
        self.results, self.digits, self.steps, self.forced = results, digits, steps, forced

    def __call__(self, x):
        batch, time = len(x), self.steps * self.results
        h = jnp.broadcast_to(x, (time, *x.shape))
        if self.forced:
            now = jnp.repeat(jnp.eye(self.results), self.steps, axis=0)
            parts = x.reshape(batch, self.results, -1) * now[:, None, :, None]
            h = parts.reshape(time, batch, -1)
        reads = jnp.ones((time, batch), bool)
        for cell in self.cells:
            h, _ = cell(h, reads, cell.start(batch))
        ends = self.steps * (1 + jnp.arange(self.results)) - 1
        read = h[ends] if self.forced else h[-1:]
        logits = self.readout(read.reshape(-1, h.shape[2]))
        logits = logits.reshape(len(read), batch, self.results, self.digits, _BASE)
        if not self.forced:
            return logits[0]
        return jnp.stack([logits[i, :, i] for i in range(self.results)], axis=1)


def _check_parts(inputs: int, results: int) -> None:
    if inputs % results:
        raise ValueError(f"{inputs} inputs cannot be cut into {results} equal parts")
