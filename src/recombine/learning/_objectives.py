"""What `Descent` descends: functions of a network, a batch and a key."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..models._batch_norm import AbstractSlotClassifier, Statistics
from ..tasks._episode import Examples
from ..tasks._labelled_sequences import LabelledSequences
from ..tasks._sequences import SequenceBatch
from ._label_losses import route_cross_entropy, sequence_cross_entropy, softmax_cross_entropy
from ._losses import half_squared_error

Model = Callable[..., Array]


class AbstractCarryingObjective(eqx.Module):
    """An objective that carries something from batch to batch, such as running statistics."""

    @abstractmethod
    def initial(self, model: Any) -> Any:
        """What is carried into the first batch."""

    @abstractmethod
    def __call__(
        self, model: Any, batch: Any, key: PRNGKeyArray, carry: Any
    ) -> tuple[Float[Array, ""], dict[str, Array], Any]:
        """The loss, further values to record, and what is carried on."""


class ScoreLoss(eqx.Module):
    """A loss of scores and labels, for batches with inputs `x` and one label each, `labels`."""

    loss: Callable[[Array, Array], Array] = softmax_cross_entropy

    def of(self, scores: Array, batch: Any) -> Float[Array, ""]:
        """The loss of scores that a network has given to a batch."""
        return self.loss(scores, batch.labels)

    def __call__(self, model: Model, batch: Any, key: PRNGKeyArray | None = None) -> Array:
        """The loss of a network on a batch."""
        return self.of(model(batch.x), batch)


class RouteLoss(eqx.Module):
    """`route_cross_entropy` of a classifier that sends the same images through all routes.

    The routes that are not in `mask` take no part in it: gates mask the error, not the activity.
    """

    mask: Bool[Array, "domains domains"]

    def __call__(self, model: Model, batch: Any, key: PRNGKeyArray | None = None) -> Array:
        """The loss of a network on a batch."""
        return route_cross_entropy(model(batch.inputs), batch.labels, self.mask)


class SlotLoss(AbstractCarryingObjective):
    """The mean cross-entropy of all images of inputs (Appendix E.2), with batch normalisation.

    The running statistics of the network are carried along.
    """

    def initial(self, model: AbstractSlotClassifier) -> tuple[Statistics, ...]:
        """The statistics before training."""
        return model.initial()

    def __call__(self, model, batch, key, carry):
        """The loss of a network on a batch, nothing else, and the statistics after the batch."""
        if len(batch.x) < 2:
            raise ValueError("a batch of 1 has no variance to divide by; use 2 or more")
        logits, statistics = model(batch.x, carry, training=True)
        return softmax_cross_entropy(logits, batch.labels), {}, statistics


def mean_squared_error(
    model: Model, batch: Any, key: PRNGKeyArray | None = None
) -> Float[Array, ""]:
    """The mean over samples of (ŷ − y)², for a model with one output."""
    return jnp.square(model(batch.x)[:, 0] - batch.y).mean()


def half_squared_loss(
    model: Model, examples: Examples, key: PRNGKeyArray | None = None
) -> Float[Array, ""]:
    """The mean over examples of ½ (ŷ − y)², summed over outputs."""
    return half_squared_error(model(examples.x), examples)


def teacher_forcing_loss(
    model: Model, batch: SequenceBatch, key: PRNGKeyArray | None = None
) -> Float[Array, ""]:
    """The cross-entropy of output symbols, each given the true ones before it (Appendix B)."""
    return sequence_cross_entropy(model(*batch), batch.outputs, batch.output_lengths)


def label_loss(model: Model, batch: LabelledSequences, key: PRNGKeyArray) -> Float[Array, ""]:
    """The mean cross-entropy of the labels of sequences, with dropout."""
    return softmax_cross_entropy(model(batch.tokens, batch.lengths, key=key), batch.labels)


class PonderLoss(eqx.Module):
    """`label_loss` with a price on how long columns compute: α times their mean remainder (D.1).

    The network has adaptive computation time: `SequenceClassifier.ponder`.
    """

    weight: float | Float[Array, ""] = 0.03
    """α."""
    padding: bool = False
    """Whether columns of padding count in the mean, as in the published code."""

    def __call__(self, model: Any, batch: LabelledSequences, key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of a network on a batch."""
        logits, extras = model.ponder(batch.tokens, batch.lengths, key=key)
        mask = jnp.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
        mask = jnp.ones_like(mask) if self.padding else mask
        price = jnp.where(mask, extras["remainder"], 0).sum() / mask.sum()
        return softmax_cross_entropy(logits, batch.labels) + self.weight * price


class BalancedLabelLoss(eqx.Module):
    """`label_loss` with a price on unbalanced experts: γ times their term, summed over layers.

    The network has mixtures of experts: `SequenceClassifier.ponder` gives their `balance`. Padding
    counts in it like all other tokens. A network without experts has no such term.
    """

    weight: float | Float[Array, ""] = 1e-3
    """γ."""

    def __call__(self, model: Any, batch: LabelledSequences, key: PRNGKeyArray) -> Float[Array, ""]:
        """The loss of a network on a batch."""
        logits, extras = model.ponder(batch.tokens, batch.lengths, key=key)
        balance = extras["balance"].sum() if "balance" in extras else 0.0
        return softmax_cross_entropy(logits, batch.labels) + self.weight * balance
