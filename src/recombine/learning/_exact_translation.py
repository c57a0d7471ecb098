"""Learning from the network's own outputs now and then, and the share of exact outputs."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_counts
from ..tasks._sequences import SequenceBatch
from ._translation import _within, forced_scores, in_batches


class SummedTokenLoss(eqx.Module):
    """The cross-entropy of all output symbols, summed over each output (Section B.3.7).

    A symbol is predicted from the true ones before it, or from those that the network itself has
    chosen; which it is, is drawn for every batch. Without a key it is always the true ones, and
    there is no dropout.

    **Arguments:**

    - `forced`: the probability of true symbols. Below 1 the network has a method `self_fed`.
    - `dropout`: whether the network gets a key for dropout.
    """

    forced: float = eqx.field(static=True, default=1.0)
    dropout: bool = eqx.field(static=True, default=True)

    def __call__(
        self, model: Any, batch: SequenceBatch, key: PRNGKeyArray | None = None
    ) -> Float[Array, ""]:
        """The loss of a network on a batch."""
        of_choice, of_dropout = (None, None) if key is None else jax.random.split(key)
        drops = of_dropout if self.dropout else None
        if of_choice is None or self.forced == 1:
            logits = model(*batch, key=drops)
        else:
            logits = jax.lax.cond(
                jax.random.bernoulli(of_choice, self.forced),
                lambda: model(*batch, key=drops),
                lambda: model.self_fed(*batch, key=drops),
            )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.outputs)
        return jnp.where(_within(batch), losses, 0).sum() / len(losses)


class ExactTranslations(eqx.Module):
    """The share of outputs of named sets that are written without a mistake, greedily.

    Up to its first mistake a network that reads its own symbols reads the true ones, so that one
    look at all symbols is enough.
    """

    sets: Mapping[str, SequenceBatch]
    batch_size: int = eqx.field(static=True, default=256)

    def __check_init__(self):
        check_counts(self, "batch_size")

    def __call__(self, model: Any) -> dict[str, Array]:
        """The shares by name, and the mean `loss` per symbol of the first set."""
        # All as one set: one program looks at them.
        together = SequenceBatch(
            *(_stacked(columns) for columns in zip(*self.sets.values(), strict=True))
        )
        look = lambda batch: forced_scores(model(*batch), batch)  # noqa: E731
        seen = in_batches(look, together, self.batch_size)
        found, start = {}, 0
        for name, pairs in self.sets.items():
            own = slice(start, start + len(pairs.inputs))
            found[name], start = seen["right"][own].mean(), own.stop
            found.setdefault("loss", seen["loss"][own].sum() / pairs.output_lengths.sum())
        return found


def _stacked(columns: tuple[Array, ...]) -> Array:
    """Rows of several sets, as wide as the widest."""
    if columns[0].ndim == 1:
        return jnp.concatenate(columns)
    width = max(column.shape[1] for column in columns)
    return jnp.concatenate([jnp.pad(c, ((0, 0), (0, width - c.shape[1]))) for c in columns])
