"""A GRU of Equinox as one writes it anywhere, held against the networks of the package.

recombine compare examples/own_gru/own_gru.py --on sequences --budget 30m
"""

import equinox as eqx
import jax
import jax.numpy as jnp


class GRU(eqx.Module):
    """Tokens become vectors, a GRU reads them one by one, its last state says the class."""

    embedding: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear

    def __init__(self, words: int, classes: int, width: int, key: jax.Array):
        of_embedding, of_cell, of_readout = jax.random.split(key, 3)
        self.embedding = eqx.nn.Embedding(words + 1, width, key=of_embedding)  # 0 is padding
        self.cell = eqx.nn.GRUCell(width, width, key=of_cell)
        self.readout = eqx.nn.Linear(width, classes, key=of_readout)

    def states(self, tokens: jax.Array, length: jax.Array) -> jax.Array:
        """The state after the last token of one sequence."""

        def step(state, token_and_place):
            token, place = token_and_place
            after = self.cell(self.embedding(token), state)
            return jnp.where(place < length, after, state), None

        start = jnp.zeros(self.cell.hidden_size)
        return jax.lax.scan(step, start, (tokens, jnp.arange(len(tokens))))[0]

    def __call__(self, tokens: jax.Array, lengths: jax.Array) -> jax.Array:
        """The scores [batch, classes] of tokens [batch, longest], of which `lengths` count."""
        return jax.vmap(self.readout)(jax.vmap(self.states)(tokens, lengths))


def build(words: int, classes: int, key: jax.Array) -> GRU:
    """The untrained network for so many tokens and classes."""
    return GRU(words, classes, width=128, key=key)
