"""Learning to write sequences, symbol by symbol after the true ones."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ..probes._sentences import sentence_matches
from ..tasks._sequences import SequenceBatch
from ..tasks._task import AbstractTask
from ._loop import AbstractRule

Model = TypeVar("Model", bound=Callable[[Array, Array, Array, Array], Array])


class SequenceState(NamedTuple):
    """A network on its way: the part of it that learns, and the optimiser's memory."""

    learns: Any
    memory: Any


def sequence_cross_entropy(
    logits: Float[Array, "size steps symbols"],
    outputs: Int[Array, "size steps"],
    lengths: Int[Array, " size"],
) -> Float[Array, ""]:
    """Cross-entropy summed over the symbols of a sequence, up to its length; mean of sequences."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, outputs)
    counts = jnp.arange(outputs.shape[1]) < lengths[:, None]
    return jnp.where(counts, losses, 0).sum() / len(outputs)


def staircase(
    rate: float | Float[Array, ""],
    decay: float | Float[Array, ""],
    every: int,
    t: Int[Array, "*times"],
) -> Float[Array, "*times"]:
    """A rate that is multiplied by `decay` after every so many steps, and constant in between."""
    return rate * jnp.asarray(decay) ** (t // every)


class TeacherForcing(AbstractRule[SequenceState], Generic[Model]):
    """Adam on the cross-entropy of output symbols, each given the true ones before it (Appendix B).

    ```python
    learns, stays = eqx.partition(network, eqx.is_inexact_array)
    rule = TeacherForcing(task, stays, tests, key)
    state, curves = train(rule, rule.init(learns), 50, every=5)
    ```

    **Arguments:**

    - `task`: batches are drawn from it, with replacement; it samples a `SequenceBatch`.
    - `stays`: the part of the network that does not learn, with `None` for all that does. A network
        maps a `SequenceBatch`, part by part, to the logits of its outputs.
    - `tests`: sequences that `observe` looks at.
    - `key`: the batch of step t is drawn with `jax.random.fold_in(key, t)`.
    - `learning_rate`, `decay`, `decay_every`: of Adam; see `staircase`.
    - `clip`: the norm of the whole gradient to which longer ones are cut.
    - `batch`: sequences a step.
    """

    task: AbstractTask
    stays: Model
    tests: SequenceBatch
    key: PRNGKeyArray
    learning_rate: float | Float[Array, ""] = 0.01
    decay: float | Float[Array, ""] = 0.96
    decay_every: int = 100
    clip: float | Float[Array, ""] = 1.0
    batch: int = 256

    def __check_init__(self):
        check_counts(self, "batch", "decay_every")

    def _optimiser(self, t: Int[Array, ""] | int) -> optax.GradientTransformation:
        rate = staircase(self.learning_rate, self.decay, self.decay_every, jnp.asarray(t))
        return optax.chain(optax.clip_by_global_norm(self.clip), optax.adam(rate))

    def init(self, learns: Model) -> SequenceState:
        """The state before the first step, from the part of the network that learns."""
        return SequenceState(learns, self._optimiser(0).init(learns))

    def model(self, state: SequenceState) -> Model:
        """The whole network."""
        return eqx.combine(state.learns, self.stays)

    def step(self, state: SequenceState, t: Int[Array, ""]) -> SequenceState:
        """One batch, one step of Adam."""
        batch = self.task.sample(self.batch, key=jax.random.fold_in(self.key, t))

        def loss(learns):
            logits = eqx.combine(learns, self.stays)(*batch)
            return sequence_cross_entropy(logits, batch.outputs, batch.output_lengths)

        gradient = jax.grad(loss)(state.learns)
        updates, memory = self._optimiser(t).update(gradient, state.memory)
        return SequenceState(optax.apply_updates(state.learns, updates), memory)

    def observe(self, state: SequenceState) -> dict[str, Array]:
        """The cross-entropy of the tests, and which of them are `right` as whole sentences."""
        logits = self.model(state)(*self.tests)
        outputs, lengths = self.tests.outputs, self.tests.output_lengths
        return {
            "loss": sequence_cross_entropy(logits, outputs, lengths),
            "right": sentence_matches(logits.argmax(axis=2), outputs, lengths),
        }
