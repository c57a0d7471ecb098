"""LSTMs that classify sequences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dropout import dropout, split
from ._lstm import LSTM
from ._mlp import Dense, fan_in_uniform


class RecurrentClassifier(eqx.Module):
    """Embedding → dropout → layers of LSTMs → their last states → classes.

    In both directions, a layer reads what both directions of the layer below wrote, and classes are
    read from the last states of both, side by side. Between layers there is dropout too.

    Every LSTM has a second bias, as in PyTorch: it changes nothing but how fast biases learn.
    """

    embedding: Float[Array, "words embedding"]
    """Of tokens 1, 2, ...: padding, token 0, has none."""
    directions: tuple[tuple[LSTM, ...], ...]
    """For every layer the LSTM that reads forward and, if there is one, the one that does not."""
    second_biases: tuple[tuple[Float[Array, " gates"], ...], ...]
    readout: Dense
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        words: int,
        classes: int,
        *,
        embedding: int,
        units: int,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.5,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `words`: how many tokens there are, without padding.
        - `classes`: of the output.
        - `embedding`: numbers that stand for a token; they start normal.
        - `units`: of all directions of a layer together. Weights and biases of the LSTMs start
            uniform on ±1/√units of a direction, as in PyTorch.
        """
        if layers < 1:
            raise ValueError(f"layers={layers} is less than 1")
        ways = 2 if bidirectional else 1
        if units % ways:
            raise ValueError(
                f"{units} units cannot be halved for two directions; use an even number"
            )
        of_embedding, of_layers, of_readout = jax.random.split(key, 3)
        sizes = [embedding] + [units] * (layers - 1)
        keys = jax.random.split(of_layers, (layers, ways, 2))
        self.embedding = jax.random.normal(of_embedding, (words, embedding))
        self.directions = tuple(
            tuple(_uniform_lstm(inputs, units // ways, key=k) for k in of_layer[:, 0])
            for inputs, of_layer in zip(sizes, keys, strict=True)
        )
        self.second_biases = tuple(
            tuple(
                fan_in_uniform((4 * units // ways,), units // ways, key=k) for k in of_layer[:, 1]
            )
            for of_layer in keys
        )
        self.readout = Dense.uniform(units, classes, key=of_readout)
        self.rate = dropout

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
    ) -> Float[Array, "batch units"]:
        """What the classes are read from: the last hidden states."""
        keys = split(key, len(self.directions))
        x = self.embedding[jnp.maximum(tokens - 1, 0)]
        for lstms, biases, key in zip(self.directions, self.second_biases, keys, strict=True):
            x = dropout(x, self.rate, key=key)
            read = [
                eqx.tree_at(lambda l: l.bias, lstm, lstm.bias + bias)(x, lengths, reverse=way == 1)
                for way, (lstm, bias) in enumerate(zip(lstms, biases, strict=True))
            ]
            x = jnp.concatenate([hidden for hidden, _ in read], axis=2)
        return jnp.concatenate([last.hidden for _, last in read], axis=1)


def _uniform_lstm(inputs: int, units: int, *, key: PRNGKeyArray) -> LSTM:
    of_weight, of_bias = jax.random.split(key)
    weight = fan_in_uniform((inputs + units, 4 * units), units, key=of_weight)
    bias = fan_in_uniform((4 * units,), units, key=of_bias)
    lstm = LSTM(inputs, units, key=key)
    return eqx.tree_at(lambda l: (l.weight, l.bias), lstm, (weight, bias))
