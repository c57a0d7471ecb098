"""Regression on a fixed training set, by Adam on the mean squared error."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._loop import AbstractRule

Model = TypeVar("Model", bound=Callable[[Array], Array])


class RegressionState(NamedTuple):
    """A network on its way: the part of it that learns, and the optimiser's memory."""

    learns: Any
    memory: Any


def mean_squared_error(
    model: Callable[[Array], Array],
    x: Float[Array, "samples inputs"],
    y: Float[Array, " samples"],
    rows: Int[Array, ""] | None = None,
) -> Float[Array, ""]:
    """The mean over samples, all or the first `rows`, of (ŷ − y)², for a model with one output."""
    squares = jnp.square(model(x)[:, 0] - y)
    if rows is None:
        return squares.mean()
    return jnp.where(jnp.arange(len(y)) < rows, squares, 0).sum() / rows


class Regression(AbstractRule[RegressionState], Generic[Model]):
    """Adam on the mean squared error of a network with one output, on all samples or a batch.

    ```python
    learns, stays = network.partition(learn_directions=False)
    rule = Regression(train.x, train.y, test.x, test.y, stays, key)
    state, curves = train(rule, rule.init(learns), 1000, every=100)
    network = rule.model(state)
    ```

    **Arguments:**

    - `x`, `y`: the training set.
    - `test_x`, `test_y`: what `observe` looks at besides.
    - `stays`: the part of the network that does not learn, with `None` for all that does.
    - `key`: of the batches.
    - `learning_rate`: of Adam.
    - `batch`: samples a step, drawn with replacement; 0: all of them.
    - `observers`: what to record besides the losses, a function of the network.
    - `rows`: how many of the samples there are to learn from, the first ones; `None`: all. It is an
        array, so that training sets of all sizes share one compiled program; use a batch with it.
    """

    x: Float[Array, "samples inputs"]
    y: Float[Array, " samples"]
    test_x: Float[Array, "tests inputs"]
    test_y: Float[Array, " tests"]
    stays: Model
    key: PRNGKeyArray
    learning_rate: float | Float[Array, ""] = 0.01
    batch: int = 0
    observers: Callable[[Model], dict[str, Array]] | None = None
    rows: Int[Array, ""] | None = None

    def __check_init__(self):
        if len(self.x) < 1 or not 0 <= self.batch <= len(self.x):
            raise ValueError(
                f"a batch of {self.batch} of {len(self.x)} samples; use 0 for all, or 1 to all"
            )

    def init(self, learns: Model) -> RegressionState:
        """The state before the first step, from the part of the network that learns."""
        return RegressionState(learns, optax.adam(self.learning_rate).init(learns))

    def model(self, state: RegressionState) -> Model:
        """The whole network."""
        return eqx.combine(state.learns, self.stays)

    def step(self, state: RegressionState, t: Int[Array, ""]) -> RegressionState:
        """One step of Adam."""
        x, y, rows = self.x, self.y, self.rows
        if self.batch:
            key = jax.random.fold_in(self.key, t)
            most = len(x) if rows is None else rows
            places = jax.random.randint(key, (self.batch,), 0, most)
            x, y, rows = x[places], y[places], None

        def loss(learns):
            return mean_squared_error(eqx.combine(learns, self.stays), x, y, rows)

        gradient = jax.grad(loss)(state.learns)
        updates, memory = optax.adam(self.learning_rate).update(gradient, state.memory)
        return RegressionState(optax.apply_updates(state.learns, updates), memory)

    def observe(self, state: RegressionState) -> dict[str, Array]:
        """Training loss, test loss, and what `observers` returns."""
        model = self.model(state)
        seen = {} if self.observers is None else self.observers(model)
        return {
            "loss": mean_squared_error(model, self.x, self.y, self.rows),
            "test_loss": mean_squared_error(model, self.test_x, self.test_y),
        } | seen
