"""How often a classifier of sequences is right: as a whole, and by length or depth."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ..tasks._class_scores import class_scores as class_scores
from ..tasks._labelled_sequences import LabelledSequences

Classifier = Callable[[Int[Array, "batch length"], Int[Array, " batch"]], Float[Array, "batch out"]]


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
