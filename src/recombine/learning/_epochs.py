"""Plain stochastic gradient descent in passes over a fixed set of examples."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..tasks._episode import Examples
from ._loop import AbstractRule
from ._losses import half_squared_error

Model = TypeVar("Model", bound=Callable[[Array], Array])
Loss = Callable[[Model, Examples], Float[Array, ""]]


def half_squared_loss(model: Callable[[Array], Array], examples: Examples) -> Float[Array, ""]:
    """The mean over examples of ½ (ŷ − y)², summed over outputs."""
    return half_squared_error(model(examples.x), examples)


class EpochDescent(AbstractRule[Model]):
    """W ← W − η ∂L/∂W, batch after batch of the examples in their order; a step is one pass.

    As in the TensorFlow playground: an update follows every `batch` examples, by their mean
    gradient. Examples at the end of a pass that do not fill a batch wait, and count in the first
    update of the next pass, whose mean is over them and the batch: with 187 examples and batches of
    10, a pass has 18 updates, the first of 10 examples in the first pass and of 17 in all others.

    ```python
    network = MLP((2, 8, 8, 8, 1), layer=Dense.bounded, output=jnp.tanh, key=key)
    network, curves = train(EpochDescent(examples, 0.1), network, steps=1024)
    ```

    **Arguments:**

    - `examples`: in the order in which they are passed over. Those of weight 0 do not count.
    - `learning_rate`: η.
    - `batch`: examples an update.
    - `loss`: a mean over examples, by their weights.
    - `arrange`: the examples of pass t, from `examples` and t: noisy, or in another order. A PyTree
        such as `jax.tree_util.Partial`, if it holds arrays.
    - `by_update`: count a single update as a step, instead of a pass.
    - `observers`: what to record besides the loss on all `examples`, a function of the model.
    """

    examples: Examples
    learning_rate: float | Float[Array, ""]
    batch: int = 10
    loss: Loss = half_squared_loss
    arrange: Callable[[Examples, Int[Array, ""]], Examples] | None = None
    by_update: bool = False
    observers: Callable[[Model], dict[str, Array]] | None = None

    def __check_init__(self):
        if not 1 <= self.batch <= len(self.examples.x):
            raise ValueError(
                f"a batch of {self.batch} of {len(self.examples.x)} examples; use 1 to all of them"
            )

    @property
    def updates(self) -> int:
        """Updates a pass."""
        return len(self.examples.x) // self.batch

    def step(self, state: Model, t: Int[Array, ""]) -> Model:
        """One pass, or one update of it."""
        if self.by_update:
            return self._pass(state, t // self.updates, t % self.updates, 1)
        return self._pass(state, t, jnp.zeros_like(t), self.updates)

    def observe(self, state: Model) -> dict[str, Array]:
        """The loss on all examples, and what `observers` returns."""
        seen = {} if self.observers is None else self.observers(state)
        return {"loss": self.loss(state, self.examples)} | seen

    def _pass(self, model: Model, t: Int[Array, ""], first: Int[Array, ""], count: int) -> Model:
        """`count` updates of pass `t`, from update `first` on."""
        now = self._arranged(t)
        rest = len(now.x) - self.updates * self.batch
        waiting = jax.tree.map(lambda a: a[len(a) - rest :], self._arranged(jnp.maximum(t - 1, 0)))

        def update(i, model):
            place = first + i
            examples = jax.tree.map(
                lambda a: jax.lax.dynamic_slice_in_dim(a, place * self.batch, self.batch), now
            )
            if rest:
                counts = jnp.where((place == 0) & (t > 0), waiting.weight, 0)
                examples = jax.tree.map(
                    lambda *parts: jnp.concatenate(parts),
                    waiting._replace(weight=counts),
                    examples,
                )
            gradient = eqx.filter_grad(self.loss)(model, examples)
            rate = self.learning_rate
            changes = jax.tree.map(lambda g: -jnp.asarray(rate, g.dtype) * g, gradient)
            return eqx.apply_updates(model, changes)

        return jax.lax.fori_loop(0, count, update, model)

    def _arranged(self, t: Int[Array, ""]) -> Examples:
        return self.examples if self.arrange is None else self.arrange(self.examples, t)
