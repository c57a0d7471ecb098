"""The inner loop of meta-learning: a model's fast parameters, fitted to one task."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..models._meta_model import AbstractMetaModel
from ..tasks._episode import Episode, Examples

Loss = Callable[[Float[Array, "samples outputs"], Examples], Float[Array, ""]]


def inner_adamw(learning_rate: float | Float[Array, ""]) -> optax.GradientTransformation:
    """AdamW whose second moment has a small constant under its root.

    Without it a fast parameter with zero gradient has an infinite derivative of √v at v = 0, and
    the gradient through the inner loop is not a number.
    """
    return optax.adamw(learning_rate, weight_decay=1e-4, eps_root=float(jnp.finfo("float32").eps))


class Adaptation(eqx.Module):
    """How fast parameters are fitted to the support set of a task.

    **Arguments:**

    - `loss`: of predictions against `Examples`.
    - `steps`: steps of the inner optimiser.
    - `learning_rate`: its learning rate.
    - `optimiser`: makes an Optax optimiser from a learning rate. It is differentiated through.
    - `batch`: samples a step, drawn with replacement; by default all, without drawing.
    - `first_order`: treat the inner gradients as constants when differentiating.
    - `rematerialise`: compute activations of the inner loop anew in the backward pass instead of
        storing them: less memory, more time.
    """

    loss: Loss = eqx.field(static=True)
    steps: int = 10
    learning_rate: float | Float[Array, ""] = 0.1
    optimiser: Callable[[Float[Array, ""]], optax.GradientTransformation] = eqx.field(
        static=True, default=inner_adamw
    )
    batch: int | None = None
    first_order: bool = False
    rematerialise: bool = False

    def __call__(
        self, model: AbstractMetaModel, support: Examples, *, key: PRNGKeyArray
    ) -> PyTree[Array]:
        """The fast parameters of `model` after adapting to one task."""
        optimiser = self.optimiser(jnp.asarray(self.learning_rate))
        support = support._replace(x=model.features(support.x))

        def step(carry, key):
            fast, memory = carry
            examples = support
            if self.batch is not None:
                chosen = jax.random.randint(key, (self.batch,), 0, len(support.x))
                examples = jax.tree.map(lambda a: a[chosen], support)
            gradient = jax.grad(lambda f: self.loss(model.network(f)(examples.x), examples))(fast)
            if self.first_order:
                gradient = jax.lax.stop_gradient(gradient)
            updates, memory = optimiser.update(gradient, memory, fast)
            return (optax.apply_updates(fast, updates), memory), None

        if self.rematerialise:
            step = jax.checkpoint(step)
        start = model.initial()
        keys = None if self.batch is None else jax.random.split(key, self.steps)
        (fast, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), keys, length=self.steps)
        return fast


def query_loss(
    model: AbstractMetaModel, episode: Episode, adaptation: Adaptation, *, key: PRNGKeyArray
) -> Float[Array, ""]:
    """The loss on the query set of one task after adapting to its support set (Eq. 1)."""
    fast = adaptation(model, episode.support, key=key)
    return adaptation.loss(model(episode.query.x, fast), episode.query)


def adapt(
    model: AbstractMetaModel,
    support: Examples,
    adaptation: Adaptation,
    *,
    at_once: int | None = None,
    key: PRNGKeyArray,
) -> PyTree[Array]:
    """The fast parameters for many tasks, a leading axis on every array.

    **Arguments:**

    - `support`: examples with a leading axis of tasks.
    - `at_once`: tasks to work on at a time; by default all.
    """
    keys = jax.random.split(key, len(support.x))
    return jax.lax.map(
        lambda task: adaptation(model, task[0], key=task[1]),
        (support, keys),
        batch_size=len(keys) if at_once is None else at_once,
    )


def predict(
    model: AbstractMetaModel, fast: PyTree[Array], x: Float[Array, "tasks samples inputs"]
) -> Float[Array, "tasks samples outputs"]:
    """The predictions of the adapted networks, task by task."""
    return jax.vmap(model)(x, fast)
