"""Learning to classify all images of an input, with batch normalisation."""

from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..models._batch_norm import AbstractSlotClassifier, Statistics
from ..probes._accuracy import component_accuracy
from ..tasks._compositional_images import CompositionalImages, CompositionBatch
from ._loop import AbstractRule

Model = TypeVar("Model", bound=AbstractSlotClassifier)


class SlotState(NamedTuple):
    """A network on its way: what of it learns, the optimiser's memory, running statistics."""

    learns: Any
    memory: Any
    statistics: tuple[Statistics, ...]


def slot_cross_entropy(
    logits: Float[Array, "batch k classes"], labels: Int[Array, "batch k"]
) -> Float[Array, ""]:
    """Softmax cross-entropy over the classes of each image, averaged over images and inputs."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


class SlotClassification(AbstractRule[SlotState], Generic[Model]):
    """Adam on the cross-entropy of all k images of fresh inputs (Appendix E.2).

    ```python
    learns, stays = network.partition()
    rule = SlotClassification(task, stays, tests, key)
    state, curves = train(rule, rule.init(learns), 1000, every=100)
    logits, _ = rule.model(state)(x, state.statistics)
    ```

    Task, rate and key are arrays: noise, rates and seeds of one shape share one compilation.

    **Arguments:**

    - `task`: inputs are drawn from it, and seen once.
    - `stays`: the part of the network that does not learn, with `None` for all that does.
    - `tests`: inputs that `observe` looks at.
    - `key`: the batch of step t is drawn with `jax.random.fold_in(key, t)`.
    - `learning_rate`: of Adam.
    - `batch`: inputs a step.
    """

    task: CompositionalImages
    stays: Model
    tests: CompositionBatch
    key: PRNGKeyArray
    learning_rate: float | Float[Array, ""] = 1e-4
    batch: int = 128

    def __check_init__(self):
        if self.batch < 2:
            raise ValueError(f"a batch of {self.batch} has no variance to divide by; use 2 or more")

    def init(self, learns: Model) -> SlotState:
        """The state before the first step, from the part of the network that learns."""
        statistics = eqx.combine(learns, self.stays).initial()
        return SlotState(learns, optax.adam(self.learning_rate).init(learns), statistics)

    def model(self, state: SlotState) -> Model:
        """The whole network."""
        return eqx.combine(state.learns, self.stays)

    def step(self, state: SlotState, t: Int[Array, ""]) -> SlotState:
        """One batch, one step of Adam; the statistics move on with the batch."""
        batch = self.task.sample(self.batch, key=jax.random.fold_in(self.key, t))

        def loss(learns):
            model = eqx.combine(learns, self.stays)
            logits, statistics = model(batch.x, state.statistics, training=True)
            return slot_cross_entropy(logits, batch.labels), statistics

        gradient, statistics = jax.grad(loss, has_aux=True)(state.learns)
        updates, memory = optax.adam(self.learning_rate).update(gradient, state.memory)
        return SlotState(optax.apply_updates(state.learns, updates), memory, statistics)

    def observe(self, state: SlotState) -> dict[str, Array]:
        """Cross-entropy and component accuracy on the tests, by the running statistics."""
        logits, _ = self.model(state)(self.tests.x, state.statistics)
        return {
            "loss": slot_cross_entropy(logits, self.tests.labels),
            "accuracy": component_accuracy(logits, self.tests.labels),
        }
