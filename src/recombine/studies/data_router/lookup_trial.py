"""What trials on compositional table lookup share: learn short compositions, meet longer ones."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from recombine import learning, models, probes, tasks
from recombine.lab import Run

Model = Literal[
    "LSTM", "Bidirectional LSTM", "DNC", "Transformer", "+ rel", "+ rel + gate", "+ abs/rel + gate",
    "+ geom.", "NDR",
]  # fmt: skip
Direction = Literal["forward", "backward"]
Readout = Literal["first", "last"]
Halting = Literal["none", "A", "U"]
RECURRENT = ("LSTM", "Bidirectional LSTM", "DNC")
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


@dataclass(frozen=True)
class Config:
    """Settings of the studies of table lookup."""

    model: Model = "NDR"
    """The network, by its name in Table 5.1."""
    direction: Direction = "backward"
    """forward: the symbol is written first, then functions in the order in which they apply;
    backward: the reverse."""
    readout: Readout = "last"
    """The column of a transformer from which the symbol is read."""
    halting: Halting = "none"
    """Adaptive computation time of a transformer, after Graves (A) or Dehghani et al. (U)."""
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
    buckets: int = 5
    """Sets of like lengths; a batch is of one of them."""
    size: int = 128
    """Of a column, d_model."""
    hidden: int = 256
    """Units of a feed-forward network, d_FF."""
    heads: int = 8
    """Of attention."""
    match_bias: float = -2.0
    """Where the bias of matches starts in geometric attention."""
    layers: int = 10
    """How many times the layer of a transformer is applied."""
    units: int = 64
    """Units of an LSTM in each direction, and of the one that controls a DNC."""
    embedding: int = 16
    """Numbers that stand for a token in front of them."""
    cells: int = 12
    """Of the memory of a DNC."""
    word: int = 32
    """Numbers of a cell."""
    read_heads: int = 4
    """That read them at a time."""
    dropout: float = 0.1
    """Of columns, hidden units, and what an LSTM reads."""
    attention_dropout: float = 0.1
    """Of keys; without relative positions, of the weights of attention."""
    gate_dropout: float = 0.1
    """How often a column is copied in training whatever its gates say."""
    ponder: float = 0.03
    """The price of computing long, if time is adaptive."""
    learning_rate: float = 3e-3
    """Of AdamW."""
    matrix_rate: float | None = 7e-3
    """Of Muon, which changes matrices of weights in place of AdamW; none: AdamW changes all."""
    b2: float = 0.95
    """Of AdamW: how slowly the mean of squared gradients changes."""
    warm_up: int = 300
    """Updates over which the learning rate rises."""
    falls: bool = True
    """Whether it then falls to 0 until the last update, or stays."""
    weight_decay: float = 0.01
    """Of AdamW."""
    clip: float = 1.0
    """Norm to which longer gradients are cut."""
    batch: int = 64
    """Items a step."""
    steps: int = 5000
    """Updates."""
    every: int = 500
    """Updates between two measurements."""
    evaluated: int = 1000
    """Fresh items on which accuracy is measured."""

    def __post_init__(self) -> None:
        if self.steps % self.every:
            raise ValueError(f"steps={self.steps} is not a multiple of every={self.every}")
        if self.falls and self.steps <= self.warm_up:
            raise ValueError(f"steps={self.steps} end before warm_up={self.warm_up} is over")
        if self.model in RECURRENT and (self.halting != "none" or self.readout != "last"):
            raise ValueError(f"{self.model} is no transformer: it has no readout and no halting")
        if not 1 <= self.buckets <= self.longest:
            raise ValueError(f"buckets={self.buckets} is not between 1 and longest={self.longest}")


class Fitted(NamedTuple):
    """What training gives."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""


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


def data_of(config: Config, task, framed: bool, key) -> tuple[tuple, Any, dict[str, Any], Any]:
    """Sources of batches, training items to measure, tests by name, and shares of the sources."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    if config.published:
        sets = {name: part.framed() if framed else part for name, part in task.sets().items()}
        del sets["reserved"]
        train = sets.pop("train")
        return train.buckets(config.buckets), train[:1000], sets, None
    tests = eqx.filter_jit(fresh_sets)(config, task, framed, key)
    parts = np.array_split(np.arange(1, config.longest + 1), config.buckets)
    sources = tuple(
        jax.tree_util.Partial(drawn, task, (int(part[0]), int(part[-1])), framed) for part in parts
    )
    return sources, tests.pop("train"), tests, jnp.array([float(len(part)) for part in parts])


def plain_network(
    config: Any,
    words: int,
    classes: int,
    *,
    recurrent_layers: int = 1,
    test_layers: int | None = None,
    match_bias: float = 0.0,
    key,
) -> Any:
    """The network that settings name, without halting.

    **Arguments:**

    - `config`: has the fields of `Config` that say what a network is like.
    - `recurrent_layers`: of an LSTM.
    - `test_layers`: how many times the layer of a transformer is applied after training, if this
        is different.
    - `match_bias`: of geometric attention.
    """
    if config.model == "DNC":
        return models.MemoryClassifier(
            words, classes, embedding=config.embedding, units=config.units, cells=config.cells,
            word=config.word, heads=config.read_heads, dropout=config.dropout, key=key,
        )  # fmt: skip
    if config.model in RECURRENT:
        ways = 1 + (config.model == "Bidirectional LSTM")
        return models.RecurrentClassifier(
            words, classes, embedding=config.embedding, units=ways * config.units,
            layers=recurrent_layers, bidirectional=ways == 2, dropout=config.dropout, key=key,
        )  # fmt: skip
    parts = models.EncoderConfig(
        size=config.size, hidden=config.hidden, heads=config.heads, steps=config.layers,
        test_steps=test_layers, dropout=config.dropout, attention_dropout=config.attention_dropout,
        gate_dropout=config.gate_dropout, match_bias=match_bias,
        reads_last=config.readout == "last",
    )  # fmt: skip
    return models.SEQUENCE_CLASSIFIERS[config.model](words, classes, parts, key=key)


def network(config: Config, words: int, classes: int, *, key) -> Any:
    """The network of a row of Table 5.1, without what has been learned."""
    import jax

    if config.model in RECURRENT:
        return plain_network(config, words, classes, key=key)
    of_parts, of_halting = jax.random.split(key)
    encoder = plain_network(config, words, classes, match_bias=config.match_bias, key=of_parts)
    if config.halting == "none":
        return encoder
    return encoder.with_adaptive_time(decaying=config.halting == "U", key=of_halting)


def fit(config: Any, made, data, key, run: Run, *, test: str = "longer", objective=None) -> Fitted:
    """Train a network, and report how well it does during training.

    **Arguments:**

    - `config`: has the fields of `Config` that say how a network learns.
    - `made`: the network.
    - `data`: what `data_of` returns; of the tests, `depth_valid` chooses the network.
    - `key`: of batches and dropout.
    - `test`: the test whose accuracy is reported, at the chosen network and at the end.
    - `objective`: by default cross-entropy.
    """
    import equinox as eqx
    import jax

    sources, seen, tests, shares = data
    learns, stays = eqx.partition(made, eqx.is_inexact_array)
    rule = learning.SequenceClassification(
        sources, stays, seen, tests, key, config.learning_rate, config.weight_decay,
        config.clip, config.warm_up, config.batch, config.every, "depth_valid", shares,
        learning.label_loss if objective is None else objective,
        falls_until=config.steps if config.falls else 0, b2=config.b2,
        matrix_rate=config.matrix_rate,
    )  # fmt: skip
    state, curves = run.train(
        rule, eqx.filter_jit(rule.init)(learns), config.steps, every=config.every
    )

    place = learning.last_best(curves["step"], curves["depth_valid_accuracy"])
    accuracies = {name: curves[f"{name}_accuracy"] for name in ("iid", "depth_valid", test)}
    for name, values in ({"train": curves["accuracy"]} | accuracies).items():
        run.curve(name, curves["step"], values)
    run.curve("loss", curves["step"], curves["loss"])
    run.metric("iid", accuracies["iid"][-1])
    run.metric(test, accuracies[test][place])
    run.metric(f"{test}_at_end", accuracies[test][-1])
    run.metric("chosen_at", curves["step"][place])
    chance = probes.majority_share(tests["iid"])
    run.metric("left_chance", learning.left_chance(accuracies["iid"], chance, len(tests["iid"])))
    run.metric("parameters", sum(x.size for x in jax.tree.leaves(learns)))
    return Fitted(rule.best(state), curves)


def learn(config: Config, key, run: Run) -> Learned:
    """Train a network, report how well it does during training, and return the chosen one.

    Of one key, all networks have the same tables, and see the same items in their direction.
    """
    import equinox as eqx
    import jax

    weight_key, table_key, data_key, batch_key, later_key = jax.random.split(key, 5)
    task = task_of(config, table_key)
    framed = config.model not in RECURRENT
    data = data_of(config, task, framed, data_key)
    _, seen, *_ = data
    made = eqx.filter_jit(network)(config, len(seen.vocabulary) - 1, seen.classes, key=weight_key)
    objective = None if config.halting == "none" else learning.PonderLoss(config.ponder)
    fitted = fit(config, made, data, batch_key, run, objective=objective)
    return Learned(task, fitted.model, made, framed, later_key)


def items_of(learned: Learned, count: int, lengths: tuple[int, int]) -> Any:
    """Fresh items to look at after training."""
    import equinox as eqx

    return eqx.filter_jit(drawn)(learned.task, lengths, learned.framed, count, key=learned.key)


def trial(config: Config, key, run: Run) -> None:
    """Learn, and be tested on compositions of every length."""
    learned = learn(config, key, run)
    items = items_of(learned, 2 * config.evaluated, (1, config.longer_lengths[1]))
    found = probes.accuracy_by_length(learned.model, items)
    frame = 3 if learned.framed else 1
    run.curve("by_length", found.values - frame, found.accuracy)
