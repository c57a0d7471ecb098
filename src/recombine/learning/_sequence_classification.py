"""Learning to classify sequences, and choosing the network that does best on deeper ones."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ..probes._label_accuracy import class_scores
from ..tasks._labelled_sequences import LabelledSequences
from ._label_losses import softmax_cross_entropy
from ._loop import AbstractRule

Model = TypeVar("Model", bound=Callable[..., Array])
Source = LabelledSequences | Callable[..., LabelledSequences]


def label_loss(model: Model, batch: LabelledSequences, key: PRNGKeyArray) -> Float[Array, ""]:
    """The mean cross-entropy of the labels, with dropout."""
    return softmax_cross_entropy(model(batch.tokens, batch.lengths, key=key), batch.labels)


class PonderLoss(eqx.Module):
    """The same with a price on how long columns compute: α times their mean remainder (D.1).

    The network has adaptive computation time: `SequenceClassifier.ponder`.
    """

    weight: float | Float[Array, ""] = 0.03
    """α."""

    def __call__(self, model: Any, batch: LabelledSequences, key: PRNGKeyArray) -> Float[Array, ""]:
        """The objective of a network on a batch."""
        scores, pondering = model.ponder(batch.tokens, batch.lengths, key=key)
        there = jnp.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
        price = jnp.where(there, pondering.remainder, 0).sum() / there.sum()
        return softmax_cross_entropy(scores, batch.labels) + self.weight * price


def scheduled(
    rate: float | Float[Array, ""], warm_up: int, falls_until: int, t: Int[Array, "*times"]
) -> Float[Array, "*times"]:
    """A rate that rises linearly over the first `warm_up` steps, and then falls linearly.

    It would be 0 at step `falls_until`; with 0 there it does not fall.
    """
    rising = (t + 1) / max(warm_up, 1)
    falling = (falls_until - t) / (falls_until - warm_up) if falls_until else 1
    return rate * jnp.clip(jnp.minimum(rising, falling), 0, 1)


class SequenceClassificationState(NamedTuple):
    """Where learning stands."""

    learns: Any
    """The part of the network that learns."""
    memory: Any
    """The optimiser's."""
    best: Any
    """The same part of the chosen network; `None` if none is chosen."""
    highest: Float[Array, ""]
    """The accuracy that it was chosen for."""
    chosen_at: Int[Array, ""]
    """The steps that it had learned."""
    seen: dict[str, Float[Array, ""]]
    """The last measurements."""


class SequenceClassification(AbstractRule[SequenceClassificationState], Generic[Model]):
    """AdamW on the cross-entropy of labels, with the network chosen on a set of its own (D.3).

    ```python
    sets = {name: part.framed() for name, part in task.sets(seed=0).items()}
    train = sets.pop("train")
    learns, stays = eqx.partition(network, eqx.is_inexact_array)
    rule = SequenceClassification(
        train.buckets(3), stays, train[:1000], sets, key, chosen_on="depth_valid"
    )
    state, curves = learning.train(rule, rule.init(learns), 30_000, every=1000)
    curves["longer_accuracy"][last_best(curves["step"], curves["depth_valid_accuracy"])]
    rule.best(state)
    ```

    A batch is of one of the `sources`, each of which has a width of its own: batches of short
    sequences have little padding. The network is measured after every `measure_every` steps, inside
    the compiled loop; `train` it with `every` at a multiple of them.

    **Arguments:**

    - `sources`: what batches are drawn from. Sequences, with replacement: one set, or several of
        different lengths such as `LabelledSequences.buckets`; or functions that draw afresh,
        `source(size, key=key)`, such as the `sample` of a task. A function that holds arrays is a
        PyTree, such as `jax.tree_util.Partial`.
    - `stays`: the part of the network that does not learn, with `None` for all that does. A network
        maps tokens `[batch, length]` and lengths `[batch]` to scores `[batch, classes]`. While it
        learns, it has a `key` for dropout.
    - `seen`: a part of the training data that is measured.
    - `tests`: further sequences to measure, by name.
    - `key`: all of step t is drawn with `jax.random.fold_in(key, t)`.
    - `learning_rate`, `warm_up`, `falls_until`: see `scheduled`; by default the rate is constant.
    - `b2`: of AdamW, how slowly the mean of squared gradients changes.
    - `matrix_rate`: if given, matrices take steps of Muon (Jordan et al., 2024) at this rate, in
        place of AdamW: momentum with all its singular values made about equal. Not in the paper; it
        needs fewer steps. The rate is scheduled as the other one.
    - `weight_decay`: of AdamW, and of Muon, on all weights; with 0 AdamW is Adam.
    - `clip`: the norm of the whole gradient to which longer ones are cut.
    - `batch`: sequences a step.
    - `measure_every`: steps between two measurements.
    - `chosen_on`: the test that the network is chosen on: the last of those with the highest
        accuracy, see `last_best`. By default none is.
    - `shares`: the probability of each source, up to a factor; by default the number of its
        sequences.
    - `objective`: what to descend, `objective(network, batch, key)`; see `PonderLoss`.
    - `at_once`: the most sequences to measure at a time, to save memory.
    """

    sources: tuple[Source, ...]
    stays: Model
    seen: LabelledSequences
    tests: dict[str, LabelledSequences]
    key: PRNGKeyArray
    learning_rate: float | Float[Array, ""] = 1.5e-4
    weight_decay: float | Float[Array, ""] = 0.0
    clip: float | Float[Array, ""] = 5.0
    warm_up: int = 0
    batch: int = 512
    measure_every: int = 1000
    chosen_on: str | None = None
    shares: Float[Array, " sources"] | None = None
    objective: Callable[..., Array] = label_loss
    at_once: int = 512
    falls_until: int = 0
    b2: float | Float[Array, ""] = 0.999
    matrix_rate: float | Float[Array, ""] | None = None

    def __check_init__(self):
        check_counts(self, "batch", "measure_every", "at_once")
        if self.warm_up < 0:
            raise ValueError(f"warm_up={self.warm_up} is negative; use 0 for none")
        if self.falls_until and self.falls_until <= self.warm_up:
            raise ValueError(
                f"falls_until={self.falls_until} is not after warm_up={self.warm_up}; use 0 for a "
                "rate that does not fall"
            )
        if self.chosen_on is not None and self.chosen_on not in self.tests:
            raise ValueError(f"no test is called {self.chosen_on!r}: {', '.join(self.tests)}")
        if not self.sources:
            raise ValueError("there is nothing to draw batches from; give one source or more")
        sets = [s for s in self.sources if isinstance(s, LabelledSequences)]
        if len(self.sources) > max(len(sets), 1) and self.shares is None:
            raise ValueError("several functions need `shares`: how often a batch is of each")
        if self.shares is not None and len(self.shares) != len(self.sources):
            raise ValueError(f"{len(self.shares)} shares of {len(self.sources)} sources")
        for part in [*sets, *self.tests.values()]:
            if (part.vocabulary, part.classes) != (self.seen.vocabulary, self.seen.classes):
                raise ValueError("all sequences must have one vocabulary; frame all of them alike")

    def init(self, learns: Model) -> SequenceClassificationState:
        """The state before the first step, from the part of the network that learns."""
        best = None if self.chosen_on is None else learns
        # Any measurement is at least as good: the untrained network is not chosen.
        nothing, start = jnp.array(-1.0), jnp.array(0)
        memory = self._optimiser(start).init(learns)
        return SequenceClassificationState(
            learns, memory, best, nothing, start, self.measure(learns)
        )

    def model(self, state: SequenceClassificationState) -> Model:
        """The whole network, as it is now."""
        return eqx.combine(state.learns, self.stays)

    def best(self, state: SequenceClassificationState) -> Model:
        """The whole network that was chosen."""
        if self.chosen_on is None:
            raise ValueError("no network is chosen; name the test to choose on, `chosen_on`")
        return eqx.combine(state.best, self.stays)

    def measure(self, learns: Model) -> dict[str, Float[Array, ""]]:
        """Loss and accuracy on `seen`, and on every test as `name_loss` and `name_accuracy`."""
        named = {"": self.seen} | {f"{name}_": test for name, test in self.tests.items()}
        # All as one set: one program looks at them.
        width = max(part.tokens.shape[1] for part in named.values())
        parts = [part.sized(width) for part in named.values()]
        together = jax.tree.map(lambda *columns: jnp.concatenate(columns), *parts)
        scores = class_scores(eqx.combine(learns, self.stays), together, batch_size=self.at_once)
        found, start = {}, 0
        for prefix, part in named.items():
            own, start = scores[start : start + len(part)], start + len(part)
            found[f"{prefix}loss"] = softmax_cross_entropy(own, part.labels)
            found[f"{prefix}accuracy"] = (own.argmax(axis=1) == part.labels).mean()
        return found

    def gradient(self, learns: Model, t: Int[Array, ""]) -> Model:
        """The slope of the objective on the batch of step t."""
        of_source, of_items, of_model = jax.random.split(jax.random.fold_in(self.key, t), 3)

        def on(source):
            def objective(learns):
                batch = _drawn(source, self.batch, of_items)
                return self.objective(eqx.combine(learns, self.stays), batch, of_model)

            return jax.grad(objective)

        if len(self.sources) == 1:
            return on(self.sources[0])(learns)
        chosen = jax.random.categorical(of_source, jnp.log(self._shares()))
        return jax.lax.switch(chosen, [on(source) for source in self.sources], learns)

    def step(
        self, state: SequenceClassificationState, t: Int[Array, ""]
    ) -> SequenceClassificationState:
        """One batch, one step of AdamW, and from time to time a measurement."""
        gradient = self.gradient(state.learns, t)
        updates, memory = self._optimiser(t).update(gradient, state.memory, state.learns)
        state = state._replace(learns=optax.apply_updates(state.learns, updates), memory=memory)

        def measured(state):
            seen = self.measure(state.learns)
            if self.chosen_on is None:
                return state._replace(seen=seen)
            accuracy = seen[f"{self.chosen_on}_accuracy"]
            old = (state.best, state.highest, state.chosen_at)
            new = (state.learns, accuracy.astype(state.highest.dtype), (t + 1).astype(old[2].dtype))
            better = accuracy >= state.highest
            best, highest, chosen_at = jax.tree.map(
                lambda new, old: jnp.where(better, new, old), new, old
            )
            return state._replace(best=best, highest=highest, chosen_at=chosen_at, seen=seen)

        due = (t + 1) % self.measure_every == 0
        return jax.lax.cond(due, measured, lambda state: state, state)

    def observe(self, state: SequenceClassificationState) -> dict[str, Array]:
        """The last measurements, see `measure`."""
        return state.seen

    def _shares(self) -> Float[Array, " sources"]:
        if self.shares is not None:
            return self.shares
        return jnp.array([float(len(source)) for source in self.sources])  # type: ignore[arg-type]

    def _optimiser(self, t: Int[Array, ""]) -> optax.GradientTransformation:
        def at(rate):
            return scheduled(rate, self.warm_up, self.falls_until, t)

        cut, decay, b2 = optax.clip_by_global_norm(self.clip), self.weight_decay, self.b2
        if self.matrix_rate is None:
            return optax.chain(cut, optax.adamw(at(self.learning_rate), b2=b2, weight_decay=decay))
        others = {
            "adam_learning_rate": at(self.learning_rate), "adam_b2": b2, "adam_weight_decay": decay,
        }  # fmt: skip
        muon = optax.contrib.muon(at(self.matrix_rate), weight_decay=decay, **others)
        return optax.chain(cut, muon)


def _drawn(source: Source, size: int, key: PRNGKeyArray) -> LabelledSequences:
    if isinstance(source, LabelledSequences):
        return source.take(jax.random.randint(key, (size,), 0, len(source)))
    return source(size, key=key)
