"""What trials on compositional table lookup share: learn short compositions, meet longer ones."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import learning, probes, tasks
from recombine.lab import Recorder, check_counts
from recombine.models import specs

from .networks import RECURRENT, Data, NetworkConfig, fit, spec_of

Model = Literal[
    "LSTM", "Bidirectional LSTM", "DNC", "Transformer", "+ rel", "+ rel + gate", "+ abs/rel + gate",
    "+ geom.", "NDR",
]  # fmt: skip
Direction = Literal["forward", "backward"]
Halting = Literal["none", "A", "U"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the studies of table lookup."""

    model: Model = "NDR"
    """The network, by its name in Table 5.1."""
    direction: Direction = "backward"
    """forward: the symbol is written first, then functions in the order in which they apply;
    backward: the reverse."""
    halting: Halting = "none"
    """Adaptive computation time of a transformer, after Graves (A) or Dehghani et al. (U)."""
    ponder: float = 0.03
    """The price of computing long, if time is adaptive."""
    symbols: int = 6
    """How many symbols there are."""
    functions: int = 8
    """How many functions can be composed."""
    longest: int = 5
    """Functions of the longest training items."""
    valid_lengths: tuple[int, int] = (6, 6)
    """The fewest and the most functions of the items on which a network is chosen."""
    longer_lengths: tuple[int, int] = (7, 8)
    """The same of the items on which it is tested."""
    published: bool = False
    """Tables and sets of items as published, or tables of the seed and fresh items every step."""
    match_bias: float = -2.0
    embedding: int = 16
    cells: int = 12
    """Of the memory of a DNC."""
    word: int = 32
    """Numbers of a cell."""
    read_heads: int = 4
    """That read them at a time."""
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "cells", "word", "read_heads")
        if self.model in RECURRENT and self.halting != "none":
            raise ValueError(f"{self.model} is no transformer: it has no halting")
        if not 1 <= self.buckets <= self.longest:
            raise ValueError(f"buckets={self.buckets} is not between 1 and longest={self.longest}")


class Learned(NamedTuple):
    """What is left of training."""

    task: Any
    model: Any
    """The chosen network."""
    untrained: Any
    """The network before its first step."""
    framed: bool
    """Whether inputs have a token before and one after them."""
    key: Any
    """For drawing whatever is looked at afterwards."""


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


def drawn(task, lengths: tuple[int, int], framed: bool, size: int, *, key):
    """Fresh items of a task."""
    items = task.sample(size, lengths, key=key)
    return items.framed() if framed else items


def batch_of(task, lengths: tuple[int, int], framed: bool, size: int, t, key):
    """The fresh items of a step."""
    return drawn(task, lengths, framed, size, key=key)


def fresh_sets(config: Config, task, framed: bool, key) -> dict[str, Any]:
    """Items as in training, items to choose on, and longer ones."""
    import jax

    trained = (1, config.longest)
    ranges = {"train": trained, "iid": trained}
    ranges |= {"depth_valid": config.valid_lengths, "longer": config.longer_lengths}
    keys = jax.random.split(key, len(ranges))
    return {
        name: drawn(task, lengths, framed, config.evaluated, key=k)
        for (name, lengths), k in zip(ranges.items(), keys, strict=True)
    }


def data_of(config: Config, task, framed: bool, key) -> Data:
    """The published items, or fresh ones every step, each length as often as the others."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    if config.published:
        sets = {name: part.framed() if framed else part for name, part in task.sets().items()}
        del sets["reserved"]
        train = sets.pop("train")
        # They are in the order of their lengths.
        seen = train[:: -(-len(train) // config.evaluated)]
        batches = learning.Mixture.of_sets(train.buckets(config.buckets), config.batch)
        return Data(batches, seen, sets)
    tests = eqx.filter_jit(fresh_sets)(config, task, framed, key)
    parts = np.array_split(np.arange(1, config.longest + 1), config.buckets)
    ranges = [(int(part[0]), int(part[-1])) for part in parts]
    sources = tuple(
        jax.tree_util.Partial(batch_of, task, lengths, framed, config.batch) for lengths in ranges
    )
    batches = learning.Mixture(sources, jnp.array([float(len(part)) for part in parts]))
    return Data(batches, tests.pop("train"), tests)


def network(config: Config, words: int, classes: int, *, key) -> Any:
    """The network of a row of Table 5.1, without what has been learned."""
    spec = spec_of(config)
    if config.halting != "none":
        spec = replace(spec, halting=specs.HaltingSpec(decaying=config.halting == "U"))
    return spec.build(specs.SequenceSizes(words, classes), key)


def learn(config: Config, key, recorder: Recorder) -> Learned:
    """Train a network, report how well it does during training, and return the chosen one.

    Of one key, all networks have the same tables, and see the same items in their direction.
    """
    import equinox as eqx
    import jax

    weight_key, table_key, data_key, batch_key, later_key = jax.random.split(key, 5)
    task = task_of(config, table_key)
    framed = config.model not in RECURRENT
    data = data_of(config, task, framed, data_key)
    words, classes = len(data.seen.vocabulary) - 1, data.seen.classes
    made = eqx.filter_jit(network)(config, words, classes, key=weight_key)
    objective = None if config.halting == "none" else learning.PonderLoss(config.ponder)
    fitted = fit(config, made, data, batch_key, recorder, objective=objective)
    return Learned(task, fitted.model, made, framed, later_key)


def items_of(learned: Learned, count: int, lengths: tuple[int, int]) -> Any:
    """Fresh items to look at after training."""
    import equinox as eqx

    return eqx.filter_jit(drawn)(learned.task, lengths, learned.framed, count, key=learned.key)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Learn, and be tested on compositions of every length."""
    learned = learn(config, key, recorder)
    items = items_of(learned, 2 * config.evaluated, (1, config.longer_lengths[1]))
    found = probes.accuracy_by_length(learned.model, items)
    frame = 3 if learned.framed else 1
    recorder.curve("by_length", found.values - frame, found.accuracy)
