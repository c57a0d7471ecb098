"""What trials on compositional table lookup share: learn short compositions, meet longer ones."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import learning, probes, tasks
from recombine.lab import Count, NotNegative, Positive, Recorder, Trained
from recombine.models import specs

from .networks import Data, NetworkConfig, fit, sizes_of, untrained

Direction = Literal["forward", "backward"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the studies of table lookup."""

    direction: Direction = "backward"
    """forward: the symbol is written first, then functions in the order in which they apply;
    backward: the reverse."""
    ponder: NotNegative = 0.03
    """Price of computing long, if columns halt, α."""
    ponder_padding: bool = False
    """Whether columns of padding count in the mean of that price, as in the published code."""
    symbols: Count = 6
    """How many symbols there are."""
    functions: Count = 8
    """How many functions can be composed."""
    longest: Count = 5
    """Functions of the longest training items."""
    valid_lengths: tuple[Count, Count] = (6, 6)
    """The fewest and the most functions of the items on which a network is chosen."""
    longer_lengths: tuple[Count, Count] = (7, 8)
    """The fewest and the most functions of the items on which it is tested."""
    published: bool = False
    """Tables and sets of items as published; otherwise tables of the seed and fresh items at every
    update."""
    learning_rate: Positive = 3e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.buckets <= self.longest:
            raise ValueError(f"buckets={self.buckets} is not between 1 and longest={self.longest}")


class Keys(NamedTuple):
    """What the key of a trial becomes."""

    weights: Any
    tables: Any
    data: Any
    batches: Any
    later: Any
    """For drawing whatever is looked at after training."""


class Learned(NamedTuple):
    """What is left of training."""

    task: Any
    model: Any
    """The chosen network."""
    frame: specs.Frame
    """The tokens before and after an input."""
    key: Any
    """For drawing whatever is looked at afterwards."""

    def functions(self, lengths: Any) -> np.ndarray:
        """The number of functions of inputs: they have a symbol and a frame too."""
        return np.asarray(lengths) - 1 - sum(self.frame)


def keys_of(key) -> Keys:
    """The keys of a trial's parts. Of one key, all networks have the same tables and items."""
    import jax

    return Keys(*jax.random.split(key, 5))


def task_of(config: Config, key) -> Any:
    """The published tables, or those of a key."""
    import equinox as eqx
    import jax

    task = tasks.TableLookup(
        config.symbols,
        config.functions,
        2 if config.published else 0,
        config.longest,
        config.valid_lengths,
        config.longer_lengths,
        forward=config.direction == "forward",
    )
    if config.published:
        return task
    # Only arrays change with the seed: all seeds share one compiled program.
    tables = jax.vmap(lambda k: jax.random.permutation(k, config.symbols))(
        jax.random.split(key, config.functions)
    )
    return eqx.tree_at(lambda t: t.lookup.tables, task, tables.astype(task.lookup.tables.dtype))


def drawn(task, lengths: tuple[int, int], frame: specs.Frame, size: int, *, key):
    """Fresh items of a task."""
    return task.sample(size, lengths, key=key).framed(*frame)


def batch_of(task, lengths: tuple[int, int], frame: specs.Frame, size: int, t, key):
    """The fresh items of an update."""
    return drawn(task, lengths, frame, size, key=key)


def fresh_sets(config: Config, task, key) -> dict[str, Any]:
    """Items as in training, items to choose on, and longer ones."""
    import jax

    frame, trained = specs.frame_of(config.model), (1, config.longest)
    ranges = {"train": trained, "iid": trained}
    ranges |= {"depth_valid": config.valid_lengths, "longer": config.longer_lengths}
    keys = jax.random.split(key, len(ranges))
    return {
        name: drawn(task, lengths, frame, config.evaluated, key=k)
        for (name, lengths), k in zip(ranges.items(), keys, strict=True)
    }


def data_of(config: Config, task, key) -> Data:
    """The published items, or fresh ones at every update, each length as often as the others."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    frame = specs.frame_of(config.model)
    if config.published:
        sets = {name: part.framed(*frame) for name, part in task.sets().items()}
        del sets["reserved"]
        train = sets.pop("train")
        # They are in the order of their lengths.
        seen = train[:: -(-len(train) // config.evaluated)]
        batches = learning.Mixture.of_sets(train.buckets(config.buckets), config.batch_size)
        return Data(batches, seen, sets)
    tests = eqx.filter_jit(fresh_sets)(config, task, key)
    parts = np.array_split(np.arange(1, config.longest + 1), config.buckets)
    ranges = [(int(part[0]), int(part[-1])) for part in parts]
    sources = tuple(
        jax.tree_util.Partial(batch_of, task, lengths, frame, config.batch_size)
        for lengths in ranges
    )
    batches = learning.Mixture(sources, jnp.array([float(len(part)) for part in parts]))
    return Data(batches, tests.pop("train"), tests)


def objective_of(config: Config) -> Any:
    """What is minimised: with a price on computing long if columns halt."""
    if getattr(config.model, "halting", None) is None:
        return learning.label_loss
    return learning.PonderLoss(config.ponder, padding=config.ponder_padding)


def trained(config: Config, key, recorder: Recorder) -> Learned:
    """The network that the trial of the same config and seed has learned and kept.

    For studies that look at networks, whose `needs` is `needed`.
    """
    keys = keys_of(key)
    kept = recorder.trained()
    return Learned(
        task_of(config, keys.tables), kept.network, specs.frame_of(config.model), keys.later
    )


def needed(config: Config) -> Trained:
    """The trial in which a network learns, for studies that look at it."""
    return Trained(trial, config)


def items_of(learned: Learned, count: int, lengths: tuple[int, int]) -> Any:
    """Fresh items to look at after training."""
    import equinox as eqx

    return eqx.filter_jit(drawn)(learned.task, lengths, learned.frame, count, key=learned.key)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn, keep the chosen network, and be tested on compositions of every length.

    Of one key, all networks have the same tables, and see the same items in their direction.
    """
    keys = keys_of(key)
    task = task_of(config, keys.tables)
    data = data_of(config, task, keys.data)
    sizes = sizes_of(data.seen)
    made = untrained(config.model, sizes, key=keys.weights)
    fitted = fit(config, made, data, keys.batches, recorder, objective=objective_of(config))
    recorder.keep(fitted.model, config.model, sizes)
    learned = Learned(task, fitted.model, specs.frame_of(config.model), keys.later)
    items = items_of(learned, 2 * config.evaluated, (1, config.longer_lengths[1]))
    found = probes.accuracy_by_length(learned.model, items)
    recorder.curve("by_length", learned.functions(found.values), found.accuracy)
