"""The answers of a network: one class or several numbers per item, for every output."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from .._errors import UserError
from ._asked import Target

BINS = 8
"""Into how many equally frequent bins numbers are put before their bits are counted."""


@dataclass(frozen=True)
class Answers:
    """What one output of a network says of every item."""

    name: str
    kind: str
    """`classes` or `numbers`."""
    codes: np.ndarray
    """[items]: whole numbers, whose bits are counted: classes, or bins of numbers."""
    said: np.ndarray
    """[items] of what is compared with labels, or [items, numbers]."""


def split_outputs(outputs: Sequence[np.ndarray], items: int) -> list[np.ndarray]:
    """One array per output: the second axis of a single array [items, outputs, classes] counts."""
    for one in outputs:
        if not one.ndim or len(one) != items:
            raise UserError(
                f"outputs have the shape {one.shape} for {items} items: the first axis must be"
                " that of items"
            )
        if one.dtype.kind in "fc" and not np.isfinite(one).all():
            bad = int((~np.isfinite(one.reshape(items, -1))).any(axis=1).sum())
            raise UserError(
                f"outputs of {bad} of {items} items are not finite: see whether training diverged"
            )
    if len(outputs) == 1 and outputs[0].ndim == 3:
        return list(outputs[0].swapaxes(0, 1))
    if len(outputs) == 1 and outputs[0].ndim == 2 and outputs[0].dtype.kind not in "fc":
        return list(outputs[0].T)
    if any(one.ndim > 2 for one in outputs):
        shapes = ", ".join(str(one.shape) for one in outputs)
        raise UserError(
            f"outputs have the shape {shapes}: give [items, classes], [items, outputs, classes], or"
            " several of the first"
        )
    return list(outputs)


def are_numbers(output: np.ndarray, target: Target | None) -> bool:
    """Whether an output is real numbers, not scores of classes or answers."""
    if target is not None:
        return target.kind == "numbers"
    return output.dtype.kind == "f" and (output.ndim == 1 or output.shape[1] == 1)


def codes_of(output: np.ndarray, numbers: bool) -> Int[np.ndarray, " items"]:
    """Answers as whole numbers from 0: classes as they come, or bins of numbers."""
    if numbers:
        return _bins(output.reshape(len(output), -1).astype(float))
    scores = output.dtype.kind == "f" and output.ndim == 2
    said = output.argmax(axis=1) if scores else output.reshape(len(output), -1)[:, 0]
    return np.unique(said, return_inverse=True)[1].ravel()


def answers_of(
    output: np.ndarray, target: Target | None, classes: np.ndarray | None, name: str
) -> Answers:
    """The answers of one output, read as its target asks for them."""
    name = name if target is None else target.name
    numbers = are_numbers(output, target)
    codes = codes_of(output, numbers)
    if numbers:
        said = output.reshape(len(output), -1).astype(float)
        if target is not None and said.shape != target.labels.shape:
            raise UserError(
                f"target {name!r} has {target.labels.shape[1]} numbers per item, and the output"
                f" {said.shape[1]}"
            )
        return Answers(name, "numbers", codes, said)
    if output.dtype.kind == "f" and output.ndim == 2 and output.shape[1] > 1:
        return Answers(
            name, "classes", codes, _meant(output.argmax(axis=1), output.shape[1], target, classes)
        )
    if output.dtype.kind == "f":
        raise UserError(f"output {name!r} is one number per item, and its target a class")
    return Answers(name, "classes", codes, output.reshape(len(output), -1)[:, 0])


def _meant(
    places: np.ndarray, count: int, target: Target | None, classes: np.ndarray | None
) -> np.ndarray:
    """What the places of the largest scores stand for."""
    if classes is not None and len(classes) == count:
        return classes[places]
    if target is None:
        return places
    labels = target.labels
    if labels.dtype.kind in "iub" and labels.min() >= 0 and labels.max() < count:
        return places
    values = np.unique(labels) if target.values is None else target.values
    if len(values) != count:
        raise UserError(
            f"target {target.name!r} has {len(values)} values, and its output {count} scores: give"
            " labels as the numbers of classes, counted from 0"
        )
    return values[places]


def _bins(said: np.ndarray) -> np.ndarray:
    """Numbers as bins that are equally frequent; several numbers of an item as one."""
    columns = []
    for column in said.T:
        edges = np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])
        columns.append(np.searchsorted(edges, column))
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].ravel()
