"""A function of sequences, applied to many of them."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._labelled_sequences import LabelledSequences


@eqx.filter_jit
def class_scores(
    model: Callable[..., Array], sequences: LabelledSequences, *, batch_size: int = 512
) -> Float[Array, "items out"]:
    """What `model` makes of every sequence, some of them at a time.

    **Arguments:**

    - `model`: maps tokens and lengths to one vector per sequence: a classifier to its scores, or a
        method of it to whatever else is asked.
    - `sequences`: any number of them.
    - `batch_size`: the most sequences to work on at a time, to save memory.
    """
    count = len(sequences)
    parts = -(-count // batch_size)
    size = -(-count // parts)
    # The last part is filled up with sequences that come twice.
    places = (jnp.arange(parts * size) % count).reshape(parts, size)
    scores = jax.lax.map(lambda p: model(sequences.tokens[p], sequences.lengths[p]), places)
    return scores.reshape(parts * size, -1)[:count]
