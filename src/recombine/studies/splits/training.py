"""Train one network per split, all splits of a table in one compiled program."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .networks import NETWORKS, Sizes
from .tables import Table


def scores(
    table: Table,
    network: str,
    trained: Bool[np.ndarray, "splits combinations"],
    *,
    hidden: int,
    steps: int,
    learning_rate: float,
    key: PRNGKeyArray,
) -> Float[np.ndarray, "splits combinations"]:
    """Train a network on every split, and score each combination on its test rows.

    The score of a classification is the share of its labels that are right, of a regression
    max(0, 1 − squared error / variance).

    **Arguments:**

    - `table`: the task.
    - `network`: its name in `NETWORKS`.
    - `trained`: which combinations each split trains.
    - `hidden`: hidden units per layer.
    - `steps`: steps of Adam on all trained rows at once.
    - `learning_rate`: of Adam; it decays to 0 along a cosine.
    - `key`: of the initial weights.
    """
    sizes = Sizes(table.x.shape[1], table.x.shape[2], table.y.shape[1], hidden)
    weights = trained[:, table.combination].astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    rows = tuple(map(jnp.asarray, (table.x, table.y, table.x_test)))
    keys = jax.random.split(key, len(trained))
    outputs = _outputs(
        NETWORKS[network], sizes, steps, table.groups, rows, learning_rate, keys, weights
    )
    return np.stack([_of_rows(table, of_split) for of_split in np.asarray(outputs)])


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _outputs(
    build: Callable,
    sizes: Sizes,
    steps: int,
    groups: int,
    rows: tuple[Array, Array, Array],
    learning_rate: float,
    keys: Array,
    weights: Array,
) -> Array:
    """What the networks that are trained with these weights of rows say of the test rows."""
    x, y, x_test = rows
    optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))

    def losses(outputs: Array) -> Array:
        if not groups:
            return jnp.mean((outputs - y) ** 2, axis=1)
        logits = outputs.reshape(len(y), groups, -1)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * y.reshape(logits.shape), -1), axis=1)

    def one(key: Array, weight: Array) -> Array:
        params, static = eqx.partition(build(sizes, key), eqx.is_array)

        def loss(params):
            return jnp.sum(weight * losses(eqx.combine(params, static)(x)))

        def step(carry, _):
            params, state = carry
            updates, state = optimizer.update(jax.grad(loss)(params), state)
            return (optax.apply_updates(params, updates), state), None

        start = params, optimizer.init(params)
        (params, _), _ = jax.lax.scan(step, start, None, length=steps)
        return eqx.combine(params, static)(x_test)

    return jax.lax.map(lambda pair: one(*pair), (keys, weights), batch_size=16)


def _of_rows(table: Table, outputs: np.ndarray) -> np.ndarray:
    """The mean score of every combination's rows."""
    if table.groups:
        shape = len(table.y), table.groups, -1
        right = outputs.reshape(shape).argmax(-1) == table.y.reshape(shape).argmax(-1)
        score = right.mean(axis=1)
    else:
        spread = np.mean((table.y - table.y.mean(axis=0)) ** 2)
        score = np.maximum(0, 1 - np.mean((outputs - table.y) ** 2, axis=1) / spread)
    total = np.bincount(table.combination, score, minlength=len(table.combinations))
    return total / np.bincount(table.combination, minlength=len(table.combinations))
