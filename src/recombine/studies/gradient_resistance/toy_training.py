"""The trial of the toy: train a network, and measure it at some of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine import probes, tasks
from recombine.lab import Count, Positive, Recorder

from .toy_trial import (
    BATCH,
    GRID,
    POINTS,
    RATE,
    SIZES,
    STEPS,
    accuracy,
    passes_over,
    playground_network,
    training_set,
)

SHOWN = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)
"""Steps at which the network is measured."""
SIDE = 100
"""Number of points along each side of a map."""
VIEW = 6 / 5.3
"""Half the width of a map, in units of the largest coordinate: [−6, 6]² for points up to 5.3."""
HEIGHTS = 9
"""Heights in the held-out quadrant at which the position of the boundary is measured."""


@dataclass(frozen=True)
class Config:
    """Settings of the toy."""

    data: Literal["playground", "paper"] = "playground"
    """Points up to ±5.3 with a margin of 0.3 around the axes, as run; or X_k = Y_k − U[0, 1]."""
    setting: Literal["A", "B"] = "A"
    """A: X_2 is partly informative, one quadrant is left out. B: X_2 is random."""
    step: Literal["pass", "update"] = "pass"
    """What counts as a step: a pass over the training points, or one update."""
    steps: Count = STEPS
    """Number of steps."""
    points: Count = POINTS
    """Number of training points."""
    batch: Count = BATCH
    """Points per update."""
    learning_rate: Positive = RATE
    """Learning rate of plain gradient descent."""
    outputs: Count = 1
    """Number of outputs: 1 predicts Y_1; 2 predict Y_1 and Y_2."""

    def __post_init__(self) -> None:
        if self.outputs not in (1, 2):
            raise ValueError(f"outputs={self.outputs}: the toy has 1 or 2 of them")


A: dict[str, Any] = {"data": "playground", "setting": "A", "step": "pass"}
B = A | {"setting": "B"}
PAPER = A | {"data": "paper"}
UPDATES = A | {"step": "update"}
NAMES = {
    "X_2 informative (A)": A,
    "X_2 random (B)": B,
    "A in the paper's coordinates": PAPER,
    "A, one update per step": UPDATES,
}
"""The conditions that are compared."""


def task_of(config: Config) -> tasks.QuadrantToy:
    informative = config.setting == "A"
    if config.data == "paper":
        return tasks.QuadrantToy.paper_coordinates(informative=informative)
    return tasks.QuadrantToy(informative=informative)


def look(vectors, network, batch, held_out, largest):
    """Measurements of the networks with these parameters: arrays with a leading network axis."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    _, unravel = ravel_pytree(network)
    corner = held_out.x.min(axis=0)[1]
    heights = jnp.linspace(corner, largest, HEIGHTS)

    def one(vector):
        model = unravel(vector)
        seen = jnp.round(100 * probes.decision_map(model, VIEW * largest, side=SIDE))
        slopes = probes.input_sensitivity(
            lambda x: model(x)[:, :1], held_out.x, jnp.eye(2, dtype=bool)
        )
        return {
            "map": seen.astype(jnp.int8),
            "train_accuracy": accuracy(model, batch),
            "held_out_accuracy": accuracy(model, held_out),
            "slope_1": slopes[0],
            "slope_2": slopes[1],
            "boundary": probes.boundary_position(model, heights, VIEW * largest) / largest,
            "decisions": model(held_out.x)[:, 0] > 0,
        }

    return jax.lax.map(one, vectors)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train one network; measure it along the way."""
    import equinox as eqx
    import jax

    data_key, weight_key, test_key = jax.random.split(key, 3)
    task = task_of(config)
    batch = eqx.filter_jit(task.sample)(config.points, key=data_key)
    tests = eqx.filter_jit(task.sample_held_out)(config.points, key=test_key)
    sizes = (*SIZES[:-1], config.outputs)
    network = eqx.filter_jit(playground_network)(sizes=sizes, key=weight_key)
    rule = passes_over(
        training_set(batch, outputs=config.outputs), parameters,
        learning_rate=config.learning_rate, batch_size=config.batch,
    )  # fmt: skip
    every = rule.every if config.step == "pass" else 1
    _, curves = recorder.train(
        rule, rule.init(network), config.steps * every, every=every, chunk=1024 * every
    )
    shown = np.array([step for step in SHOWN if step <= config.steps])
    largest = task.reach + task.margin
    vectors = curves["weights"][shown]
    found = eqx.filter_jit(look)(vectors, network, batch, task.held_out_grid(GRID), largest)
    for name in ("train_accuracy", "held_out_accuracy", "slope_1", "slope_2"):
        recorder.curve(name, shown, found[name])
        recorder.metric(name, found[name][-1])
    recorder.curve("loss", shown, curves["loss"][shown])
    recorder.metric("trained_in_quadrant", (np.asarray(batch.x) > 0).all(axis=1).sum())
    recorder.metric("tests_outside_quadrant", (np.asarray(tests.x) <= 0).any(axis=1).sum())
    recorder.array("steps", shown)
    recorder.array("maps", found["map"])
    recorder.array("boundary", found["boundary"])
    recorder.array("decisions", found["decisions"][-1])
    recorder.array("points", batch.x)
    recorder.array("tests", tests.x)


def parameters(model: Any) -> dict[str, Any]:
    """All parameters as one vector."""
    from jax.flatten_util import ravel_pytree

    return {"weights": ravel_pytree(model)[0]}
