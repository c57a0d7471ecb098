"""Parts shared by the meta-learning studies: four models, their hyperparameters, one trial."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recombine import learning, models, probes, splits, tasks
from recombine.lab import Recorder, Results, check_intervals, figures

if TYPE_CHECKING:
    from recombine.tasks import AbstractTask

Name = Literal["linear", "nonlinear", "anil", "maml"]
HYPERNETWORKS: tuple[Name, ...] = ("linear", "nonlinear")
MONOLITHIC: tuple[Name, ...] = ("anil", "maml")
MODELS: tuple[Name, ...] = HYPERNETWORKS + MONOLITHIC
TITLES = {
    "linear": "Linear hypernetwork",
    "nonlinear": "Nonlinear hypernetwork",
    "anil": "ANIL",
    "maml": "MAML",
}


@dataclass(frozen=True)
class Learner:
    """Size and learning rates of a model: a column of Tables A10 to A12."""

    layers: int
    """Hidden layers of the base network."""
    width: int
    """Units of a hidden layer."""
    embedding: int
    """Size M̂ of an embedding; 0 without embeddings."""
    outer_rate: float
    """Learning rate of the slow parameters."""
    inner_rate: float
    """Learning rate of the fast parameters."""
    clip: float
    """Largest global norm of the outer gradient."""
    weight_decay: float
    """Weight decay of the slow parameters."""
    inner_steps: int = 10
    """Steps of adaptation."""


@dataclass(frozen=True)
class MetaConfig:
    """Settings shared by the meta-learning studies. 0 stands for the value in the model's table."""

    model: Name = "linear"
    """The model: linear or nonlinear hypernetwork, ANIL or MAML."""
    layers: int = 0
    """Hidden layers of the model; 0: as in the table."""
    width: int = 0
    """Units of a hidden layer of the model; 0: as in the table."""
    embedding: int = 0
    """Size of an embedding of a hypernetwork; 0: as in the table."""
    outer_rate: float = 0.0
    """Learning rate of the slow parameters; 0: as in the table."""
    inner_rate: float = 0.0
    """Learning rate of the fast parameters; 0: as in the table."""
    inner_steps: int = 0
    """Steps of adaptation; 0: as in the table."""
    test_steps: int = 0
    """Steps of adaptation when measuring; 0: as in training."""
    inner_batch: int = 0
    """Samples per adaptation step, drawn with replacement; 0: all."""
    first_order: bool = False
    """Whether inner gradients are treated as constants."""
    generate_biases: bool = True
    """Whether hypernetworks generate biases, as in the published code; else biases are fast
    parameters."""
    differentiate_norm: bool = False
    """Whether gradients flow through the normalisation of embeddings."""
    tasks: int = 32
    """Tasks per outer step."""
    steps: int = 4000
    """Outer steps."""
    measure_every: int = 250
    """Outer steps between two measurements; a divisor of `steps`."""
    measured_tasks: int = 128
    """Number of tasks in each set on which measurements are made."""
    decoded_tasks: int = 512
    """Number of tasks on which decoding is fitted, and on which it is scored."""
    at_once: int = 0
    """Number of tasks processed at the same time; 0: all."""

    def learner(self, table: Mapping[str, Learner]) -> Learner:
        """The model's column of `table`, with the values that this config overrides."""
        names = ("layers", "width", "embedding", "outer_rate", "inner_rate", "inner_steps")
        own = {name: getattr(self, name) for name in names if getattr(self, name)}
        return replace(table[self.model], **own)


def check_training(steps: int, measure_every: int, held_out: float) -> None:
    """Refuse settings that make training or a hold-out impossible."""
    if not 0 < held_out < 1:
        raise ValueError(f"held_out={held_out:g} is not between 0 and 1")
    check_intervals(steps, measure_every=measure_every)


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
    outputs: int


def build(config: MetaConfig, learner: Learner, inputs: int, outputs: int, *, key) -> Any:
    """The model that `config` names."""
    sizes = (inputs, *[learner.width] * learner.layers, outputs)
    if config.model in MONOLITHIC:
        network = models.MLP(sizes, key=key)
        return models.ANIL(network) if config.model == "anil" else models.MAML(network)
    linear = config.model == "linear"
    generator = models.LinearGenerator if linear else models.NonlinearGenerator
    return models.mlp_hypernetwork(
        sizes,
        learner.embedding,
        generator.create,
        generate_biases=config.generate_biases,
        differentiate_norm=config.differentiate_norm,
        offset=linear,
        key=key,
    )


def meta_trial(config: MetaConfig, learner: Learner, world: World, key, recorder: Recorder) -> None:
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
        steps=learner.inner_steps,
        optimizer=learning.inner_adamw(learner.inner_rate),
        batch_size=config.inner_batch or None,
        first_order=config.first_order,
    )
    rule = learning.MetaLearning(
        world.task,
        adaptation,
        sets,
        learning.chain(
            learning.clip(learner.clip),
            learning.adamw(learner.outer_rate, weight_decay=learner.weight_decay),
        ),
        measures=dict(world.measures),
        tasks=config.tasks,
        batch_size=config.at_once or None,
        every=config.measure_every,
        test_steps=config.test_steps or None,
    )
    model = eqx.filter_jit(build)(config, learner, world.inputs, world.outputs, key=of_model)
    state, seen = recorder.train(
        rule,
        rule.init(model, key=of_training),
        config.steps,
        chunk=config.measure_every,
    )
    best, _ = rule.kept(state)
    for name in sorted(set(seen) - {"step", "loss"}):
        recorder.curve(name.replace(" ", "_"), seen["step"], seen[name])
    for name, value in rule.measure(best).items():
        recorder.metric(name.replace(" ", "_"), value)
    if config.model in HYPERNETWORKS:
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


def draw_models(results: Results, metric: str, conditions: Mapping[str, Mapping[str, Any]], y: str):
    """A figure with one panel per condition, one column per model and one point per seed."""
    figure = figures.panels(*conditions, x="", y=y)
    for panel, condition in enumerate(conditions.values()):
        runs = results.where(**condition)
        shown = [name for name in MODELS if name in runs.values("model")]
        for color, name in enumerate(shown):
            figures.add_points(
                figure, [TITLES[name]], [runs.metric(metric, model=name)], TITLES[name],
                color=color, panel=panel, line=False,
            )  # fmt: skip
    return figure


def draw_learning(results: Results, curve: str, y: str, **condition: Any):
    """A figure of one measurement during training, for every model."""
    runs = results.where(**condition)
    figure = figures.panels("", x="outer step", y=y)
    for color, name in enumerate(m for m in MODELS if m in runs.values("model")):
        steps, values = runs.curve(curve, model=name)
        figures.add_seeds(figure, steps, values, TITLES[name], color=color)
    return figure


def accuracy_measure(prediction, examples):
    """The weighted fraction of samples whose largest output is the target's."""
    right = prediction.argmax(-1) == examples.y.argmax(-1)
    return learning.counted_mean(right.astype(examples.weight.dtype), examples.weight)
