"""Tasks as complete tables: an input and a target for every combination of their factors."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from recombine import data, models, tasks
from recombine._host_random import host_generator


class Table(NamedTuple):
    """Rows of a task, some for every combination of its factors.

    An input has one slot per factor, and one more where there is anything else; slots are padded
    with zeros to the same width.
    """

    combinations: Int[np.ndarray, "combinations factors"]
    sizes: tuple[int, ...]
    combination: Int[np.ndarray, " rows"]
    """The combination of every row."""
    x: Float[np.ndarray, "rows slots width"]
    """Inputs for training."""
    x_test: Float[np.ndarray, "rows slots width"]
    """Inputs of the same rows for tests: other images of the same classes, or the same."""
    y: Float[np.ndarray, "rows outputs"]
    groups: int
    """Into how many classifications of equally many classes the outputs fall; 0: regression."""


def _every(sizes: tuple[int, ...]) -> np.ndarray:
    return np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)


def _slots(*parts: np.ndarray) -> np.ndarray:
    width = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    return np.stack(padded, axis=1).astype(np.float32)


def _one_hot(numbers: np.ndarray, size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[numbers]


def teacher(sizes: tuple[int, ...], rows: int, *, key: PRNGKeyArray) -> Table:
    """Outputs of a random `ModularNetwork` whose latent mixes one module of every factor.

    A row shows which modules are mixed and an input vector, the same for all combinations.
    """
    network_key, input_key = jax.random.split(key)
    network = models.ModularNetwork.random(
        modules=sum(sizes), inputs=8, hidden=16, outputs=4, key=network_key
    )
    task = tasks.ModularTeacher(network, jnp.eye(sum(sizes), dtype=bool))
    x = np.asarray(task.inputs(rows, key=input_key))
    every = _every(sizes)
    columns = every + np.cumsum([0, *sizes[:-1]])
    z = np.eye(sum(sizes), dtype=np.float32)[columns].sum(axis=1) / np.sqrt(len(sizes))
    y = np.asarray(network(jnp.asarray(z), jnp.asarray(x))).reshape(len(every) * rows, -1)
    places = np.repeat(np.arange(len(every)), rows)
    chosen = every[places]
    parts = [_one_hot(chosen[:, f], size) for f, size in enumerate(sizes)]
    inputs = _slots(*parts, np.tile(x, (len(every), 1)))
    return Table(every, sizes, places, inputs, inputs, _standard(y), 0)


def routing(sizes: tuple[int, ...], rows: int, *, key: PRNGKeyArray) -> Table:
    """The routing task: an item, in one of several input domains, is described in one of several
    output domains; the third factor is the item, of four."""
    del rows, key
    if len(sizes) != 3 or sizes[2] != 4:
        raise ValueError(f"routes have input domains, output domains and 4 items, not {sizes}")
    items = tasks.hierarchical_items()
    every = _every(sizes)
    features = np.asarray(items.Y)[every[:, 2]]
    y = np.zeros((len(every), sizes[1], features.shape[1]), np.float32)
    y[np.arange(len(every)), every[:, 1]] = features
    parts = [_one_hot(every[:, f], size) for f, size in enumerate(sizes)]
    inputs = _slots(*parts)
    y = y.reshape(len(every), -1) / features.std()
    return Table(every, sizes, np.arange(len(every)), inputs, inputs, y, 0)


def images(sizes: tuple[int, ...], rows: int, *, key: PRNGKeyArray) -> Table:
    """Handwritten digits side by side, all of which are to be classified (Compositional images).

    Images of tests are others than those of training.
    """
    if len(set(sizes)) > 1 or not 2 <= sizes[0] <= 10:
        raise ValueError(f"every image has the same classes, 2 to 10, not {sizes}")
    found, rng = data.digits(), host_generator(key)
    every = _every(sizes)
    places = np.repeat(np.arange(len(every)), rows)
    labels = every[places]
    pools = []
    for pixels, classes in (
        (found.train_images, found.train_labels),
        (found.test_images, found.test_labels),
    ):
        images_of, classes_of = np.asarray(pixels), np.asarray(classes)
        drawn = np.zeros((*labels.shape, images_of.shape[1]), np.float32)
        for label in range(sizes[0]):
            chosen = labels == label
            drawn[chosen] = images_of[rng.choice(np.flatnonzero(classes_of == label), chosen.sum())]
        pools.append(drawn - 0.3)
    y = np.concatenate([_one_hot(labels[:, f], sizes[0]) for f in range(len(sizes))], axis=1)
    return Table(every, sizes, places, pools[0], pools[1], y, len(sizes))


def lookup(sizes: tuple[int, ...], rows: int, *, key: PRNGKeyArray) -> Table:
    """Table lookup: functions are applied to a symbol; factors are the symbol and every function.

    Functions are random permutations, the same at every place.
    """
    del rows
    if len(set(sizes)) > 1:
        raise ValueError(f"there are as many functions as symbols, not {sizes}")
    rng, n = host_generator(key), sizes[0]
    tables = np.stack([rng.permutation(n) for _ in range(n)])
    every = _every(sizes)
    task = tasks.LookupTables(jnp.asarray(tables), tuple(map(str, range(n))), forward=True)
    counts = np.full(len(every), len(sizes) - 1)
    written = task.write(every[:, 0], every[:, 1:], counts)
    inputs = _slots(*[_one_hot(every[:, f], n) for f in range(len(sizes))])
    y = _one_hot(np.asarray(written.labels), n)
    return Table(every, sizes, np.arange(len(every)), inputs, inputs, y, 1)


TABLES: dict[str, Any] = {
    "teacher": teacher,
    "routing": routing,
    "images": images,
    "lookup": lookup,
}


def _standard(y: np.ndarray) -> np.ndarray:
    return ((y - y.mean(axis=0)) / y.std()).astype(np.float32)
