"""What the studies of the two-coordinate toy do: train the playground's network, and look at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recombine import learning, models, probes, tasks
from recombine.lab import Recorder

if TYPE_CHECKING:
    from jaxtyping import Array, PRNGKeyArray

POINTS = 187
"""Training points: of 500 in the square about 375 lie outside the quadrant; half of them train."""
SIZES = (2, 8, 8, 8, 1)
RATE = 0.1
BATCH = 10
STEPS = 1024
GRID = 40
"""Points along each side of the grid on which the held-out quadrant is judged."""

Remedy = Literal["none", "penalty", "drop", "noise", "entropy", "order", "modular"]
STRENGTHS: dict[Remedy, float] = {
    "none": 0.0,
    "penalty": 10.0,
    "drop": 0.5,
    "noise": 2.0,
    "entropy": 0.001,
    "order": 0.5,
    "modular": 0.0,
}
"""The remedies, and by default how much of each (see `remedied`), chosen on seeds 500 to 509."""


class ToyScores(NamedTuple):
    """How a trained network does."""

    train_accuracy: float
    held_out_accuracy: float
    """The share of the held-out quadrant that it takes for positive."""
    leakage: float
    """I(Ŷ; X_2 | X_1) in bits, with X_1 and X_2 independent and uniform on their whole range."""


def playground_network(*, sizes: tuple[int, ...] = SIZES, key: PRNGKeyArray) -> models.MLP:
    """ReLU, a tanh at the end, weights uniform on ±0.5, biases 0.1."""
    import jax.numpy as jnp

    return models.MLP(sizes, layer=models.Dense.bounded, output=jnp.tanh, key=key)


def training_set(batch: tasks.QuadrantBatch, *, outputs: int = 1) -> tasks.Examples:
    """Points and the signs of Y_1, or of both components."""
    import jax.numpy as jnp

    return tasks.Examples(
        batch.x, batch.targets[:, :outputs], jnp.ones(len(batch.x), batch.x.dtype)
    )


def accuracy(model: Callable[[Array], Array], batch: tasks.QuadrantBatch) -> Array:
    """The share of points whose Y_1 the first output gets right."""
    return ((model(batch.x)[:, 0] > 0) == (batch.labels[:, 0] == 1)).mean()


def scores(
    model: Callable[[Array], Array], task: tasks.QuadrantToy, batch: tasks.QuadrantBatch
) -> dict[str, Array]:
    """The entries of `ToyScores`, as arrays."""
    import jax.numpy as jnp

    # Rows of a map are values of X_2.
    answers = probes.decision_map(model, task.reach + task.margin, side=GRID).T > 0
    return {
        "train_accuracy": accuracy(model, batch),
        "held_out_accuracy": accuracy(model, task.held_out_grid(GRID)),
        "leakage": probes.leakage(answers.astype(jnp.int32), 2),
    }


def remedied(
    remedy: Remedy, key: PRNGKeyArray, recorder: Recorder, *, strength: float | None = None,
    steps: int = STEPS, points: int = POINTS,
) -> ToyScores:  # fmt: skip
    """Train the playground's network on the toy with a remedy against the use of X_2.

    Of one key the training points are the same with every remedy, and the network's first weights
    too, unless it is modular. Remedies, with their strengths s:

    - `none`.
    - `penalty`: adds s times the mean of (∂ŷ/∂X_2)² at training points to the loss.
    - `drop`: X_2 becomes 0 with probability s, anew in every pass.
    - `noise`: adds Gaussian noise of standard deviation s to X_2, anew in every pass.
    - `entropy`: bounds what the first hidden layer h can hold: adds Gaussian noise of standard
        deviation 1 to it in training, and s times the mean of ‖h‖² to the loss.
    - `order`: for a share s of all passes only points with Y_2 = 0 train, among which X_2 tells
        nothing of Y_1; then all.
    - `modular`: one network for X_1 and one for X_2, whose outputs are added before the tanh.
    """
    import equinox as eqx
    import jax

    s = STRENGTHS[remedy] if strength is None else strength
    data_key, weight_key, noise_key = jax.random.split(key, 3)
    task = tasks.QuadrantToy()
    batch = eqx.filter_jit(task.sample)(points, key=data_key)
    examples = training_set(batch)
    loss: Any = learning.half_squared_loss
    arrange: Any = None
    part = jax.tree_util.Partial
    if remedy == "penalty":
        loss = part(_with_slope, s)
    elif remedy == "drop":
        arrange = part(_dropped, noise_key, s)
    elif remedy == "noise":
        arrange = part(_noisy, noise_key, s)
    elif remedy == "entropy":
        loss, arrange = part(_with_size, s), part(_widened, noise_key)
        examples = _widened(noise_key, examples, None)
    elif remedy == "order":
        arrange = part(_uninformative_first, s * steps)
    make = _additive if remedy == "modular" else playground_network
    model = eqx.filter_jit(make)(key=weight_key)
    rule = learning.EpochDescent(examples, RATE, BATCH, loss, arrange)
    model, _ = recorder.train(rule, model, steps, every=steps, chunk=steps, name=f"toy-{remedy}")
    found = eqx.filter_jit(scores)(model, task, batch)
    return ToyScores(**{name: float(value) for name, value in found.items()})


def _additive(*, key: PRNGKeyArray) -> Any:
    """A network for each coordinate, added up."""
    import jax

    make = partial(models.MLP, (1, *SIZES[1:]), layer=models.Dense.bounded)
    one, two = jax.random.split(key)
    return jax.tree_util.Partial(_sum, make(key=one), make(key=two))


def _sum(first: models.MLP, second: models.MLP, x: Array) -> Array:
    import jax.numpy as jnp

    return jnp.tanh(first(x[:, :1]) + second(x[:, 1:]))


def _with_slope(s: Array, model: models.MLP, examples: tasks.Examples) -> Array:
    """The loss, and s (∂ŷ/∂X_2)²."""
    import jax
    import jax.numpy as jnp

    slopes = jax.grad(lambda x: model(x).sum())(examples.x)[:, 1]
    penalty = learning.counted_mean(jnp.square(slopes), examples.weight)
    return learning.half_squared_loss(model, examples) + s * penalty


def _with_size(s: Array, model: models.MLP, examples: tasks.Examples) -> Array:
    """The loss with noise on the first hidden layer, and s ‖h‖²; x has the noise after X_2."""
    import jax
    import jax.numpy as jnp

    hidden = jax.nn.relu(model.layers[0](examples.x[:, :2]))
    y = hidden + examples.x[:, 2:]
    for layer in model.layers[1:-1]:
        y = jax.nn.relu(layer(y))
    y = jnp.tanh(model.layers[-1](y))
    size = learning.counted_mean(jnp.square(hidden).sum(axis=1), examples.weight)
    return learning.half_squared_error(y, examples) + s * size


def _widened(key: PRNGKeyArray, examples: tasks.Examples, t: Array | None) -> tasks.Examples:
    """Points followed by noise for the first hidden layer: that of pass t, or none."""
    import jax
    import jax.numpy as jnp

    shape = len(examples.x), SIZES[1]
    if t is None:
        noise = jnp.zeros(shape, examples.x.dtype)
    else:
        noise = jax.random.normal(jax.random.fold_in(key, t), shape, examples.x.dtype)
    return examples._replace(x=jnp.concatenate([examples.x[:, :2], noise], axis=1))


def _dropped(key: PRNGKeyArray, s: Array, examples: tasks.Examples, t: Array) -> tasks.Examples:
    """X_2 is 0 with probability s."""
    import jax

    kept = jax.random.uniform(jax.random.fold_in(key, t), (len(examples.x),)) >= s
    return _second(examples, examples.x[:, 1] * kept)


def _noisy(key: PRNGKeyArray, s: Array, examples: tasks.Examples, t: Array) -> tasks.Examples:
    """X_2 with noise of standard deviation s."""
    import jax

    x = examples.x[:, 1]
    return _second(
        examples, x + s * jax.random.normal(jax.random.fold_in(key, t), x.shape, x.dtype)
    )


def _second(examples: tasks.Examples, second: Array) -> tasks.Examples:
    import jax.numpy as jnp

    return examples._replace(x=jnp.stack([examples.x[:, 0], second], axis=1))


def _uninformative_first(passes: Array, examples: tasks.Examples, t: Array) -> tasks.Examples:
    """Up to pass `passes` only points with Y_2 = 0 count."""
    return examples._replace(weight=examples.weight * ((t >= passes) | (examples.x[:, 1] < 0)))
