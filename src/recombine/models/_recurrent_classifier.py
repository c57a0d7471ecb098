"""LSTMs that classify sequences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout, split
from ._embedding import Embedding
from ._initializers import fan_in_uniform
from ._lstm import LSTM
from ._sequence_classifier import AbstractSequenceClassifier


class RecurrentClassifier(AbstractSequenceClassifier):
    """Embedding → dropout → layers of LSTMs → their last states → classes.

    In both directions, a layer reads what both directions of the layer below wrote, and classes are
    read from the last states of both, side by side. Between layers there is dropout too.

    Every LSTM has a second bias, as in PyTorch: it changes nothing but how fast biases learn.
    """

    embedding: Embedding
    directions: tuple[tuple[LSTM, ...], ...]
    """For every layer the LSTM that reads forward and, if there is one, the one that does not."""
    second_biases: tuple[tuple[Float[Array, " gates"], ...], ...]
    readout: Dense
    dropout: float = eqx.field(static=True)
    reads_halves: bool = eqx.field(static=True)

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        *,
        embedding: int,
        units: int,
        layers: int = 1,
        bidirectional: bool = False,
        reads_halves: bool = False,
        dropout: float = 0.5,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `vocabulary`: the number of tokens, without padding.
        - `classes`: the number of classes.
        - `embedding`: numbers that stand for a token; they start normal.
        - `units`: units of all directions of a layer together. Weights and biases of the LSTMs
            start uniform on ±1/√units of a direction, as in PyTorch.
        - `reads_halves`: read classes as the published code does in both directions: from the last
            of the first half of all last states and the last of the second half, where states are
            in the order of layers and forward comes before backward. In one layer these are both
            directions; in an even number of layers, the backward states of the middle layer and of
            the last one.
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
        self.embedding = Embedding(jax.random.normal(of_embedding, (vocabulary, embedding)))
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
        self.dropout, self.reads_halves = dropout, reads_halves and bidirectional

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch units"]:
        """The last hidden states, from which the classes are read."""
        keys = split(key, len(self.directions))
        x, last = self.embedding(tokens), []
        for lstms, biases, key in zip(self.directions, self.second_biases, keys, strict=True):
            x = dropout(x, self.dropout, key=key)
            read = [
                eqx.tree_at(lambda l: l.bias, lstm, lstm.bias + bias)(x, lengths, reverse=way == 1)
                for way, (lstm, bias) in enumerate(zip(lstms, biases, strict=True))
            ]
            x = jnp.concatenate([hidden for hidden, _ in read], axis=2)
            last += [state.hidden for _, state in read]
        half = len(last) // 2
        chosen = last[half - 1 :: half] if self.reads_halves else last[-len(read) :]
        return jnp.concatenate(chosen, axis=1)


def _uniform_lstm(inputs: int, units: int, *, key: PRNGKeyArray) -> LSTM:
    of_weight, of_bias = jax.random.split(key)
    weight = fan_in_uniform((inputs + units, 4 * units), units, key=of_weight)
    bias = fan_in_uniform((4 * units,), units, key=of_bias)
    lstm = LSTM(inputs, units, key=key)
    return eqx.tree_at(lambda l: (l.weight, l.bias), lstm, (weight, bias))
