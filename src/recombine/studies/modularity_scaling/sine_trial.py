"""The trial of the sine studies: find directions, train a network, measure."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np

from recombine import learning, models, probes, tasks
from recombine.lab import (
    Above,
    AtLeast,
    AtMost,
    Count,
    NotNegative,
    OrInfinite,
    Positive,
    Recorder,
    Whole,
)

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

Method = Literal[
    "monolithic",
    "monolithic-long",
    "modular",
    "kernel",
    "kernel-fixed",
    "random-fixed",
    "pursuit",
    "true",
]
MONOLITHIC: tuple[Method, ...] = ("monolithic", "monolithic-long")
KERNEL: tuple[Method, ...] = ("kernel", "kernel-fixed")
FIXED: tuple[Method, ...] = ("kernel-fixed", "random-fixed", "pursuit", "true")
TITLES = {
    "monolithic": "Monolithic",
    "monolithic-long": "Monolithic, ten times the steps",
    "modular": "Modular",
    "kernel": "Modular, kernel directions (ours)",
    "kernel-fixed": "Kernel directions, fixed",
    "random-fixed": "Random directions, fixed",
    "pursuit": "Pursued directions, fixed",
    "true": "True directions, fixed",
}
LARGE = 512
"""Number of samples on which directions are compared by their objective."""
SAME = 0.95
"""Directions with a larger |cosine| count as one."""
MOST_STEPS = 1000
"""Steps of modular networks in the paper's schedule."""
LONGER = 10
"""The paper trains monolithic networks ten times as long as any modular one."""


def scheduled_steps(m: int) -> int:
    """The paper's number of steps for modular networks on inputs of m dimensions (Appendix E.3)."""
    return {7: 700, 8: 700, 9: 500, 10: 200}.get(m, MOST_STEPS)


@dataclass(frozen=True)
class Config:
    """Settings of the sine studies."""

    method: Method = "modular"
    """The method: monolithic, or modular with random, kernel-initialised, pursued or true
    directions."""
    k: Count = 5
    """Modules of the target."""
    m: Whole = 0
    """Input dimensions; 0: as many as modules."""
    n: Count = 1000
    """Training samples."""
    tau: Count = 5
    """Sine waves per module of the target."""
    projection: Literal["linear", "distance"] = "linear"
    """The input of a module: uᵀx, or the distance from u to x."""
    modules: Whole = 0
    """Modules K of the network; 0: `factor` times k."""
    factor: Count = 2
    """Modules of the network per module of the target."""
    width: Count = 32
    """Units of a hidden layer."""
    layers: Count = 4
    """Linear layers of a module; a monolithic network has one more, in place of the projection."""
    learning_rate: Positive = 0.01
    """Learning rate of Adam on the task."""
    steps: Whole = 600
    """Steps on the task; 0: the paper's schedule by dimension."""
    batch: Whole = 0
    """Samples per step on the task; 0: all."""
    kernel_rule: Literal["independent", "determinant", "joint"] = "independent"
    """The kernel rule: Algorithm 1, Algorithm 1 with the determinant of the kernel, or all
    directions together."""
    restarts: Count = 1
    """Starts of the kernel rule per direction that is kept, chosen by the objective."""
    kernel_steps: Whole = 150
    """Steps of the kernel rule."""
    kernel_rate: Positive = 0.01
    """Learning rate of the kernel rule."""
    kernel_batch: Count = 128
    """Samples per step of the kernel rule."""
    kernel_optimiser: Literal["adam", "sgd"] = "adam"
    """Optimizer of the kernel rule; the paper's is plain gradient descent."""
    kernel_mean: bool = True
    """Whether the objective of the kernel rule is divided by its batch size."""
    kernel_clip: Annotated[float, Above(0), OrInfinite()] = float("inf")
    """Largest norm of a module's gradient in the kernel rule."""
    sigma: Positive = 1.0
    """Bandwidth of the kernel; its initial value if it is learned."""
    least_cosine: Annotated[float, AtLeast(-1), AtMost(1)] = 0.1
    """Smallest cosine of u and v in the kernel of linear projections."""
    jitter: NotNegative = 0.1
    """Jitter added to the diagonal of the kernel; a large one gives ridge regression."""
    waves: Count = 30
    """Waves that the pursuit of directions may find."""
    reach: Positive = 15.0
    """The highest frequency that the pursuit looks for."""
    polish: Whole = 10
    """Steps of the pursuit after its last wave, which only fit."""
    test_samples: Count = 4000
    """Number of samples on which test losses are measured."""
    every: Whole = 0
    """Steps between two measurements; 0: a tenth of all steps."""

    def __post_init__(self) -> None:
        if self.kernel_rule == "joint" and self.projection != "linear":
            raise ValueError("kernel_rule=joint needs projection=linear")
        if self.method in KERNEL and self.kernel_batch > self.n:
            raise ValueError(
                f"kernel_batch={self.kernel_batch} needs as many samples; n is {self.n}"
            )

    @property
    def inputs(self) -> int:
        """m."""
        return self.m or self.k

    @property
    def K(self) -> int:
        """Modules of the network."""
        return self.modules or self.factor * self.k

    @property
    def task_steps(self) -> int:
        """Steps on the task."""
        if self.method == "monolithic-long":
            return LONGER * (self.steps or MOST_STEPS)
        return self.steps or scheduled_steps(self.inputs)


class Streams(NamedTuple):
    """Keys of a trial. None depends on the method, so that methods share target and data."""

    target: "PRNGKeyArray"
    train: "PRNGKeyArray"
    test: "PRNGKeyArray"
    network: "PRNGKeyArray"
    kernel: "PRNGKeyArray"
    batches: "PRNGKeyArray"
    restarts: "PRNGKeyArray"


class Problem(NamedTuple):
    """A target with its samples."""

    target: "tasks.SineRegression"
    train: "tasks.SineBatch"
    test: "tasks.SineBatch"


def streams(key) -> Streams:
    """The keys of a trial."""
    import jax

    return Streams(*jax.random.split(key, len(Streams._fields)))


def problem(config: Config, keys: Streams) -> Problem:
    """The target and its samples, the same for all methods."""
    from equinox import filter_jit

    target = filter_jit(tasks.SineRegression.random)(
        config.k, config.inputs, config.tau, projection=config.projection, key=keys.target
    )
    sample = filter_jit(target.sample)
    train = sample(config.n, key=keys.train)
    return Problem(target, train, sample(config.test_samples, key=keys.test))


def find_directions(
    config: Config,
    u: "Float[Array, 'starts m']",
    train: "tasks.SineBatch",
    key: "PRNGKeyArray",
    recorder: Recorder,
    *,
    rows: "Int[Array, ''] | None" = None,
    name: str = "kernel",
) -> "Float[Array, 'modules m']":
    """K directions of the kernel rule, started from `u`, in 64-bit numbers (Algorithm 1).

    They are fitted to the training set or to its first `rows`; `name` is that of the loop.
    """
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        x, y, start = (jnp.asarray(np.asarray(a, float)) for a in (train.x, train.y, u))
        rule = direction_rule(config, x, y, len(u), key, rows)
        every = max(1, config.kernel_steps // 10)
        steps = config.kernel_steps - config.kernel_steps % every
        end, seen = recorder.train(rule, rule.init(start), steps, every=every, name=name)
        recorder.curve("kernel_loss", seen["step"], seen["loss"])
        if isinstance(rule, learning.KernelDirections):
            for trouble in rule.troubles(seen):
                warnings.warn(trouble, stacklevel=1)
            recorder.curve("kernel_likeness", seen["step"], seen["likeness"])
            recorder.metric("crossings", seen["crossings"][-1])
        found = rule.projections(end)
        if config.restarts > 1:
            some = slice(min(len(x) if rows is None else int(rows), LARGE))
            best = _best_first(rule, end, x[some], y[some])
            found = found[distinct(np.asarray(found)[best], config.K, best)]
        found = np.asarray(found, np.float32)
    return jnp.asarray(found)


def pursued_directions(
    config: Config, train: "tasks.SineBatch", key: "PRNGKeyArray", recorder: Recorder
) -> "Float[Array, 'directions m']":
    """The directions of waves that are found one at a time, at most K, in 64-bit numbers."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        x, y = (jnp.asarray(np.asarray(a, float)) for a in train)
        rule = learning.DirectionPursuit(x, y, key, config.reach)
        steps = config.waves + config.polish
        end, seen = recorder.train(rule, rule.init(config.waves), steps, every=1, name="pursuit")
        for name in ("held_out", "best_held_out"):
            recorder.curve(name, seen["step"], seen[name])
        found = rule.directions(end, config.K)
    recorder.metric("found", len(found))
    return jnp.asarray(found, jnp.float32)


def _best_first(rule, state, x, y) -> np.ndarray:
    """The order of directions by the objective, or by the variance that they explain."""
    import jax

    if isinstance(rule, learning.JointDirections):
        return np.argsort(-np.asarray(state.kernel.log_a))
    norms = jax.vmap(lambda direction: rule.objective(direction, x, y[:, None])[0])
    return np.argsort(np.asarray(norms(state.directions)))


def distinct(u: np.ndarray, K: int, order: np.ndarray) -> np.ndarray:
    """The first K of `order`, with directions that repeat an earlier one moved to the end.

    Starts that end in the same direction count once.
    """
    chosen: list[int] = []
    for i in range(len(u)):
        if all(abs(u[i] @ u[j]) < SAME for j in chosen):
            chosen.append(i)
    rest = [i for i in range(len(u)) if i not in chosen]
    return order[(chosen + rest)[:K]]


def kernel_optimizer(name: str, rate: float, clip: float = float("inf")) -> "learning.Optimizer":
    """The optimizer of the kernel rule that a setting names, after clipping."""
    make = {"adam": learning.adam, "sgd": learning.sgd}[name]
    return learning.chain(learning.clip(clip), make(rate))


def direction_rule(config: Config, x, y, starts: int, key, rows=None):
    """The rule that `config` names."""
    import jax.numpy as jnp

    if config.kernel_rule == "joint":
        return learning.JointDirections(
            x, y, key, config.kernel_batch, learning.adam(config.kernel_rate), config.sigma,
            config.jitter, rows,
        )  # fmt: skip
    kernel: Any = models.DistanceKernel(config.sigma)
    if config.projection == "linear":
        kernel = models.SplitKernel(config.sigma, config.least_cosine)
    return learning.KernelDirections(
        kernel,
        x,
        y[:, None],
        jnp.ones((starts, 1), bool),
        key,
        config.kernel_batch,
        kernel_optimizer(config.kernel_optimiser, config.kernel_rate, config.kernel_clip),
        config.jitter,
        mean=config.kernel_mean,
        rows=rows,
        determinant=config.kernel_rule == "determinant",
    )


def network_of(
    config: Config,
    given: Problem,
    keys: Streams,
    recorder: Recorder,
    *,
    rows: "Int[Array, ''] | None" = None,
    name: str = "kernel",
):
    """The network before task training, and a filter of what learns.

    `rows` and `name` are for `find_directions`.
    """
    import equinox as eqx
    import jax.numpy as jnp

    m = config.inputs
    if config.method in MONOLITHIC:
        sizes = (m, *[config.width] * config.layers, 1)
        return models.MLP(sizes, uniform=True, key=keys.network), eqx.is_inexact_array
    build = eqx.filter_jit(models.ModularRegressor.random)
    modular = build(
        config.K, m, width=config.width, layers=config.layers, projection=config.projection,
        key=keys.network,
    )  # fmt: skip
    if config.method in KERNEL:
        more = models.random_directions((config.restarts - 1) * config.K, m, key=keys.restarts)
        starts = jnp.concatenate([modular.u, more])
        directions = find_directions(
            config, starts, given.train, keys.kernel, recorder, rows=rows, name=name
        )
        modular = modular.with_directions(directions)
    elif config.method == "pursuit":
        directions = pursued_directions(config, given.train, keys.kernel, recorder)
        modular = modular.with_directions(directions)
    elif config.method == "true":
        modular = modular.with_directions(given.target.u)
    return modular, modular.trainable(learn_directions=config.method not in FIXED)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train one network by one method; measure its losses and the similarity of its directions."""
    keys = streams(key)
    given = problem(config, keys)
    network, trainable = network_of(config, given, keys, recorder)
    modular = config.method not in MONOLITHIC
    rule = regression(config, given, keys.batches, trainable, closeness=modular)
    steps = config.task_steps
    every = config.every or max(1, steps // 10)
    state, seen = recorder.train(rule, rule.init(network), steps - steps % every, every=every)
    for name, values in seen.items():
        if name != "step":
            recorder.curve(name, seen["step"], values)
    recorder.metric("train_loss", seen["loss"][-1])
    recorder.metric("test_loss", seen["test_loss"][-1])
    recorder.metric("target_variance", np.var(given.test.y))
    if modular:
        for name in ("similarity", "distance"):
            recorder.metric(f"{name}_at_start", seen[name][0])
            recorder.metric(name, seen[name][-1])
        recorder.array("directions_at_start", network.u)
        recorder.array("directions", state.model.u)
        recorder.array("true_directions", given.target.u)


def regression(
    config: Config, given: Problem, key, trainable, *, closeness: bool = False, rows=None
) -> "learning.Descent":
    """Adam on the mean squared error, on all samples or batches of them, or of the first `rows`.

    With `closeness` it is also observed how close the directions of a modular network are to the
    true ones.
    """
    from jax.tree_util import Partial

    return learning.Descent(
        learning.mean_squared_error,
        learning.Drawn(given.train, config.batch or None, rows),
        learning.adam(config.learning_rate),
        key=key,
        measure=Partial(observed, given, rows, given.target.u if closeness else None),
        trainable=trainable,
    )


def observed(given: Problem, rows, u, network):
    """Losses on the training set and the test set, and how close directions are to those in `u`."""
    import jax.numpy as jnp

    x, y = given.train
    mask = None if rows is None else jnp.arange(len(y)) < rows
    seen = {
        "loss": jnp.square(network(x)[:, 0] - y).mean(where=mask),
        "test_loss": learning.mean_squared_error(network, given.test),
    }
    if u is None:
        return seen
    apart = jnp.linalg.norm(network.u[:, None] - u, axis=2)
    return seen | {
        "similarity": probes.module_similarity(network.u, u),
        "distance": apart.min(axis=1).mean(),
    }
