"""How often a classifier of sequences is right: as a whole, and by length or depth."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ..tasks._labelled_sequences import LabelledSequences

Classifier = Callable[[Int[Array, "batch length"], Int[Array, " batch"]], Float[Array, "batch out"]]


@eqx.filter_jit
def class_scores(
    model: Classifier, sequences: LabelledSequences, *, batch_size: int = 512
) -> Float[Array, "items out"]:
    """The outputs of `model` for every sequence, computed in batches.

    **Arguments:**

    - `model`: maps tokens and lengths to one vector per sequence: a classifier to its logits, or
        one of its methods.
    - `sequences`: any number of sequences.
    - `batch_size`: the most sequences in one batch, to save memory.
    """
    count = len(sequences)
    parts = -(-count // batch_size)
    size = -(-count // parts)
    # The last batch is filled up with sequences that come twice.
    places = (jnp.arange(parts * size) % count).reshape(parts, size)
    scores = jax.lax.map(lambda p: model(sequences.tokens[p], sequences.lengths[p]), places)
    return scores.reshape(parts * size, -1)[:count]


def is_right(model: Classifier, sequences: LabelledSequences) -> Bool[np.ndarray, " items"]:
    """Which sequences `model` gives their label the highest score."""
    return np.asarray(class_scores(model, sequences).argmax(axis=1) == sequences.labels)


class AccuracyBy(NamedTuple):
    """Accuracy for each value of some property of inputs."""

    values: Int[np.ndarray, " values"]
    """The values that the property takes, in order."""
    accuracy: Float[np.ndarray, " values"]
    """The fraction of the inputs of each value that are classified correctly."""
    counts: Int[np.ndarray, " values"]
    """How many inputs have each value."""


def accuracy_by(right: Bool[ArrayLike, " items"], by: Int[ArrayLike, " items"]) -> AccuracyBy:
    """Accuracy by length, depth or any other whole number that inputs have.

    **Arguments:**

    - `right`: which inputs are classified correctly.
    - `by`: the length, depth or other number of each input.
    """
    values, places, counts = np.unique(np.asarray(by), return_inverse=True, return_counts=True)
    return AccuracyBy(values, np.bincount(places, np.asarray(right, float)) / counts, counts)


def accuracy_by_length(model: Classifier, sequences: LabelledSequences) -> AccuracyBy:
    """Accuracy by the number of tokens."""
    return accuracy_by(is_right(model, sequences), np.asarray(sequences.lengths))


def majority_share(sequences: LabelledSequences) -> float:
    """The accuracy of always answering with the most frequent label: the best without input."""
    return float(np.bincount(np.asarray(sequences.labels)).max() / len(sequences))
