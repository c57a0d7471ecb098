"""The trial of the linear counterpoint: linear models and a network on the toy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from recombine import learning, models, tasks, theory
from recombine.lab import Count, Positive, Recorder

from .toy_trial import (
    GRID,
    POINTS,
    SIZES,
    accuracy,
    passes_over,
    playground_network,
    training_set,
)

if TYPE_CHECKING:
    from jaxtyping import Array

EVERY = 10
"""Steps between two observations of logistic regression."""


@dataclass(frozen=True)
class Config:
    """Settings of the linear counterpoint."""

    steps: Count = 20_000
    """Steps of logistic regression, along the gradient of the population loss."""
    learning_rate: Positive = 1.0
    """Step size of logistic regression."""
    nodes: Count = 16
    """Nodes of the quadrature along each side of a quadrant."""
    square_steps: Count = 2000
    """Steps of least squares."""
    square_rate: Positive = 0.5
    """Step size of least squares."""
    passes: Count = 1024
    """Passes of a linear unit and of a network over the same points."""
    points: Count = POINTS
    """Number of training points."""

    def __post_init__(self) -> None:
        if self.steps < EVERY or self.steps % EVERY:
            raise ValueError(f"steps={self.steps} is not a multiple of {EVERY}")


def distribution(nodes: int) -> tasks.Examples:
    """The training points in the paper's coordinates as nodes of a Gauss-Legendre quadrature.

    Weights sum to 1, so that a weighted mean is an integral over the three quadrants.
    """
    import jax.numpy as jnp

    places, weights = np.polynomial.legendre.leggauss(nodes)
    size, weight = (places + 1) / 2, weights / 2
    x, y, w = [], [], []
    for first, second in ((0, 0), (0, 1), (1, 0)):
        grid = np.stack(np.meshgrid(first - size, second - size), axis=-1)
        x.append(grid.reshape(-1, 2))
        y.append(np.full((nodes**2, 1), float(first)))
        w.append(np.outer(weight, weight).ravel() / 3)
    return tasks.Examples(*(jnp.asarray(np.concatenate(part), float) for part in (x, y, w)))


def logistic_loss(model: models.Dense, examples: tasks.Examples) -> Array:
    """The cross-entropy of logistic regression on targets of 0 and 1."""
    import jax

    z = model(examples.x)[:, 0]
    return learning.counted_mean(jax.nn.softplus(z) - examples.y[:, 0] * z, examples.weight)


def numbers(model: models.Dense) -> dict[str, Array]:
    """(w_1, w_2, b)."""
    import jax.numpy as jnp

    return {"w": jnp.concatenate([model.weight[:, 0], model.bias])}  # type: ignore[list-item]


def judged(w: np.ndarray, threshold: float = 0.0) -> theory.LinearAccuracy:
    """Shares of the held-out and the seen quadrant above a threshold, exact for these weights."""
    w1, w2, b = (Fraction(float(value)) for value in w)
    return theory.linear_accuracy((w1, w2, b), threshold=Fraction(threshold))


def trial(config: Config, key, recorder: Recorder) -> None:
    """Fit linear models to the population, and a unit and a network to points."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    whole = distribution(config.nodes)
    start = models.Dense(jnp.zeros((2, 1)), jnp.zeros(1), False)
    logistic: Any = learning.GradientDescent(
        jax.tree_util.Partial(logistic_loss, examples=whole), config.learning_rate, numbers
    )
    gradient = eqx.filter_jit(eqx.filter_grad(logistic.loss))(start)
    for i, value in enumerate(np.asarray(numbers(gradient)["w"])):
        recorder.metric(f"logistic_step_{i}", -value)
    _, curves = recorder.train(logistic, start, config.steps, every=EVERY, name="logistic")
    # Step 1 is not observed: from zero weights it is the gradient itself.
    first = [config.learning_rate * recorder.metrics[f"logistic_step_{i}"] for i in range(3)]
    shown = np.unique(np.geomspace(1, len(curves["step"]) - 1, 60).astype(int))
    steps = np.concatenate([[1], curves["step"][shown]])
    w = np.concatenate([np.array(first)[None], curves["w"][shown]])
    shares = [judged(row) for row in w]
    recorder.curve("ratio", steps, w[:, 1] / w[:, 0])
    recorder.curve("held_out", steps, [float(share.held_out) for share in shares])
    recorder.curve("seen", steps, [float(share.seen) for share in shares])

    squares: Any = learning.GradientDescent(
        jax.tree_util.Partial(learning.half_squared_loss, examples=whole), config.square_rate
    )
    state, _ = recorder.train(squares, start, config.square_steps, every=config.square_steps,
                         name="squares")  # fmt: skip
    optimum = np.asarray(numbers(state)["w"])
    for i, value in enumerate(optimum):
        recorder.metric(f"square_{i}", value)
    share = judged(optimum, 0.5)
    recorder.metric("square_held_out", share.held_out)
    recorder.metric("square_seen", share.seen)

    data_key, weight_key = jax.random.split(key)
    task = tasks.QuadrantToy()
    batch = eqx.filter_jit(task.sample)(config.points, key=data_key)
    grid = task.held_out_grid(GRID)
    for name, sizes in (("unit", (2, 1)), ("network", SIZES)):
        model = eqx.filter_jit(playground_network)(sizes=sizes, key=weight_key)
        rule = passes_over(training_set(batch), jax.tree_util.Partial(_accuracies, grid))
        length, chunk = config.passes * rule.every, 1024 * rule.every
        state, curves = recorder.train(rule, rule.init(model), length, chunk=chunk, name=name)
        model = state.model
        recorder.metric(f"{name}_train_accuracy", accuracy(model, batch))
        recorder.metric(f"{name}_held_out", curves["held_out"][-1])
        shown = np.unique(np.geomspace(1, config.passes, 40).astype(int))
        recorder.curve(f"{name}_held_out", shown, curves["held_out"][shown])


def _accuracies(grid: tasks.QuadrantBatch, model: models.MLP) -> dict[str, Array]:
    return {"held_out": accuracy(model, grid)}
