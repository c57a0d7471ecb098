"""Learning to turn sequences into sequences: teacher forcing, and what is seen along the way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ..tasks._sequences import SequenceBatch
from ._batches import Batches, Mixture
from ._descent import Descent
from ._optimizer import Number, Rate, adam, chain, clip


def token_loss(model: Callable[..., Array], batch: SequenceBatch, key: PRNGKeyArray) -> Array:
    """The mean cross-entropy of all output symbols of a batch, with dropout.

    Each symbol is predicted from the true ones before it, end symbols too.
    """
    losses = optax.softmax_cross_entropy_with_integer_labels(model(*batch, key=key), batch.outputs)
    counts = _within(batch)
    return jnp.where(counts, losses, 0).sum() / counts.sum()


def _within(batch: SequenceBatch) -> Bool[Array, "size steps"]:
    """Which places of the outputs hold symbols."""
    return jnp.arange(batch.outputs.shape[1]) < batch.output_lengths[:, None]


class Noam(eqx.Module):
    """A rate that rises linearly over `warmup_steps`, then falls as the root of time (Section C.5).

    In step t it is rate / √width · min((t + 1)^(−1/2), (t + 1) warmup_steps^(−3/2)).
    """

    rate: Number
    width: int
    warmup_steps: int

    def __check_init__(self):
        check_counts(self, "width", "warmup_steps")

    def __call__(self, t: Int[Array, "*times"]) -> Float[Array, "*times"]:
        """The rate of step t."""
        step = t + 1.0
        least = jnp.minimum(step**-0.5, step * self.warmup_steps**-1.5)
        return self.rate * self.width**-0.5 * least


class WarmupCosine(eqx.Module):
    """A rate that rises linearly over `warmup_steps`, then falls along half a cosine.

    It is 0 at step `decay_steps`.
    """

    rate: Number
    warmup_steps: int
    decay_steps: int

    def __check_init__(self):
        check_counts(self, "warmup_steps")
        if self.decay_steps <= self.warmup_steps:
            raise ValueError(
                f"decay_steps={self.decay_steps} is not after warmup_steps={self.warmup_steps}"
            )

    def __call__(self, t: Int[Array, "*times"]) -> Float[Array, "*times"]:
        """The rate of step t."""
        share = (t - self.warmup_steps) / (self.decay_steps - self.warmup_steps)
        falling = 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(share, 0, 1)))
        return self.rate * jnp.minimum((t + 1) / self.warmup_steps, falling)


class TranslationLog(eqx.Module):
    """What is seen of every pair of named sets, under names such as `ood_right`.

    `right`, `prefix` and `told` say whether the network writes the true output, whether it is right
    up to the shorter of both lengths, and whether it would be right if told the length. `loss` is
    the cross-entropy of an output, summed over its symbols, given the true ones before each;
    `free_loss` that given the network's own ones.

    The first three follow from the most probable symbols after true prefixes: up to its first
    mistake a network that reads its own symbols reads the true ones. Only `free_loss` needs greedy
    decoding. There are also `<name>_accuracy`, and `<name>_token_loss`, the mean over symbols; that
    of the first set is the `loss` that is shown as progress.

    **Arguments:**

    - `sets`: pairs by name.
    - `free`: the names of sets whose `free_loss` is measured.
    - `batch_size`: the most pairs to work on at a time, to save memory.
    """

    sets: Mapping[str, SequenceBatch]
    free: tuple[str, ...] = eqx.field(static=True, default=())
    batch_size: int = eqx.field(static=True, default=256)

    def __check_init__(self):
        check_counts(self, "batch_size")
        if unknown := [name for name in self.free if name not in self.sets]:
            raise ValueError(f"there is no set {unknown[0]!r}, only {', '.join(self.sets)}")
        if empty := [name for name, pairs in self.sets.items() if not len(pairs.inputs)]:
            raise ValueError(f"the set {empty[0]!r} is empty")

    def __call__(self, model: Any) -> dict[str, Array]:
        """What is measured of a network."""
        found: dict[str, Array] = {}
        for name, pairs in self.sets.items():
            look = lambda batch: forced_scores(model(*batch), batch)  # noqa: E731
            seen = in_batches(look, pairs, self.batch_size)
            if name in self.free:
                run = lambda batch: model.free_running(*batch).losses.sum(axis=1)  # noqa: E731
                seen["free_loss"] = in_batches(run, pairs, self.batch_size)
            found |= {f"{name}_{what}": values for what, values in seen.items()}
            found[f"{name}_accuracy"] = seen["right"].mean()
            found[f"{name}_token_loss"] = seen["loss"].sum() / pairs.output_lengths.sum()
        return found | {"loss": found[f"{next(iter(self.sets))}_token_loss"]}


def forced_scores(
    logits: Float[Array, "size steps symbols"], batch: SequenceBatch
) -> dict[str, Array]:
    """What `TranslationLog` says of pairs, from the logits after true prefixes."""
    counts = _within(batch)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.outputs)
    chosen = logits.argmax(axis=2)
    wrong = (chosen != batch.outputs) & counts
    right = ~wrong.any(axis=1)
    # A network whose first mistake is to end too early or too late is right up to there.
    first = wrong.argmax(axis=1)
    at_first = jnp.take_along_axis(chosen, first[:, None], axis=1)[:, 0]
    too_early, too_late = at_first == 0, first == batch.output_lengths - 1
    told = logits.at[:, :, 0].set(-jnp.inf).argmax(axis=2) == batch.outputs
    before_end = jnp.arange(batch.outputs.shape[1]) < batch.output_lengths[:, None] - 1
    return {
        "right": right,
        "prefix": right | ((too_early | too_late) & (first > 0)),
        "told": (told | ~before_end).all(axis=1),
        "loss": jnp.where(counts, losses, 0).sum(axis=1),
    }


def in_batches(look: Callable[[SequenceBatch], Any], pairs: SequenceBatch, batch_size: int) -> Any:
    """What `look` says of pairs, some of them at a time: a PyTree of `[size, ...]`."""
    count = len(pairs.inputs)
    parts = -(-count // batch_size)
    size = -(-count // parts)
    # The last part is filled up with pairs that come twice.
    places = (jnp.arange(parts * size) % count).reshape(parts, size)
    found = jax.lax.map(lambda p: look(jax.tree.map(lambda x: x[p], pairs)), places)
    return jax.tree.map(lambda x: x.reshape(parts * size, *x.shape[2:])[:count], found)


def teacher_forcing(
    buckets: Sequence[SequenceBatch],
    rate: Rate,
    *,
    batch_size: int,
    key: PRNGKeyArray,
    clip_norm: Number | None = None,
    measure: Callable[..., dict[str, Array]] | None = None,
    every: int = 1,
    **options: Any,
) -> Descent:
    """Adam on batches of pairs that are drawn with replacement (Section C.5).

    ```python
    rule = teacher_forcing(
        length_buckets(pairs, 3), Noam(2.0, 512, 4000), batch_size=128, key=key,
        measure=TranslationLog({"iid": iid, "ood": ood}), every=500,
    )
    ```

    **Arguments:**

    - `buckets`: sets of pairs; all pairs of a batch are of one of them.
    - `rate`: a rate, or a schedule such as `Noam` or `WarmupCosine`.
    - `clip_norm`: the norm to which longer gradients are cut; None for none.
    - `options`: those of `optax.adam`.
    """
    batches: Batches = Mixture.of_sets(buckets, batch_size)
    optimizer = adam(rate, **options)
    return Descent(
        token_loss,
        batches,
        optimizer if clip_norm is None else chain(clip(clip_norm), optimizer),
        key=key,
        measure=measure,
        every=every,
    )
