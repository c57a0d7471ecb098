"""Learning to classify, by Adam on batches that are drawn afresh."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..tasks._task import AbstractTask
from ._label_losses import categorical_hinge
from ._loop import AbstractRule

Model = TypeVar("Model", bound=Callable[[Array], Array])


class ClassificationState(NamedTuple):
    """A network on its way, and the optimiser's memory."""

    model: Any
    memory: Any


class Classification(AbstractRule[ClassificationState], Generic[Model]):
    """Adam on a loss of scores and labels, with a fresh batch of a task at every step.

    ```python
    rule = Classification(task, task.sample(1000, key=a), {"ood": task.sample_test(1000, key=b)}, c)
    state, curves = train(rule, rule.init(network), 200, every=10)
    curves["accuracy"], curves["ood_accuracy"], state.model
    ```

    Task, rate and key are arrays: settings of the task, rates and seeds of one shape share one
    compilation.

    **Arguments:**

    - `task`: its batches have inputs `x` and one label each, `labels`.
    - `seen`: a sample of the training stream that `observe` looks at.
    - `tests`: further samples that it looks at, by name.
    - `key`: the batch of step t is drawn with `jax.random.fold_in(key, t)`.
    - `loss`: of scores and labels.
    - `learning_rate`, `epsilon`: of Adam.
    - `batch`: inputs a step.
    - `prepare`: what to do to a batch before it is learned from, `prepare(batch, key)`.
    - `objective`: what to descend in place of the loss, `objective(network, batch, key)`.
    """

    task: AbstractTask
    seen: Any
    tests: dict[str, Any]
    key: PRNGKeyArray
    loss: Callable[[Array, Array], Array] = categorical_hinge
    learning_rate: float | Float[Array, ""] = 1e-3
    batch: int = 64
    epsilon: float | Float[Array, ""] = 1e-7
    prepare: Callable[..., Any] | None = None
    objective: Callable[..., Array] | None = None

    def __check_init__(self):
        if self.batch < 1:
            raise ValueError(f"a batch of {self.batch} inputs; use 1 or more")

    def init(self, model: Model) -> ClassificationState:
        """The state before the first step. All weights of the network learn."""
        return ClassificationState(model, self._optimiser().init(model))

    def step(self, state: ClassificationState, t: Int[Array, ""]) -> ClassificationState:
        """One batch, one step of Adam."""
        key = jax.random.fold_in(self.key, t)
        batch = self.task.sample(self.batch, key=key)
        of_prepare, of_objective = jax.random.split(jax.random.fold_in(key, 1))
        if self.prepare is not None:
            batch = self.prepare(batch, of_prepare)

        def objective(model):
            if self.objective is not None:
                return self.objective(model, batch, of_objective)
            return self.loss(model(batch.x), batch.labels)

        gradient = jax.grad(objective)(state.model)
        updates, memory = self._optimiser().update(gradient, state.memory)
        return ClassificationState(optax.apply_updates(state.model, updates), memory)

    def observe(self, state: ClassificationState) -> dict[str, Array]:
        """Loss and accuracy on `seen`, and on every test as `name_loss` and `name_accuracy`."""
        found = {}
        named = {"": self.seen} | {f"{name}_": test for name, test in self.tests.items()}
        for prefix, batch in named.items():
            scores = state.model(batch.x)
            found[f"{prefix}loss"] = self.loss(scores, batch.labels)
            found[f"{prefix}accuracy"] = (scores.argmax(axis=-1) == batch.labels).mean()
        return found

    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate, eps=self.epsilon)
