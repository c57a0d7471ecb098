"""How a network represents a symbol, by the function that produced it, and who can read it."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ..tasks._labelled_sequences import LabelledSequences
from ..tasks._lookup_tables import LookupTables
from ._label_accuracy import Classifier, class_scores

Frame = Callable[[LabelledSequences], LabelledSequences]


def symbol_representations(
    represent: Classifier, lookup: LookupTables, frame: Frame | None = None
) -> Float[Array, "symbols functions features"]:
    """The vector of every symbol, as each function produces it (Section 6.4).

    For symbol s' and function f, what the network makes of the input `f s` with f(s) = s'. If it
    represents symbols by what they are, the vectors of a symbol are alike.

    **Arguments:**

    - `represent`: maps tokens and lengths to vectors, such as those that a network's last layer
        reads.
    - `lookup`: the functions.
    - `frame`: applied to sequences before the network reads them, such as
        `LabelledSequences.framed`.
    """
    before = np.asarray(lookup.inverses).T
    symbols, functions = before.shape
    applied = np.broadcast_to(np.arange(functions), before.shape)
    vectors = _read(represent, lookup, frame, before, applied[..., None])
    return vectors.reshape(symbols, functions, -1)


def cosine_maps(
    vectors: Float[ArrayLike, "symbols functions features"],
) -> Float[Array, "symbols functions functions"]:
    """The cosine between the vectors of a symbol as two functions produce it (Figure 6.3)."""
    vectors = jnp.asarray(vectors)
    norms = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = vectors / jnp.maximum(norms, 1e-6)
    return unit @ unit.swapaxes(1, 2)


def readable_pairs(
    model: Classifier, lookup: LookupTables, frame: Frame | None = None
) -> Bool[np.ndarray, "symbols firsts seconds"]:
    """Whether a symbol that one function produces can be read by another (Figure E.2).

    Entry [s', f, g]: whether the network says g(s') of the input `g f s` with f(s) = s'. All pairs
    are asked, those of training and all others.
    """
    before = np.asarray(lookup.inverses).T
    symbols, functions = before.shape
    shape = (symbols, functions, functions)
    first, second = np.meshgrid(np.arange(functions), np.arange(functions), indexing="ij")
    pairs = np.broadcast_to(np.stack([first, second], axis=-1), (*shape, 2))
    scores = _read(model, lookup, frame, np.broadcast_to(before[..., None], shape), pairs)
    right = np.asarray(lookup.tables).T[:, None, :]
    return np.asarray(scores.argmax(axis=-1)).reshape(shape) == right


def mean_by_group(
    values: Float[ArrayLike, "rows columns"] | Bool[ArrayLike, "rows columns"],
    row_groups: Int[ArrayLike, " rows"],
    column_groups: Int[ArrayLike, " columns"],
) -> Float[np.ndarray, "row_groups column_groups"]:
    """The mean over every block of a matrix whose rows and columns are in groups.

    With `readable_pairs` of a symbol, `symbol_clusters` of its rows and the groups of functions:
    which clusters can be read by which group. Groups are in the order of their numbers.
    """
    rows, columns = (
        (np.asarray(groups)[:, None] == np.unique(groups)).astype(float)
        for groups in (row_groups, column_groups)
    )
    sums = rows.T @ np.asarray(values, float) @ columns
    return sums / np.outer(rows.sum(axis=0), columns.sum(axis=0))


def _read(
    model: Classifier, lookup: LookupTables, frame: Frame | None, symbols, functions
) -> Float[Array, "items out"]:
    """The network's outputs for these applications, given in any number of dimensions."""
    functions = functions.reshape(-1, functions.shape[-1])
    sequences = lookup.write(
        symbols.reshape(-1), functions, np.full(len(functions), functions.shape[1])
    )
    return class_scores(model, sequences if frame is None else frame(sequences))
