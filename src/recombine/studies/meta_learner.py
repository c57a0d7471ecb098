"""The trial that the meta-learning studies share, and its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from recombine import learning, models, probes, splits, tasks
from recombine.lab import (
    Count,
    NotNegative,
    Positive,
    Recorder,
    check_intervals,
)
from recombine.models import specs

if TYPE_CHECKING:
    from recombine.tasks import AbstractTask


@dataclass(frozen=True)
class MetaConfig:
    """Settings shared by the meta-learning studies.

    Presets set the sizes and learning rates of each model as in its column of a table.
    """

    model: specs.AbstractMetaSpec = specs.LinearHypernetworkSpec()
    """The model that adapts."""
    outer_rate: Positive = 0.003
    """Learning rate of the slow parameters."""
    inner_rate: Positive = 0.3
    """Learning rate of the fast parameters."""
    inner_steps: Count = 10
    """Steps of adaptation."""
    clip: Positive = 1.0
    """Largest global norm of the outer gradient."""
    weight_decay: NotNegative = 0.01
    """Weight decay of the slow parameters."""
    test_steps: Count | None = None
    """Steps of adaptation when measuring; none: as in training."""
    inner_batch_size: Count | None = None
    """Samples per adaptation step, drawn with replacement; none: all."""
    first_order: bool = False
    """Whether inner gradients are treated as constants."""
    tasks: Count = 32
    """Tasks per outer step."""
    batch_size: Count | None = None
    """Number of tasks processed at the same time; none: all of an outer step."""
    steps: Count = 4000
    """Outer steps."""
    every: Count = 250
    """Outer steps between two measurements; a divisor of `steps`."""
    measured_tasks: Count = 128
    """Number of tasks in each set on which measurements are made."""
    decoded_tasks: Count = 512
    """Number of tasks on which decoding is fitted, and on which it is scored."""


def check_training(config: MetaConfig, held_out: float) -> None:
    """Refuse settings that make training or a hold-out impossible."""
    if not 0 < held_out < 1:
        raise ValueError(f"held_out={held_out:g} is not between 0 and 1")
    check_intervals(config.steps, every=config.every)


def check_modules(M: int, K: int, held_out: float, layers: int = 1) -> None:
    """Refuse K of M modules that cannot be mixed, or hold-outs that leave a module untrained."""
    if not 1 <= K <= M:
        raise ValueError(f"K={K} of M={M} modules cannot be mixed; use 1 <= K <= M")
    combinations = splits.count_codes(M, K, layers)
    trained = combinations - int(held_out * combinations)
    if trained * K < M:
        raise ValueError(
            f"held_out={held_out:g} leaves {trained} of {combinations} combinations, too few for "
            f"every one of M={M} modules to be trained; hold out fewer"
        )


class World(NamedTuple):
    """The tasks and measurements of a study of meta-learners."""

    task: "AbstractTask"
    """Training tasks."""
    held_out: "Mapping[str, AbstractTask]"
    """Other sets of tasks by name; `ood` holds the held-out combinations."""
    loss: Callable
    """Loss of predictions on examples."""
    measures: Mapping[str, Callable]
    """Further measurements of predictions on examples, by name."""
    inputs: int
    """Size of an input."""
    outputs: int
    """Size of an output."""


def meta_trial(config: MetaConfig, world: World, key, recorder: Recorder) -> None:
    """Meta-learn; measure training, test and held-out tasks; decode their codes."""
    import equinox as eqx
    import jax

    of_model, of_sets, of_training, of_decoding = jax.random.split(key, 4)

    @eqx.filter_jit  # one program compiles faster than many operations
    def draw(tasks, keys):
        pairs = zip(tasks, keys, strict=True)
        return [task.sample(config.measured_tasks, key=key) for task, key in pairs]

    named = {"valid": world.task, "test": world.task, **world.held_out}
    drawn = draw(tuple(named.values()), jax.random.split(of_sets, len(named)))
    sets = tasks.TaskSets(dict(zip(named, drawn, strict=True)), chosen_on="valid")
    adaptation = learning.Adaptation(
        world.loss,
        steps=config.inner_steps,
        optimizer=learning.inner_adamw(config.inner_rate),
        batch_size=config.inner_batch_size,
        first_order=config.first_order,
    )
    rule = learning.MetaLearning(
        world.task,
        adaptation,
        sets,
        learning.chain(
            learning.clip(config.clip),
            learning.adamw(config.outer_rate, weight_decay=config.weight_decay),
        ),
        measures=dict(world.measures),
        tasks=config.tasks,
        batch_size=config.batch_size,
        every=config.every,
        test_steps=config.test_steps,
    )
    sizes = specs.VectorSizes(world.inputs, world.outputs)
    model = eqx.filter_jit(config.model.build)(sizes, of_model)
    state, seen = recorder.train(
        rule,
        rule.init(model, key=of_training),
        config.steps,
        chunk=config.every,
    )
    best, _ = rule.kept(state)
    recorder.keep(best, config.model, sizes)
    for name in sorted(set(seen) - {"step", "loss"}):
        recorder.curve(name.replace(" ", "_"), seen["step"], seen[name])
    for name, value in rule.measure(best).items():
        recorder.metric(name.replace(" ", "_"), value)
    if isinstance(best, models.Hypernetwork):
        _decode(config, world, adaptation, best, of_decoding, recorder)


def _decode(config: MetaConfig, world: World, adaptation, model, key, recorder: Recorder) -> None:
    """R² of decoding the modules of held-out tasks from adapted fast parameters."""
    import equinox as eqx
    import jax
    from jax.flatten_util import ravel_pytree

    @eqx.filter_jit
    def draw(fitted, scored, keys):
        size = config.decoded_tasks
        return fitted.sample(size, key=keys[0]), scored.sample(size, key=keys[1])

    @eqx.filter_jit
    def adapted(support, key):
        fast = learning.adapt(model, support, adaptation, batch_size=config.measured_tasks, key=key)
        return jax.vmap(lambda f: ravel_pytree(f)[0])(fast)

    keys = jax.random.split(key, 4)
    fitted, scored = draw(world.task, world.held_out["ood"], keys[:2])
    features = adapted(fitted.support, keys[2])
    held_out_features = adapted(scored.support, keys[3])
    found = probes.linear_decodability(features, fitted.code, held_out_features, scored.code)
    recorder.metric("decodability", found.pooled)
    recorder.array("decodability", found.r2)
    recorder.metric("embedding_cosine", probes.pairwise_cosine(features))


def accuracy_measure(prediction, examples):
    """The weighted fraction of samples whose largest output is the target's."""
    right = prediction.argmax(-1) == examples.y.argmax(-1)
    return learning.counted_mean(right.astype(examples.weight.dtype), examples.weight)
