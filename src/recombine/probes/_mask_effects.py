"""What a network under a mask does instead: which operation it performs, which classes it loses."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int


def operation_confusion(
    predictions: Int[Array, "samples ..."],
    answers: Sequence[Int[Array, "samples ..."]],
    requested: Int[Array, " samples"],
) -> Float[np.ndarray, "operations operations_and_none"]:
    """Which operation a network performs by which was requested (Figure 3.2).

    A prediction counts for an operation if all of it equals that operation's answer. It may count
    for several, so that rows can have sums above 1.

    **Arguments:**

    - `predictions`: what the network answers, with one or more symbols each.
    - `answers`: the right answers, operation by operation, all of them to all samples.
    - `requested`: the number of the operation that was requested.

    **Returns:** shares of the samples with a request; the last column is none of the operations.
    """
    found, asked = np.asarray(predictions), np.asarray(requested)
    found = found.reshape(len(found), -1)
    equal = np.stack(
        [(found == np.asarray(a).reshape(found.shape)).all(axis=1) for a in answers], axis=1
    )
    counted = np.concatenate([equal, ~equal.any(axis=1, keepdims=True)], axis=1)
    rows = []
    for operation in range(len(answers)):
        mine = counted[asked == operation]
        if not len(mine):
            raise ValueError(f"operation {operation} is never requested; draw more samples")
        rows.append(mine.mean(axis=0))
    return np.array(rows)


def class_confusion(
    predicted: Int[Array, " samples"], labels: Int[Array, " samples"], classes: int
) -> Float[np.ndarray, "classes classes"]:
    """How often each class is taken for which: rows are true classes and sum to 1."""
    counts = np.zeros((classes, classes))
    np.add.at(counts, (np.asarray(labels), np.asarray(predicted)), 1)
    sums = counts.sum(axis=1, keepdims=True)
    if not sums.all():
        raise ValueError(f"there are no samples of class {int(sums.argmin())}; draw more")
    return counts / sums


class ClassRemoval(NamedTuple):
    """What a mask loses that was trained without a class (Figure 3.7)."""

    drop: float
    """The share of the class's accuracy that is lost."""
    collateral: float
    """The largest share that another class loses, relative to the loss of the class."""
    difference: Float[np.ndarray, "classes classes"]
    """Confusion under that mask minus confusion under the control mask."""


def class_removal(
    control: Float[np.ndarray, "classes classes"],
    removed: Float[np.ndarray, "classes classes"],
    which: int,
) -> ClassRemoval:
    """What is lost of a class, and of the others, by a mask that was trained without it.

    **Arguments:**

    - `control`, `removed`: confusions under the mask of all classes, and without one.
    - `which`: that class.
    """
    difference = removed - control
    own = np.diag(control)
    if not own.all():
        raise ValueError(f"the control mask is never right on class {int(own.argmin())}")
    relative = np.diag(difference) / own
    others = np.delete(relative, which)
    lost = relative[which]
    collateral = min(others.min(), 0.0) / lost if lost < 0 else 0.0
    return ClassRemoval(float(-lost), float(collateral), difference)
