"""The trial of the hyperteacher studies, and the hyperparameters of Table A10."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from recombine import learning, splits, tasks
from recombine.lab import Recorder
from recombine.models import specs

from ...lab import Count, Fraction, Positive
from ..meta_learner import (
    MetaConfig,
    World,
    accuracy_measure,
    check_modules,
    check_training,
    meta_trial,
)
from ..meta_models import Learner, Table, table_preset


def table_a10(M: int) -> Table:
    """Table A10, chosen by the paper on the loss of *held-out* tasks with compositional support.

    The published code has MAML 384 units wide.
    """
    size: dict[str, Any] = {"layers": 3, "width": 128, "embedding": 4 * M}
    return Table(
        Learner(specs.LinearHypernetworkSpec(**size), 0.001, 0.3, 1.0, 0.01),
        Learner(specs.NonlinearHypernetworkSpec(**size), 0.003, 0.3, 1.0, 0.01),
        Learner(specs.ANILSpec(layers=3, width=512), 0.001, 0.03, 2.0, 0.0001, inner_steps=100),
        Learner(specs.MAMLSpec(layers=3, width=368), 0.001, 0.01, 2.0, 0.0001),
    )


def mini_table(M: int) -> Table:
    """Sizes and learning rates for a teacher with one hidden layer."""
    size: dict[str, Any] = {"layers": 1, "width": 32, "embedding": 2 * M}
    return Table(
        Learner(specs.LinearHypernetworkSpec(**size), 0.003, 0.3, 1.0, 0.01),
        Learner(specs.NonlinearHypernetworkSpec(**size), 0.003, 0.3, 1.0, 0.01),
        Learner(specs.ANILSpec(layers=2, width=96), 0.001, 0.03, 2.0, 0.0001, inner_steps=20),
        Learner(specs.MAMLSpec(layers=1, width=64), 0.001, 0.01, 2.0, 0.0001),
    )


@dataclass(frozen=True)
class Config(MetaConfig):
    """Settings of the hyperteacher studies."""

    model: specs.AbstractMetaSpec = specs.LinearHypernetworkSpec(layers=1, width=32, embedding=12)
    """The model that adapts."""
    support: Literal["compositional", "non-compositional", "connected", "disconnected"] = (
        "compositional"
    )
    """The support: which combinations of modules are trained."""
    M: Count = 6
    """Modules per layer."""
    K: Count = 3
    """The largest number of modules that a task mixes in a layer."""
    teacher_layers: Count = 1
    """Hidden layers of the teacher."""
    teacher_width: Count = 8
    """Units of a hidden layer of the teacher."""
    inputs: Count = 8
    """Inputs of the teacher."""
    outputs: Count = 4
    """Outputs of the teacher, the number of classes."""
    bank: Literal["joint", "per layer", "shared"] = "joint"
    """Whether a module contributes to all generated layers, to one layer, or is shared by all."""
    input_range: Positive = 1.0
    """Bound of the inputs, which are uniform on ± this."""
    temperature: Positive = 0.1
    """Temperature of the softmax over the teacher's outputs."""
    shots: Count = 64
    """Support samples per task, to adapt to."""
    queries: Count = 64
    """Query samples per task, on which losses are computed."""
    held_out: Fraction = 0.25
    """Fraction of combinations held out with compositional support."""
    held_out_layers: Literal["last", "all"] = "last"
    """The layers in which non-compositional support leaves out the last module."""
    coupling: Literal["half and count", "half", "none"] = "half and count"
    """What the layers share in disconnected support."""
    matched: bool = False
    """Whether connected support is reduced to as many combinations as disconnected support has."""

    def __post_init__(self) -> None:
        check_training(self, self.held_out)
        check_modules(self.M, self.K, self.held_out, max(1, self.teacher_layers - 1))
        if self.K == 1 and self.teacher_layers < 3 and self.support == "compositional":
            raise ValueError(
                "with K=1 and one generated layer a held-out combination takes its module out of "
                "training; use K=2 or more, or teacher_layers=3"
            )


def split_of(config: Config, *, key) -> "splits.Split":
    """The trained and the held-out combinations."""
    layers = max(1, config.teacher_layers - 1)
    if config.support in ("connected", "disconnected"):
        connected, disconnected = (
            make(config.M, config.K, layers, coupling=config.coupling)
            for make in (splits.connected_split, splits.disconnected_split)
        )
        if config.support == "disconnected":
            return disconnected
        return connected.thinned(len(disconnected.train), key=key) if config.matched else connected
    codes = splits.layered_codes(splits.up_to_k_hot_masks(config.M, config.K), layers)
    if config.support == "compositional":
        return splits.random_hold_out(codes, config.held_out, key=key)
    return splits.module_hold_out(codes, layers=config.held_out_layers)


def world_of(config: Config, *, key) -> World:
    """The teacher, with its trained and its held-out combinations."""
    import jax

    of_split, of_teacher, of_codes = jax.random.split(key, 3)
    split = split_of(config, key=of_split)
    banks = {
        "joint": tasks.joint_bank,
        "per layer": tasks.per_layer_bank,
        "shared": tasks.shared_bank,
    }
    task = tasks.HyperTeacher(
        splits.ListedCodes(split.train),
        inputs=config.inputs,
        hidden=config.teacher_width,
        outputs=config.outputs,
        hidden_layers=config.teacher_layers,
        bank=banks[config.bank],
        input_range=config.input_range,
        temperature=config.temperature,
        support=config.shots,
        query=config.queries,
        key=of_teacher,
    )
    held_out = {"ood": split.held_out}
    for k in (2**n for n in range(config.M.bit_length()) if 2**n <= config.M):
        codes = split.held_out_with(k, key=of_codes)
        if codes is not None:
            held_out[f"ood_{k}"] = codes
    return World(
        task,
        {name: task.on(splits.ListedCodes(codes)) for name, codes in held_out.items()},
        learning.kl_divergence,
        {"accuracy": accuracy_measure},
        config.inputs,
        config.outputs,
    )


def trial(config: Config, key, recorder: Recorder) -> None:
    """Meta-learn from a hyperteacher; measure accuracy on trained and held-out combinations."""
    import jax

    of_world, of_learning = jax.random.split(key)
    meta_trial(config, world_of(config, key=of_world), of_learning, recorder)


mini_preset = partial(table_preset, Config, lambda values: mini_table(values.get("M", Config.M)))
"""A preset with small models, whose embeddings have 2 M entries."""
paper_preset = partial(table_preset, Config, lambda values: table_a10(values.get("M", Config.M)))
"""A preset with the paper's models, whose embeddings have 4 M entries."""
SETS = {"test": "trained", "ood": "held-out"}
"""Sets of combinations, by the names of their metrics."""
PAPER_SETTINGS = {
    "M": 8, "K": 2, "teacher_layers": 3, "teacher_width": 32, "inputs": 16,
    "outputs": 8, "shots": 256, "queries": 256, "tasks": 128, "steps": 200_000,
    "every": 1000, "measured_tasks": 1024,
    "decoded_tasks": 1024, "batch_size": 4,
}  # fmt: skip
"""The paper's own configuration (Appendix C.2)."""
SMOKE_SETTINGS = {
    "M": 4, "K": 2, "steps": 20, "every": 10, "measured_tasks": 8,
    "decoded_tasks": 32, "tasks": 4, "shots": 8,
    "queries": 8, "inner_steps": 2,
}  # fmt: skip
"""Settings of the smoke preset: a few steps on a few samples."""
