"""What the study of the first gradient step does: the propositions, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from recombine import learning, models, tasks, theory
from recombine.lab import Recorder

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

HIDDEN = (8, 8, 8)
BLOCK = 1000
"""Points that are drawn at a time."""
LOOKED_AT = 100
"""Points at which derivatives are taken."""
LINEAR_BATCH = 500
BINS = 10
"""Equal parts of [−1, 1] into which outputs are sorted."""
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
    """The toy in the paper's coordinates, and how much of everything is drawn."""

    setting: Literal["A", "B"] = "A"
    """A: X2 tells something of the target. B: it is random."""
    initialisations: int = 50
    """Networks that take a first step, each on a batch of its own."""
    batches: tuple[int, ...] = (100, 1000, 10_000, 100_000)
    """Sizes of the batch."""
    linear_batches: int = 200
    """Batches of 500 points for the linear model."""
    draws: int = 10_000
    """Points in each of the simulations that closed forms are held against."""
    simulations: int = 20
    """How many there are."""
    points: int = 187
    """Training points of the run that information is followed along."""
    steps: int = 64
    """Its passes over them."""
    learning_rate: float = 0.1
    """Of the first step, and of the run."""


def trial(config: Config, key: PRNGKeyArray, recorder: Recorder) -> None:
    """Take first steps, and look at what they do to a model that ignores X_2."""
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
    """ReLU, a tanh at the end, weights uniform on ±0.5, biases 0.1."""
    import jax.numpy as jnp

    sizes = (2, *HIDDEN, outputs)
    return models.MLP(sizes, layer=models.Dense.bounded, output=jnp.tanh, key=key)


def report_first_steps(recorder: Recorder, config: Config, task: tasks.QuadrantToy, key) -> None:
    """Proposition 4: how first-layer weights and derivatives move, by size of the batch."""
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
) -> theory.FirstStep:
    """The first step of a network for every key, on a batch of `size` points of its own.

    Points are drawn in blocks, and blocks beyond the batch passed over: one program serves batches
    of all sizes.
    """
    import jax
    import jax.numpy as jnp

    def one(key: PRNGKeyArray) -> theory.FirstStep:
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
        return theory.first_step(start, loss, first_weights, redundant, x, learning_rate=rate)

    return jax.lax.map(one, keys)


def first_weights(model: models.MLP) -> Array:
    return model.layers[0].weight


def report_linear_model(
    recorder: Recorder, config: Config, x: np.ndarray, labels: np.ndarray
) -> None:
    """Proposition 5: cross weights of a linear model with an output for each component."""
    import equinox as eqx

    count = min(config.linear_batches, len(x) // LINEAR_BATCH)
    batches = [
        np.reshape(a[: count * LINEAR_BATCH], (count, LINEAR_BATCH, 2)).astype(x.dtype)
        for a in (x, labels)
    ]
    for name, found in eqx.filter_jit(linear_steps)(*batches).items():
        recorder.array(f"linear_step_{name}", found.step)
        recorder.metric(f"linear_misses_by_{name}", abs(found.step - found.predicted).max())


def linear_steps(x: Array, y: Array) -> dict[str, theory.LinearFirstStep]:
    """First steps from zero weights, one for every batch; with biases of zero, and fitted."""
    import jax

    return {
        name: jax.vmap(partial(theory.linear_first_step, bias_is_fitted=fitted))(x, y)
        for name, fitted in (("zero", False), ("fitted", True))
    }


def report_terms(
    recorder: Recorder, config: Config, x: np.ndarray, labels: np.ndarray, key
) -> None:
    """The gradient by outputs, and the extended model, for networks with two outputs."""
    import equinox as eqx
    import jax

    targets = 2 * labels.astype(x.dtype) - 1
    keys = jax.random.split(key, config.initialisations)
    found = jax.device_get(eqx.filter_jit(terms)(x, targets, keys))
    lengths = np.linalg.norm(found.terms, axis=-1)
    total = np.linalg.norm(found.gradient, axis=-1)
    off = np.linalg.norm(found.terms.sum(axis=1) - found.gradient, axis=-1)
    recorder.metric("terms_miss_by", (off / total).max())
    recorder.array(
        "cosine", np.sum(found.terms[:, 0] * found.terms[:, 1], axis=-1) / lengths.prod(-1)
    )
    recorder.array("sum_to_longest", total / lengths.max(axis=-1))
    outputs, gradient = eqx.filter_jit(extension)(x, targets, key)
    recorder.metric("extended_outputs_miss_by", outputs)
    recorder.metric("extended_gradient_misses_by", gradient)


def squared_error(outputs: Array, targets: Array) -> Array:
    import jax.numpy as jnp

    return 0.5 * jnp.square(outputs - targets).sum(axis=1).mean()


def terms(x: Array, targets: Array, keys: PRNGKeyArray) -> theory.GradientByOutput:
    """The gradient of a network for every key, by outputs."""
    import jax

    loss = partial(squared_error, targets=targets)
    return jax.lax.map(lambda key: theory.gradient_by_output(network(2, key=key), loss, x), keys)


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
    """The oracle: two components of what was turned."""
    parts = x @ TURN.T
    return parts[:, :1], parts[:, 1:]


def together(first: Array, second: Array) -> Array:
    """Its inverse."""
    import jax.numpy as jnp

    return jnp.concatenate([first, second], axis=1) @ TURN


def report_simulation(recorder: Recorder, config: Config, x, labels, setting: int) -> None:
    """Every closed form, and what each of several simulations finds in its place."""
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
    table = theory.table_of_samples(signs, (2, 2, 2))
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
    return theory.mutual_information(table, 0, 1) + correction


def report_information(recorder: Recorder, config: Config, task: tasks.QuadrantToy, key) -> None:
    """Proposition 2 along a run, on its training points."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    of_points, of_network = jax.random.split(key)
    batch = eqx.filter_jit(task.sample)(config.points, key=of_points)
    examples = tasks.Examples(batch.x, batch.targets[:, :1], jnp.ones(config.points))
    rule = learning.EpochDescent(
        examples, config.learning_rate, observers=jax.tree_util.Partial(outputs_at, x=batch.x)
    )
    start = eqx.filter_jit(network)(key=of_network)
    _, curves = recorder.train(rule, start, config.steps)
    data = np.eye(2)[np.asarray(batch.labels[:, 0])].T
    for name, answers in answers_of(curves["outputs"]).items():
        found = theory.information_along_training(data, answers)
        recorder.curve(f"{name} of targets", curves["step"], found.of_target)
        recorder.curve(f"{name} of inputs", curves["step"], found.of_input)
    recorder.curve("loss", curves["step"], curves["loss"])


def outputs_at(model: models.MLP, *, x: Array) -> dict[str, Array]:
    return {"outputs": model(x)[:, 0]}


def answers_of(outputs: np.ndarray) -> dict[str, np.ndarray]:
    """Outputs between −1 and 1 as discrete predictions: their signs, and the tenths they lie in."""
    tenths = np.clip(np.floor((outputs + 1) / 2 * BINS), 0, BINS - 1).astype(int)
    return {"signs": np.eye(2)[(outputs > 0).astype(int)], "bins": np.eye(BINS)[tenths]}
