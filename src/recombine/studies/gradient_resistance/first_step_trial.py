"""The trial of the first-step study: checks of the propositions, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from recombine import models, probes, splits, tasks, theory
from recombine.lab import Count, Positive, Recorder

from .toy_trial import passes_over

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

HIDDEN = (8, 8, 8)
BLOCK = 1000
"""Number of points drawn at a time."""
LOOKED_AT = 100
"""Number of points at which derivatives are taken."""
LINEAR_BATCH = 500
BINS = 10
"""Number of equal bins of [−1, 1] into which outputs are sorted."""
TURN = np.array([[0.8, -0.6], [0.6, 0.8]], np.float32)
"""How the oracles' components are mixed into inputs and outputs."""
VALUES = (
    "entropy of the target",
    "information in X2",
    "covariance with X1",
    "covariance with X2",
    "logistic step of w1",
    "logistic step of w2",
    "logistic step of b",
    "accuracy after it, held out",
    "accuracy after it, seen",
    "least squares w1",
    "least squares w2",
    "least squares b",
    "least squares accuracy, held out",
    "least squares accuracy, seen",
)
"""The closed forms, in the order in which they are reported."""


@dataclass(frozen=True)
class Config:
    """Settings of the first-step study, on the toy in the paper's coordinates."""

    setting: Literal["A", "B"] = "A"
    """A: X2 is informative about the target. B: it is random."""
    initialisations: Count = 50
    """Number of networks that take a first step, each on its own batch."""
    batches: tuple[Count, ...] = (100, 1000, 10_000, 100_000)
    """Batch sizes."""
    linear_batches: Count = 200
    """Number of batches of 500 points for the linear model."""
    draws: Count = 10_000
    """Points per simulation with which closed forms are compared."""
    simulations: Count = 20
    """Number of simulations."""
    points: Count = 187
    """Training points of the run along which information is measured."""
    steps: Count = 64
    """Passes of that run over its points."""
    learning_rate: Positive = 0.1
    """Learning rate of the first step and of the run."""


def trial(config: Config, key: PRNGKeyArray, recorder: Recorder) -> None:
    """Take first steps from models that ignore X_2, and measure what changes."""
    import equinox as eqx
    import jax

    of_steps, of_draws, of_terms, of_run = jax.random.split(key, 4)
    task = tasks.QuadrantToy.paper_coordinates(informative=config.setting == "A")
    report_first_steps(recorder, config, task, of_steps)
    drawn = eqx.filter_jit(task.sample)(config.draws * config.simulations, key=of_draws)
    x, labels = np.asarray(drawn.x), np.asarray(drawn.labels)
    report_linear_model(recorder, config, x, labels)
    report_terms(recorder, config, x[:BLOCK], labels[:BLOCK], of_terms)
    report_simulation(recorder, config, x, labels, int(config.setting == "B"))
    report_information(recorder, config, task, of_run)
    found = theory.proposition_1_counterexamples()
    recorder.array("proposition_1_bits", [case.information for case in found.values()])
    recorder.array(
        "proposition_1_slopes", [float(abs(case.slopes).max()) for case in found.values()]
    )


def network(outputs: int = 1, *, key: PRNGKeyArray) -> models.MLP:
    """A ReLU network with a tanh output, weights uniform on ±0.5 and biases 0.1."""
    import jax.numpy as jnp

    sizes = (2, *HIDDEN, outputs)
    return models.MLP(sizes, layer=models.Dense.bounded, output=jnp.tanh, key=key)


def report_first_steps(recorder: Recorder, config: Config, task: tasks.QuadrantToy, key) -> None:
    """Proposition 4: how first-layer weights and derivatives change, by batch size."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, config.initialisations)
    rate, blocks = jnp.asarray(config.learning_rate), -(-max(config.batches) // BLOCK)
    found = [
        eqx.filter_jit(first_steps)(task, jnp.asarray(size), blocks, rate, keys)
        for size in config.batches
    ]
    recorder.array("before", np.stack([step.before for step in found]))
    recorder.array("after", np.stack([step.after for step in found]))
    recorder.array("ratio", np.stack([step.ratio for step in found]))


def first_steps(
    task: tasks.QuadrantToy, size: Array, blocks: int, rate: Array, keys: PRNGKeyArray
) -> probes.FirstStep:
    """The first step of a network for every key, on a batch of `size` points of its own.

    Points are drawn in blocks, and blocks beyond the batch are skipped: one program serves all
    batch sizes.
    """
    import jax
    import jax.numpy as jnp

    def one(key: PRNGKeyArray) -> probes.FirstStep:
        of_network, of_points = jax.random.split(key)

        def summed(model: models.MLP, block: Array) -> Array:
            batch = task.sample(BLOCK, key=jax.random.fold_in(of_points, block))
            errors = jnp.square(model(batch.x) - batch.targets[:, :1]).sum(axis=1)
            return 0.5 * jnp.where(block * BLOCK + jnp.arange(BLOCK) < size, errors, 0).sum()

        def loss(model: models.MLP) -> Array:
            def counted(block: Array) -> Array:
                within = block * BLOCK < size
                return jax.lax.cond(within, partial(summed, model), lambda _: jnp.zeros(()), block)

            return jax.lax.map(counted, jnp.arange(blocks)).sum() / size

        x = task.sample(LOOKED_AT, key=jax.random.fold_in(of_points, blocks)).x
        redundant = jnp.array([False, True])
        start = network(key=of_network)
        return probes.first_step(start, loss, first_weights, redundant, x, learning_rate=rate)

    return jax.lax.map(one, keys)


def first_weights(model: models.MLP) -> Array:
    return model.layers[0].weight


def report_linear_model(
    recorder: Recorder, config: Config, x: np.ndarray, labels: np.ndarray
) -> None:
    """Proposition 5: cross weights of a linear model with one output per component."""
    import equinox as eqx
    import jax.numpy as jnp

    count = min(config.linear_batches, len(x) // LINEAR_BATCH)
    batches = [
        jnp.reshape(a[: count * LINEAR_BATCH], (count, LINEAR_BATCH, 2)).astype(x.dtype)
        for a in (x, labels)
    ]
    for name, found in eqx.filter_jit(linear_steps)(*batches).items():
        recorder.array(f"linear_step_{name}", found.step)
        recorder.metric(f"linear_misses_by_{name}", abs(found.step - found.predicted).max())


def linear_steps(x: Array, y: Array) -> dict[str, theory.LinearFirstStep]:
    """First steps from zero weights, one per batch, with zero and with fitted biases."""
    import jax

    return {
        name: jax.vmap(partial(theory.linear_first_step, bias_is_fitted=fitted))(x, y)
        for name, fitted in (("zero", False), ("fitted", True))
    }


def report_terms(
    recorder: Recorder, config: Config, x: np.ndarray, labels: np.ndarray, key
) -> None:
    """The gradient, output by output, and the extended model, for networks with two outputs."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    inputs, targets = jnp.asarray(x), jnp.asarray(2 * labels.astype(x.dtype) - 1)
    keys = jax.random.split(key, config.initialisations)
    found = jax.device_get(eqx.filter_jit(terms)(inputs, targets, keys))
    lengths = np.linalg.norm(found.terms, axis=-1)
    total = np.linalg.norm(found.gradient, axis=-1)
    off = np.linalg.norm(found.terms.sum(axis=1) - found.gradient, axis=-1)
    recorder.metric("terms_miss_by", (off / total).max())
    recorder.array(
        "cosine", np.sum(found.terms[:, 0] * found.terms[:, 1], axis=-1) / lengths.prod(-1)
    )
    recorder.array("sum_to_longest", total / lengths.max(axis=-1))
    outputs, gradient = eqx.filter_jit(extension)(inputs, targets, key)
    recorder.metric("extended_outputs_miss_by", outputs)
    recorder.metric("extended_gradient_misses_by", gradient)


def squared_error(outputs: Array, targets: Array) -> Array:
    import jax.numpy as jnp

    return 0.5 * jnp.square(outputs - targets).sum(axis=1).mean()


def terms(x: Array, targets: Array, keys: PRNGKeyArray) -> probes.GradientByOutput:
    """The gradient of a network for every key, by outputs."""
    import jax

    loss = partial(squared_error, targets=targets)
    return jax.lax.map(lambda key: probes.gradient_by_output(network(2, key=key), loss, x), keys)


def extension(x: Array, targets: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
    """The largest differences that oracles around a network make, in outputs and gradient."""
    import jax
    import jax.numpy as jnp

    plain = network(2, key=key)
    extended = theory.ExtendedModel(plain, apart, together, apart, together)
    gradient = jax.grad(lambda model: squared_error(model(x), targets))
    gaps = jax.tree.map(
        lambda a, b: jnp.abs(a - b).max(), gradient(plain), gradient(extended).model
    )
    return jnp.abs(plain(x) - extended(x)).max(), jnp.stack(jax.tree.leaves(gaps)).max()


def apart(x: Array) -> tuple[Array, Array]:
    """The oracle: the two components of a rotated vector."""
    parts = x @ TURN.T
    return parts[:, :1], parts[:, 1:]


def together(first: Array, second: Array) -> Array:
    """The inverse of the oracle."""
    import jax.numpy as jnp

    return jnp.concatenate([first, second], axis=1) @ TURN


def report_simulation(recorder: Recorder, config: Config, x, labels, setting: int) -> None:
    """Every closed form, and its estimates from several simulations."""
    weights = (theory.THREE_COMBINATIONS, theory.SECOND_AT_RANDOM)[setting]
    exact = theory.quadrant_values(weights)
    recorder.array(
        "closed_forms",
        [
            exact.target_entropy,
            exact.second_information,
            *map(float, exact.covariances),
            *map(float, exact.logistic_step),
            *map(float, exact.logistic_accuracy),
            *map(float, exact.least_squares),
            *map(float, exact.least_squares_accuracy),
        ],
    )
    parts = np.split(x.astype(float), config.simulations), np.split(labels, config.simulations)
    recorder.array("simulated", [simulated(*part) for part in zip(*parts, strict=True)])


def simulated(x: np.ndarray, labels: np.ndarray) -> list[float]:
    """The quantities of `VALUES` for one sample.

    Held-out points are those of Y = (1, 0) with X_2 turned round: they have the same X_1.
    """
    y = labels[:, 0].astype(float)
    signs = np.concatenate([labels[:, :1], x > 0], axis=1).astype(int)
    table = splits.table_of_samples(signs, (2, 2, 2))
    centred = y - y.mean()
    design = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    step = design.T @ (y - 0.5) / len(x)
    optimum = np.linalg.lstsq(design, y, rcond=None)[0]
    seen = design[(labels == [1, 0]).all(axis=1)]
    held_out = seen * [1, -1, 1]
    return [
        unbiased_information(table[:, :, 0] + table[:, :, 1], len(x)),
        unbiased_information(table[:, 0] + table[:, 1], len(x)),
        *(centred @ x / len(x)),
        *step,
        *((points @ step > 0).mean() for points in (held_out, seen)),
        *optimum,
        *((points @ optimum > 0.5).mean() for points in (held_out, seen)),
    ]


def unbiased_information(table: np.ndarray, samples: int) -> float:
    """I(A; B) from the table of a sample, with the correction of Miller and Madow.

    The entropy of m frequencies is on average (m − 1) / 2 nats / samples too low.
    """
    first, second, both = (np.count_nonzero(t) - 1 for t in (table.sum(1), table.sum(0), table))
    correction = (first + second - both) / (2 * samples * np.log(2))
    return splits.mutual_information(table, 0, 1) + correction


def report_information(recorder: Recorder, config: Config, task: tasks.QuadrantToy, key) -> None:
    """Proposition 2 along a run, on its training points."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    of_points, of_network = jax.random.split(key)
    batch = eqx.filter_jit(task.sample)(config.points, key=of_points)
    examples = tasks.Examples(batch.x, batch.targets[:, :1], jnp.ones(config.points))
    rule = passes_over(
        examples, jax.tree_util.Partial(outputs_at, x=batch.x), learning_rate=config.learning_rate
    )
    start = eqx.filter_jit(network)(key=of_network)
    _, curves = recorder.train(rule, rule.init(start), config.steps * rule.every)
    passes = curves["step"] // rule.every
    data = np.eye(2)[np.asarray(batch.labels[:, 0])].T
    for name, answers in answers_of(curves["outputs"]).items():
        found = theory.information_along_training(data, answers)
        recorder.curve(f"{name} of targets", passes, found.of_target)
        recorder.curve(f"{name} of inputs", passes, found.of_input)
    recorder.curve("loss", passes, curves["loss"])


def outputs_at(model: models.MLP, *, x: Array) -> dict[str, Array]:
    return {"outputs": model(x)[:, 0]}


def answers_of(outputs: np.ndarray) -> dict[str, np.ndarray]:
    """Outputs between −1 and 1 as discrete predictions: their signs, and their bins."""
    tenths = np.clip(np.floor((outputs + 1) / 2 * BINS), 0, BINS - 1).astype(int)
    return {"signs": np.eye(2)[(outputs > 0).astype(int)], "bins": np.eye(BINS)[tenths]}
