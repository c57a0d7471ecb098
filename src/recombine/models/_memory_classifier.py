"""A differentiable neural computer that classifies sequences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dnc import DNC
from ._dropout import dropout
from ._embedding import Embedding
from ._sequence_classifier import AbstractSequenceClassifier


class MemoryClassifier(AbstractSequenceClassifier):
    """Embedding → dropout → DNC → its output at the last token → classes."""

    embedding: Embedding
    dnc: DNC
    readout: Dense
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        *,
        embedding: int,
        units: int,
        cells: int,
        word: int,
        heads: int = 4,
        masks: bool = False,
        output_layer: bool = False,
        dropout: float = 0.5,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `vocabulary`: the number of tokens, without padding.
        - `classes`: the number of classes.
        - `embedding`: numbers that stand for a token; they start normal.
        - `units`, `cells`, `word`, `heads`, `masks`: see `DNC`. By default, as in Section D.3,
            freed cells are emptied and links are sharp, but lookups have no masks.
        - `output_layer`: whether the DNC has a linear output of `units` numbers from which classes
            are read, as the published one has, or classes are read from what the controller says
            and the heads read.
        """
        of_embedding, of_dnc = jax.random.split(key)
        of_readout = jax.random.split(of_dnc, 3)[2]
        self.embedding = Embedding(jax.random.normal(of_embedding, (vocabulary, embedding)))
        self.dnc = DNC(
            embedding, units if output_layer else None, units=units, cells=cells, word=word,
            heads=heads, masks=masks, key=of_dnc,
        )  # fmt: skip
        if output_layer:
            self.readout = Dense.uniform(units, classes, key=jax.random.fold_in(of_readout, 1))
        else:
            self.readout = Dense.xavier(units + heads * word, classes, key=of_readout)
        self.dropout = dropout

    def represent(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch width"]:
        """The output of the DNC at the last token."""
        x = dropout(self.embedding(tokens), self.dropout, key=key)
        y, _ = self.dnc(x, lengths)
        return y[jnp.arange(len(y)), lengths - 1]
