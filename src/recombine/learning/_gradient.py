"""Plain gradient descent on any differentiable loss."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ._loop import AbstractRule

Model = TypeVar("Model")


class GradientDescent(AbstractRule[Model]):
    """Full-batch gradient descent, W ← W − η ∂L/∂W; the state is the model.

    ```python
    loss = jax.tree_util.Partial(GatedLinearNetwork.loss, examples=examples)
    network, curves = train(GradientDescent(loss, 0.1), network, steps=500)
    ```

    With τ dW/dt = −∂L/∂W one step is a time of η τ.

    **Arguments:**

    - `loss`: a function of the model. The arrays in it, if it is a PyTree, are program inputs.
    - `learning_rate`: η.
    - `measure`: what to record besides `loss`: a function of the model, a PyTree or not.

    The model's floating-point arrays learn, and all else stays. For batches, momentum or a choice
    of what learns, use `Descent`.
    """

    loss: Callable[[Model], Float[Array, ""]]
    learning_rate: float | Float[Array, ""]
    measure: Callable[[Model], dict[str, Array]] | None = None

    def step(self, state: Model, t: Int[Array, ""]) -> Model:
        """One step of gradient descent."""
        gradient = eqx.filter_grad(self.loss)(state)
        updates = jax.tree.map(lambda g: -jnp.asarray(self.learning_rate, g.dtype) * g, gradient)
        return eqx.apply_updates(state, updates)

    def observe(self, state: Model) -> dict[str, Array]:
        """The loss, and what `measure` returns."""
        seen = {} if self.measure is None else self.measure(state)
        return {"loss": self.loss(state)} | seen
