"""A study in one file: which of two models generalizes to pairs that it was not trained on?

recombine run examples/dials/dials_study.py
"""

from dataclasses import dataclass
from typing import Literal

from recombine import learning, splits
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    every_seed,
    figures,
    grid,
    per_seed,
)


@dataclass(frozen=True)
class Config:
    """Settings of a trial."""

    model: Literal["additive", "table"] = "additive"
    """The model: a part for each position (additive) or for each pair (table)."""
    positions: int = 8
    """Positions of each dial."""
    trained: int = 4
    """Number of positions of the second dial trained with each position of the first."""
    features: int = 5
    """Number of features of the targets."""
    learning_rate: float = 0.5
    """Step size of gradient descent."""
    steps: int = 2000
    """Steps of gradient descent."""


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train one model on the trained pairs; measure its error on the others."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from dials_model import Additive, Table
    from dials_task import Dials

    class Loss(eqx.Module):
        """Mean squared error over the pairs of a mask."""

        pairs: jax.Array
        targets: jax.Array
        mask: jax.Array

        def __call__(self, model):
            errors = jnp.sum((model(self.pairs) - self.targets) ** 2, axis=-1)
            return jnp.sum(errors * self.mask) / jnp.sum(self.mask)

    task_key, model_key = jax.random.split(key)
    task = Dials(config.positions, config.features, key=task_key)
    pairs = task.pairs()
    mask = jnp.asarray(splits.ring_mask(config.positions, config.trained)).reshape(-1)
    build = {"additive": Additive, "table": Table}[config.model]
    model = build(config.positions, config.features, key=model_key)
    rule = learning.GradientDescent(Loss(pairs, task.target(pairs), mask), config.learning_rate)
    model, curves = recorder.train(rule, model, config.steps, every=10)
    recorder.curve("loss", curves["step"], curves["loss"])
    recorder.metric("trained_error", Loss(pairs, task.target(pairs), mask)(model))
    recorder.metric("heldout_error", Loss(pairs, task.target(pairs), ~mask)(model))


def draw_errors(results: Results):
    figure = figures.panels("", x="step", y="training loss", log_y=True)
    for color, model in enumerate(results.values("model")):
        steps, losses = results.curve("loss", model=model)
        figures.add_seeds(figure, steps, losses, model, color=color)
    return figure


study = Study(
    name="examples/dials",
    title="Two dials whose effects add",
    source=Source("A worked example", "CONTRIBUTING.md"),
    question="Does a network that has a part for each position generalize to new pairs?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=("additive", "table")), settings={"steps": 100}
        ),
        "laptop": Preset(seeds=5, conditions=grid(model=("additive", "table")), cost="5 s"),
        "paper": Preset(seeds=5, conditions=grid(model=("additive", "table")), cost="5 s"),
    },
    claims=(
        Claim(
            "parts-generalize",
            "The additive model's held-out error is below {0:%} of the table's, in every run.",
            "CONTRIBUTING.md",
            every_seed(
                per_seed("heldout_error", model="additive")
                / per_seed("heldout_error", model="table")
            )
            < 0.01,
        ),
    ),
    figures=(Figure("losses", "Training loss", "Both models learn their pairs.", draw_errors),),
)
