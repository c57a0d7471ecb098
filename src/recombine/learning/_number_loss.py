"""The loss of networks that compute with numbers, and whether their results are right."""

from collections.abc import Callable

import equinox as eqx
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..tasks._number_batch import NumberBatch


def number_loss(
    model: Callable[..., Array], batch: NumberBatch, key: PRNGKeyArray | None = None
) -> Float[Array, ""]:
    """The mean cross-entropy of the digits of those results that count."""
    losses = optax.softmax_cross_entropy_with_integer_labels(model(batch.x), batch.labels)
    return (batch.weights * losses.mean(axis=2)).sum() / batch.weights.sum()


def numbers_right(model: Callable[..., Array], batch: NumberBatch) -> Bool[Array, "size results"]:
    """Whether all digits of every result are right."""
    return (model(batch.x).argmax(axis=3) == batch.labels).all(axis=2)


class NumberAccuracy(eqx.Module):
    """The share of right results on a batch, all digits of each, for `measure` of a rule."""

    batch: NumberBatch

    def __call__(self, model: Callable[..., Array]) -> dict[str, Array]:
        """The mean loss, and the accuracy of all results and of each."""
        right = numbers_right(model, self.batch).mean(axis=0)
        each = {f"accuracy_{i + 1}": share for i, share in enumerate(right)}
        return {"loss": number_loss(model, self.batch), "accuracy": right.mean()} | each


class NumberPredictions(eqx.Module):
    """What a network says on a batch, for `under_masks`: the most probable digits."""

    batch: NumberBatch

    def __call__(self, model: Callable[..., Array]) -> dict[str, Array]:
        """The digits of every result, `[size, results, digits]`."""
        return {"digits": model(self.batch.x).argmax(axis=3)}
