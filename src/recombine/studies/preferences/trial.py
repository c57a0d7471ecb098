"""The trial of the preference studies, and the hyperparameters of Table A11."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from recombine import learning, splits, tasks
from recombine.lab import Recorder
from recombine.models import specs

from ...lab import Count, Fraction, Positive
from ..meta_learner import MetaConfig, World, check_modules, check_training, meta_trial
from ..meta_models import Learner, Table, table_preset

TABLE_A11 = Table(
    Learner(specs.LinearHypernetworkSpec(layers=3, width=64, embedding=32), 0.0003, 0.1, 1.0, 0.01),
    Learner(
        specs.NonlinearHypernetworkSpec(layers=2, width=64, embedding=32), 0.0003, 0.1, 2.0, 0.01
    ),
    Learner(specs.ANILSpec(layers=4, width=512), 0.0003, 0.01, 2.0, 0.01, inner_steps=100),
    Learner(specs.MAMLSpec(layers=3, width=368), 0.001, 0.01, 2.0, 0.01),
)
"""Table A11, chosen by the paper on the loss of *held-out* tasks with compositional support. The
weight decay is that of the published code."""
MINI = Table(
    Learner(specs.LinearHypernetworkSpec(layers=2, width=32, embedding=16), 0.001, 0.1, 1.0, 0.01),
    Learner(
        specs.NonlinearHypernetworkSpec(layers=2, width=32, embedding=16), 0.001, 0.1, 2.0, 0.01
    ),
    Learner(specs.ANILSpec(layers=3, width=96), 0.001, 0.03, 2.0, 0.01, inner_steps=20),
    Learner(specs.MAMLSpec(layers=2, width=64), 0.001, 0.01, 2.0, 0.01),
)
"""Hyperparameters for runs of minutes: narrower and shallower, with higher learning rates."""


@dataclass(frozen=True)
class Config(MetaConfig):
    """Settings of the preference studies."""

    model: specs.AbstractMetaSpec = specs.LinearHypernetworkSpec(layers=2, width=32, embedding=16)
    """The model that adapts."""
    outer_rate: Positive = 0.001
    """Learning rate of the slow parameters."""
    inner_rate: Positive = 0.1
    """Learning rate of the fast parameters."""
    support: Literal["compositional", "non-compositional", "connected", "disconnected"] = (
        "compositional"
    )
    """The support: which combinations of modules are trained."""
    M: Count = 8
    """Number of modules, the preference vectors that tasks mix."""
    K: Count = 3
    """The largest number of modules that a task mixes."""
    colours: Count = 8
    """Number of object colours, the entries of a preference vector."""
    layout: tuple[str, ...] = ("...", "...")
    """Rows of the grid, with `.` for a free cell and `#` for a wall."""
    objects: Count = 2
    """Number of objects in an instance of the grid."""
    horizon: Count = 4
    """Steps that action values look ahead, and the largest number of states per demonstration."""
    compact: bool = True
    """Whether observations leave out walls, which never change."""
    absorbing: bool = False
    """Whether terminating is worth 0, instead of the value of staying in place for a step."""
    sum_to_one: bool = False
    """Whether latents are normalised as in the paper's prose, instead of its Algorithm 1."""
    shots: Count = 8
    """Support instances per task, to adapt to."""
    queries: Count = 8
    """Query instances per task, on which losses are computed."""
    held_out: Fraction = 0.25
    """Fraction of combinations held out with compositional support."""

    def __post_init__(self) -> None:
        check_training(self, self.held_out)
        check_modules(self.M, self.K, self.held_out)


def split_of(config: Config, *, key) -> "splits.Split":
    """The trained and the held-out combinations."""
    if config.support == "connected":
        return splits.connected_split(config.M, config.K)
    if config.support == "disconnected":
        return splits.disconnected_split(config.M, config.K)
    codes = splits.layered_codes(splits.up_to_k_hot_masks(config.M, config.K), 1)
    if config.support == "compositional":
        return splits.random_hold_out(codes, config.held_out, key=key)
    return splits.module_hold_out(codes)


def world_of(config: Config, *, key) -> World:
    """The grid and its templates, with trained and with held-out combinations."""
    import jax

    of_split, of_templates = jax.random.split(key)
    split = split_of(config, key=of_split)
    task = tasks.PreferenceGrid(
        jax.random.normal(of_templates, (config.M, config.colours)),
        splits.ListedCodes(split.train),
        tasks.ForagingGrid(
            config.colours,
            config.objects,
            config.layout,
            horizon=config.horizon,
            absorbing=config.absorbing,
        ),
        support=config.shots,
        query=config.queries,
        compact=config.compact,
        sum_to_one=config.sum_to_one,
    )
    held_out = {"ood": task.on(splits.ListedCodes(split.held_out))}
    return World(task, held_out, learning.half_squared_error, {}, task.inputs, task.outputs)


def mean_loss(task: "tasks.AbstractTask", size: int, *, key):
    """The loss, over `size` tasks, of predicting their mean action values everywhere."""
    import jax

    query = task.sample(size, key=key).query
    mean = jax.vmap(lambda one: one.weight @ one.y / one.weight.sum())(query).mean(0)
    prediction = jax.numpy.broadcast_to(mean, query.y.shape)
    return jax.vmap(learning.half_squared_error)(prediction, query).mean()


def trial(config: Config, key, recorder: Recorder) -> None:
    """Meta-learn from demonstrations; measure the loss on trained and held-out combinations."""
    import equinox as eqx
    import jax

    of_world, of_learning, of_mean = jax.random.split(key, 3)
    world = world_of(config, key=of_world)
    loss = eqx.filter_jit(mean_loss)(world.held_out["ood"], 4 * config.measured_tasks, key=of_mean)
    recorder.metric("ood_mean_loss", loss)
    meta_trial(config, world, of_learning, recorder)


mini_preset = partial(table_preset, Config, lambda _: MINI)
"""A preset with small models."""
paper_preset = partial(table_preset, Config, lambda _: TABLE_A11)
"""A preset with the paper's models."""
PAPER_SETTINGS = {
    "layout": ("..#..", "..#..", "#...#", "..#..", "..#.."), "objects": 4,
    "horizon": 8, "compact": False, "shots": 16, "queries": 16, "tasks": 128, "steps": 100_000,
    "every": 1000, "measured_tasks": 1024,
    "decoded_tasks": 1024, "batch_size": 16,
}  # fmt: skip
"""The paper's own configuration (Appendix C.3)."""
LAPTOP_SETTINGS = {"tasks": 16, "steps": 6000, "every": 500, "measured_tasks": 64}
SMOKE_SETTINGS = {
    "steps": 10, "every": 5, "measured_tasks": 8,
    "decoded_tasks": 32, "tasks": 4, "shots": 2, "queries": 2,
    "model.layers": 1, "model.width": 8, "inner_steps": 2,
}  # fmt: skip
"""Settings of the smoke preset: a few steps on a few instances."""
