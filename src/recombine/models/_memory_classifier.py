"""A differentiable neural computer that classifies sequences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dnc import DNC
from ._dropout import dropout


class MemoryClassifier(eqx.Module):
    """Embedding → dropout → DNC → its output at the last token: the classes."""

    embedding: Float[Array, "words embedding"]
    """Of tokens 1, 2, ...: padding, token 0, has none."""
    dnc: DNC
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        words: int,
        classes: int,
        *,
        embedding: int,
        units: int,
        cells: int,
        word: int,
        heads: int = 4,
        masks: bool = False,
        dropout: float = 0.5,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `words`: how many tokens there are, without padding.
        - `classes`: of the output.
        - `embedding`: numbers that stand for a token; they start normal.
        - `units`, `cells`, `word`, `heads`, `masks`: see `DNC`. By default, as in Section D.3,
            freed cells are emptied and links are sharp, but lookups have no masks.
        """
        of_embedding, of_dnc = jax.random.split(key)
        self.embedding = jax.random.normal(of_embedding, (words, embedding))
        self.dnc = DNC(
            embedding, classes, units=units, cells=cells, word=word, heads=heads, masks=masks,
            key=of_dnc,
        )  # fmt: skip
        self.rate = dropout

    def __call__(
        self,
        tokens: Int[Array, "batch length"],
        lengths: Int[Array, " batch"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "batch classes"]:
        """The logits of the classes. With a `key` for dropout, as in training."""
        x = self.embedding[jnp.maximum(tokens - 1, 0)]
        y, _ = self.dnc(dropout(x, self.rate, key=key), lengths)
        return y[jnp.arange(len(y)), lengths - 1]
