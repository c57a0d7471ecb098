"""The trial of the goal studies, and the hyperparameters of Table A12."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from recombine import learning, probes, splits, tasks
from recombine.lab import Recorder
from recombine.models import specs

from ...lab import Count, Fraction, NotNegative, Positive, Whole
from ..meta_learner import MetaConfig, World, check_training, meta_trial
from ..meta_models import Learner, Table, table_preset

TABLE_A12 = Table(
    Learner(specs.LinearHypernetworkSpec(layers=2, width=32, embedding=8), 0.003, 0.3, 2.0, 0.001),
    Learner(
        specs.NonlinearHypernetworkSpec(layers=2, width=32, embedding=8), 0.001, 0.1, 2.0, 0.001
    ),
    Learner(specs.ANILSpec(layers=2, width=512), 0.001, 0.01, 2.0, 0.001, inner_steps=100),
    Learner(specs.MAMLSpec(layers=2, width=384), 0.001, 0.01, 1.0, 0.001),
)
"""Table A12, chosen by the paper on the loss of *held-out* tasks with compositional support. The
published code has a weight decay of 0.01."""
MINI = Table(
    Learner(specs.LinearHypernetworkSpec(layers=2, width=32, embedding=8), 0.003, 0.3, 2.0, 0.001),
    Learner(
        specs.NonlinearHypernetworkSpec(layers=2, width=32, embedding=8), 0.001, 0.1, 2.0, 0.001
    ),
    Learner(specs.ANILSpec(layers=2, width=128), 0.001, 0.01, 2.0, 0.001, inner_steps=20),
    Learner(specs.MAMLSpec(layers=2, width=48), 0.001, 0.01, 1.0, 0.001),
)
"""Hyperparameters for mazes of 5 by 5 cells: hypernetworks as in the paper, others narrower."""


@dataclass(frozen=True)
class Config(MetaConfig):
    """Settings of the goal studies."""

    model: specs.AbstractMetaSpec = specs.LinearHypernetworkSpec(layers=2, width=32, embedding=8)
    """The model that adapts."""
    clip: Positive = 2.0
    """Largest global norm of the outer gradient."""
    weight_decay: NotNegative = 0.001
    """Weight decay of the slow parameters."""
    tasks: Count = 8
    """Goals per outer step."""
    every: Count = 500
    """Outer steps between two measurements; a divisor of `steps`."""
    support: Literal["compositional", "non-compositional"] = "compositional"
    """The support: a random part of the goals is held out, or all goals in one quadrant."""
    mazes: Count = 2
    """Number of mazes."""
    size: Count = 5
    """Number of rows and of columns of a maze; odd."""
    objects: Count = 3
    """Number of object types."""
    interactions: Whole = 2
    """Number of interactions."""
    distractors: Whole = 2
    """Number of objects besides the target."""
    min_distance: Whole = 5
    """Smallest number of steps between agent and target."""
    padded: Whole = 17
    """Steps of a padded demonstration; 0: those of the longest one."""
    collisions: bool = False
    """Whether distractors may lie on the target or the agent, as in the published code."""
    held_out: Fraction = 0.25
    """Fraction of goals held out with compositional support."""

    def __post_init__(self) -> None:
        check_training(self, self.held_out)


def _score(name: str, prediction, examples):
    return getattr(probes.demonstration_scores(prediction, examples), name)


MEASURES = {
    name: partial(_score, name) for name in ("accuracy", "exact_path", "first_step", "last_step")
}
"""Measurements on a demonstration, by name."""


def split_of(config: Config, *, key) -> "splits.Split":
    """The trained and the held-out goals."""
    codes = tasks.goal_codes(config.mazes, config.objects, config.interactions)
    if config.support == "compositional":
        return splits.random_hold_out(codes, config.held_out, key=key)
    return splits.module_hold_out(codes, module=3)  # the bottom right quadrant


def world_of(config: Config, *, key) -> World:
    """The mazes, with their trained and their held-out goals."""
    import jax

    of_split, of_mazes = jax.random.split(key)
    split = split_of(config, key=of_split)
    seed = int(jax.random.randint(of_mazes, (), 0, 2**31 - 1))
    mazes = tasks.Mazes.random(config.mazes, config.size, seed=seed)
    task = tasks.GoalGrid(
        mazes,
        splits.ListedCodes(split.train),
        objects=config.objects,
        interactions=config.interactions,
        distractors=config.distractors,
        min_distance=config.min_distance,
        steps=config.padded or int(mazes.distance.max()) + 1,
        collisions=config.collisions,
    )
    return World(
        task,
        {"ood": task.on(splits.ListedCodes(split.held_out))},
        learning.cross_entropy,
        MEASURES,
        task.inputs,
        task.outputs,
    )


def majority_accuracy(task: "tasks.AbstractTask", size: int, *, key):
    """The accuracy, over `size` goals, of the action that is most frequent in them."""
    import jax

    query = task.sample(size, key=key).query
    by_action = jax.vmap(lambda y, weight: weight @ y / weight.sum())(query.y, query.weight)
    return by_action.mean(0).max()


def trial(config: Config, key, recorder: Recorder) -> None:
    """Meta-learn from demonstrations; measure accuracy on trained and held-out goals."""
    import equinox as eqx
    import jax

    of_world, of_learning, of_majority = jax.random.split(key, 3)
    world = world_of(config, key=of_world)
    accuracy = eqx.filter_jit(majority_accuracy)(
        world.held_out["ood"], config.measured_tasks, key=of_majority
    )
    recorder.metric("ood_majority_accuracy", accuracy)
    meta_trial(config, world, of_learning, recorder)


mini_preset = partial(table_preset, Config, lambda _: MINI)
"""A preset with small models."""
paper_preset = partial(table_preset, Config, lambda _: TABLE_A12)
"""A preset with the paper's models."""
PAPER_SETTINGS = {
    "mazes": 5, "size": 11, "objects": 5, "distractors": 4, "min_distance": 11,
    "padded": 120, "tasks": 128, "steps": 200_000, "every": 1000, "measured_tasks": 1024,
    "decoded_tasks": 1024,
    "batch_size": 16,
}  # fmt: skip
"""The paper's own configuration (Appendix C.4)."""
SMOKE_SETTINGS = {
    "mazes": 1, "objects": 2, "distractors": 1, "steps": 4, "every": 2,
    "measured_tasks": 4,
    "decoded_tasks": 32, "tasks": 2, "model.layers": 1, "model.width": 8, "inner_steps": 2,
}  # fmt: skip
"""Settings of the smoke preset: a few steps in one small maze."""
