"""What is measured of classifiers while they learn: loss and accuracy on named sets."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._checks import check_counts
from ..tasks._class_scores import class_scores
from ..tasks._labelled_sequences import LabelledSequences
from ._label_losses import softmax_cross_entropy


def _prefixed(sets: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}_" if name else "": part for name, part in sets.items()}


class Accuracy(eqx.Module):
    """Loss and accuracy of a classifier on named sets, as `<name>_loss` and `<name>_accuracy`.

    The set whose name is empty gives plain `loss` and `accuracy`. A set has inputs `x` and one
    label each, `labels`. A network that carries running statistics is measured with them.
    """

    sets: Mapping[str, Any]
    loss: Callable[[Array, Array], Array] = softmax_cross_entropy

    def __call__(self, model: Callable[..., Any], carry: Any = None) -> dict[str, Array]:
        """What is measured of `model`."""
        found = {}
        for prefix, part in _prefixed(self.sets).items():
            scores = model(part.x) if carry is None else model(part.x, carry)[0]
            found[f"{prefix}loss"] = self.loss(scores, part.labels)
            found[f"{prefix}accuracy"] = (scores.argmax(axis=-1) == part.labels).mean()
        return found


class SequenceAccuracy(eqx.Module):
    """`Accuracy` on named sets of labelled sequences, by their softmax cross-entropy.

    **Arguments:**

    - `sets`: sequences by name, all of one vocabulary.
    - `batch_size`: the most sequences to work on at a time, to save memory.
    """

    sets: Mapping[str, LabelledSequences]
    batch_size: int = 512

    def __check_init__(self):
        check_counts(self, "batch_size")
        if len({(part.vocabulary, part.classes) for part in self.sets.values()}) > 1:
            raise ValueError("all sequences must have one vocabulary; frame all of them alike")

    def __call__(self, model: Callable[..., Array]) -> dict[str, Array]:
        """What is measured of `model`."""
        named = _prefixed(self.sets)
        # All as one set: one program looks at them.
        width = max(part.tokens.shape[1] for part in named.values())
        parts = [part.sized(width) for part in named.values()]
        together = jax.tree.map(lambda *columns: jnp.concatenate(columns), *parts)
        scores = class_scores(model, together, batch_size=self.batch_size)
        found, start = {}, 0
        for prefix, part in named.items():
            own, start = scores[start : start + len(part)], start + len(part)
            found[f"{prefix}loss"] = softmax_cross_entropy(own, part.labels)
            found[f"{prefix}accuracy"] = (own.argmax(axis=1) == part.labels).mean()
        return found
