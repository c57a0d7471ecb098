"""Section 1.2: what a linear layer answers to inputs that have nothing in common with training."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine import learning, models
from recombine._ranges import Count, Positive, Whole
from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Recorder,
    Results,
    Source,
    Study,
    check_intervals,
    every_seed,
    figures,
    grid,
)

from . import DOCUMENT


@dataclass(frozen=True)
class Config:
    """Settings of the study of subspaces."""

    optimizer: Literal["sgd", "adam"] = "sgd"
    """How the layer learns."""
    inputs: Count = 20
    """Inputs of the layer."""
    outputs: Count = 5
    """Outputs of the layer."""
    trained: Count = 8
    """Dimensions of the inputs in training."""
    examples: Count = 50
    """Examples of training."""
    steps: Whole = 500
    """Number of updates, with all examples each."""
    every: Count = 50
    """Updates between two measurements."""
    learning_rate: Positive = 0.02
    """Learning rate."""

    def __post_init__(self) -> None:
        check_intervals(self.steps, every=self.every)
        if self.trained >= self.inputs:
            raise ValueError(
                f"trained={self.trained} of inputs={self.inputs} leave no orthogonal direction"
            )


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn from inputs of a subspace; then look at answers to all orthogonal directions."""
    import jax
    import jax.numpy as jnp

    of_basis, of_inputs, of_targets, of_layer, of_rule = jax.random.split(key, 5)
    basis = jnp.linalg.qr(jax.random.normal(of_basis, (config.inputs, config.inputs)))[0]
    inside, outside = basis[:, : config.trained], basis[:, config.trained :]
    x = jax.random.normal(of_inputs, (config.examples, config.trained)) @ inside.T
    y = jax.random.normal(of_targets, (config.examples, config.outputs))
    layer = models.Dense.uniform(config.inputs, config.outputs, biases=False, key=of_layer)
    optimizers = {"sgd": learning.sgd, "adam": learning.adam}
    rule = learning.Descent(
        squared_error, lambda t, key: (x, y), optimizers[config.optimizer](config.learning_rate),
        key=of_rule, every=config.every,
    )  # fmt: skip
    state, curves = recorder.train(rule, rule.init(layer), config.steps)
    recorder.curve("loss", curves["step"], curves["loss"])
    change = state.model.weight - layer.weight
    answers = np.linalg.norm(np.asarray(outside.T @ change), axis=1)
    recorder.metric("moved", np.linalg.norm(np.asarray(change)))
    recorder.metric("answer_change", answers.max() / np.linalg.norm(np.asarray(change)))
    recorder.curve("answers", np.arange(len(answers)), answers)
    recorder.metric("final_loss", curves["loss"][-1])


def squared_error(model, batch, key):
    """Half the mean squared error."""
    x, y = batch
    return 0.5 * ((model(x) - y) ** 2).mean()


def draw(results: Results):
    names = results.values("optimizer")
    values = [results.metric("answer_change", optimizer=name) for name in names]
    figure = figures.panels("", x="", y="largest change of an answer", log_y=True)
    figures.add_points(figure, names, values, "orthogonal directions", line=False)
    return figure


study = Study(
    name="memory/subspace",
    title="A linear layer answers to the rest of its inputs as if it were untrained",
    source=Source(DOCUMENT, "Section 1.2"),
    question="Do answers to inputs that are orthogonal to all of training change?",
    config=Config,
    trial=trial,
    float64=True,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(optimizer=("sgd", "adam")),
            settings={"steps": 10, "every": 5},
            cost="seconds",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=grid(optimizer=("sgd", "adam")),
            cost="10 s of processor time, mechanisms and subspace together",
        ),
        "paper": Preset(
            seeds=20,
            conditions=grid(optimizer=("sgd", "adam")),
            settings={"steps": 5000, "every": 500},
            cost="not measured",
        ),
    },
    claims=(
        Claim(
            "sgd-stays-in-the-subspace",
            "Trained by gradient descent, no answer to an orthogonal unit vector changes by more "
            "than {0} of what the weights have moved.",
            "Section 1.2",
            every_seed("answer_change", optimizer="sgd") <= 1e-5,
        ),
        Claim(
            "adam-leaves-it",
            "Trained by Adam, which scales every weight by itself, some answer changes by more "
            "than {0} of that.",
            "Section 1.2",
            every_seed("answer_change", optimizer="adam") > 0.01,
        ),
    ),
    figures=(
        Figure(
            "answers",
            "Answers to orthogonal inputs",
            "The largest change of an answer to a unit vector that is orthogonal to all inputs of "
            "training, over how far the weights have moved.",
            draw,
        ),
    ),
)
