"""Parts shared by the studies of the toy: the playground's network, its training and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recombine import learning, models, tasks

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

POINTS = 187
"""Number of training points: half of the about 375 of 500 that lie outside the quadrant."""
SIZES = (2, 8, 8, 8, 1)
RATE = 0.1
BATCH = 10
STEPS = 1024
GRID = 40
"""Points along each side of the grid on which the held-out quadrant is judged."""


def playground_network(*, sizes: tuple[int, ...] = SIZES, key: PRNGKeyArray) -> models.MLP:
    """A ReLU network with a tanh output, weights uniform on ±0.5 and biases 0.1."""
    import jax.numpy as jnp

    return models.MLP(sizes, layer=models.Dense.bounded, output=jnp.tanh, key=key)


def training_set(batch: tasks.QuadrantBatch, *, outputs: int = 1) -> tasks.Examples:
    """Points and the signs of Y_1, or of both components."""
    import jax.numpy as jnp

    return tasks.Examples(
        batch.x, batch.targets[:, :outputs], jnp.ones(len(batch.x), batch.x.dtype)
    )


def accuracy(model: Callable[[Array], Array], batch: tasks.QuadrantBatch) -> Array:
    """The share of points whose Y_1 the first output predicts correctly."""
    return ((model(batch.x)[:, 0] > 0) == (batch.labels[:, 0] == 1)).mean()


def passes_over(
    examples: tasks.Examples, measure: Callable[[Any], dict[str, Array]] | None = None, *,
    learning_rate: float = RATE, batch_size: int = BATCH,
) -> learning.Descent:  # fmt: skip
    """Plain gradient descent, pass after pass over the examples; observed after each pass.

    What is observed is the loss on all examples, and what `measure` returns.
    """
    import jax

    batches = learning.Passes(examples, batch_size)
    return learning.Descent(
        learning.half_squared_loss,
        batches,
        learning.sgd(learning_rate),
        key=jax.random.key(0),  # nothing is drawn
        measure=jax.tree_util.Partial(_observed, examples, measure),
        every=batches.updates,
    )


def _observed(examples, measure, model):
    seen = {} if measure is None else measure(model)
    return {"loss": learning.half_squared_loss(model, examples)} | seen
