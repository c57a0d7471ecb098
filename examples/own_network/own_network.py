"""A network of one's own in one file: a recurrent network with one gate, written plainly.

recombine run data-router/table-lookup --preset smoke \
    --set model=examples/own_network/own_network.py:OwnNetwork
recombine run ctlpp/patterns --preset smoke \
    --set model=examples/own_network/own_network.py:OwnNetwork
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from recombine import models
from recombine.models.specs import AbstractSequenceSpec, SequenceSizes


@dataclass(frozen=True, kw_only=True)
class OwnNetwork(AbstractSequenceSpec):
    """What is set from the command line, such as `--set model.width=128`."""

    width: int = 64
    """The width of embeddings and states."""

    def build(self, sizes: SequenceSizes, key: PRNGKeyArray) -> "MinimalGRU":
        """The untrained network for so many tokens and classes."""
        return MinimalGRU(sizes.vocabulary, sizes.classes, self.width, key=key)


class MinimalGRU(models.AbstractSequenceClassifier):
    """A minimal gated unit (Zhou et al., 2016), whose last state says the class:

    f_t = sigmoid(W_f [x_t, h_{t-1}] + b_f)
    u_t = tanh(W_u [x_t, f_t * h_{t-1}] + b_u)
    h_t = (1 - f_t) * h_{t-1} + f_t * u_t
    """

    embedding: Float[Array, "vocabulary width"]
    """The vectors of tokens 1, 2, ...; token 0 is padding."""
    gate: models.Dense
    """W_f and b_f."""
    update: models.Dense
    """W_u and b_u."""
    readout: models.Dense

    def __init__(self, vocabulary: int, classes: int, width: int, *, key: PRNGKeyArray):
        of_embedding, of_gate, of_update, of_readout = jax.random.split(key, 4)
        self.embedding = jax.random.normal(of_embedding, (vocabulary, width))
        self.gate = models.Dense.uniform(2 * width, width, key=of_gate)
        self.update = models.Dense.uniform(2 * width, width, key=of_update)
        self.readout = models.Dense.uniform(width, classes, key=of_readout)

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch width"]:
        """The state after the last token that is no padding; there is no dropout."""

        def step(state, column):
            token, place = column
            x = self.embedding[jnp.maximum(token - 1, 0)]
            f = jax.nn.sigmoid(self.gate(jnp.concatenate([x, state], axis=1)))
            u = jnp.tanh(self.update(jnp.concatenate([x, f * state], axis=1)))
            after = (1 - f) * state + f * u
            return jnp.where((place < lengths)[:, None], after, state), None

        start = jnp.zeros((len(tokens), self.embedding.shape[1]))
        return jax.lax.scan(step, start, (tokens.T, jnp.arange(tokens.shape[1])))[0]
