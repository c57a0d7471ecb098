"""The inner loop of meta-learning: a model's fast parameters, fitted to one task."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..models._meta_model import AbstractMetaModel
from ..tasks._episode import Episode, Examples
from ._optimizer import AnyOptimizer, Optimizer, Rate, adamw

Loss = Callable[[Float[Array, "samples outputs"], Examples], Float[Array, ""]]


def inner_adamw(rate: Rate) -> Optimizer:
    """AdamW whose second moment has a small constant under its root.

    Without it a fast parameter with zero gradient has an infinite derivative of √v at v = 0, and
    the gradient through the inner loop is not a number.
    """
    # A constant of the program: as an array input it would be one more derivative to take.
    eps_root = jnp.finfo("float32").eps
    return adamw(rate, weight_decay=1e-4, eps_root=eps_root)


class Adaptation(eqx.Module):
    """How fast parameters are fitted to the support set of a task.

    **Arguments:**

    - `loss`: of predictions against `Examples`.
    - `steps`: steps of the inner optimizer.
    - `optimizer`: the inner optimizer, which is differentiated through.
    - `batch_size`: samples per step, drawn with replacement; by default all, without drawing.
    - `first_order`: treat the inner gradients as constants when differentiating.
    - `rematerialise`: compute activations of the inner loop anew in the backward pass instead of
        storing them: less memory, more time.
    """

    loss: Loss = eqx.field(static=True)
    steps: int = 10
    optimizer: AnyOptimizer = eqx.field(default_factory=lambda: inner_adamw(0.1))
    batch_size: int | None = None
    first_order: bool = False
    rematerialise: bool = False

    def __call__(
        self, model: AbstractMetaModel, support: Examples, *, key: PRNGKeyArray
    ) -> PyTree[Array]:
        """The fast parameters of `model` after adapting to one task."""
        support = support._replace(x=model.features(support.x))

        def step(carry, key):
            fast, opt_state = carry
            examples = support
            if self.batch_size is not None:
                chosen = jax.random.randint(key, (self.batch_size,), 0, len(support.x))
                examples = jax.tree.map(lambda a: a[chosen], support)
            gradient = jax.grad(lambda f: self.loss(model.network(f)(examples.x), examples))(fast)
            if self.first_order:
                gradient = jax.lax.stop_gradient(gradient)
            updates, opt_state = self.optimizer.update(gradient, opt_state, fast)
            return (optax.apply_updates(fast, updates), opt_state), None

        if self.rematerialise:
            step = jax.checkpoint(step)
        start = model.initial()
        keys = None if self.batch_size is None else jax.random.split(key, self.steps)
        (fast, _), _ = jax.lax.scan(
            step, (start, self.optimizer.init(start)), keys, length=self.steps
        )
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
    batch_size: int | None = None,
    key: PRNGKeyArray,
) -> PyTree[Array]:
    """The fast parameters for many tasks, the leading axis of all arrays in `support`.

    At most `batch_size` tasks are worked on at a time; by default all.
    """
    keys = jax.random.split(key, len(support.x))
    return jax.lax.map(
        lambda task: adaptation(model, task[0], key=task[1]),
        (support, keys),
        batch_size=len(keys) if batch_size is None else batch_size,
    )
