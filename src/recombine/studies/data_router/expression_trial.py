"""What trials on nested expressions share: learn shallow ones, meet deeper ones."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from recombine import learning, probes, tasks
from recombine.lab import Recorder, check_counts

from .networks import RECURRENT, Data, NetworkConfig, fit, plain_network

Model = Literal[
    "LSTM", "Bidirectional LSTM", "Transformer", "+ rel", "+ abs/rel + gate", "NDR"
]  # fmt: skip
MODELS: tuple[Model, ...] = get_args(Model)
"""The rows of Tables 5.3 and 5.4, in their order."""


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the studies of nested expressions."""

    model: Model = "NDR"
    """The network, by its name in Tables 5.3 and 5.4."""
    digits: int = 5
    """How many digits there are, from 0 on; sums and products are modulo this number."""
    longest: int = 25
    """Tokens of an expression; a list counts one more for every operation."""
    depths: tuple[int, int] = (2, 3)
    """The least and the greatest depth in training; simple arithmetic has all single operations
    beside them."""
    valid_depths: tuple[int, int] = (4, 4)
    """The same of the expressions on which a network is chosen."""
    deeper_depths: tuple[int, int] = (4, 5)
    """The same of the expressions on which it is tested."""
    train: int = 20_000
    """Expressions of these depths to learn."""
    buckets: int = 3
    size: int = 64
    hidden: int = 128
    layers: int = 11
    extra_layers: int = 0
    """How many times more the layer of a transformer is applied after training."""
    recurrent_layers: int = 2
    """Of an LSTM."""
    dropout: float = 0.2
    steps: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "train", "recurrent_layers")
        if self.model in RECURRENT and self.extra_layers:
            raise ValueError(f"{self.model} is no transformer: it has no extra layers")


class Learned(NamedTuple):
    """What is left of training."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""
    tests: dict[str, Any]
    """Expressions by name, framed if the network reads them so."""


def data_of(config: Config, task, key) -> Data:
    """Expressions to learn, in sets of like lengths, and to be tested on."""
    import jax

    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    sets = task.sets(train=config.train, iid=config.evaluated, tests=config.evaluated, seed=seed)
    # The network is chosen on deeper expressions.
    del sets["iid_valid"]
    if config.model not in RECURRENT:
        sets = {name: part.framed() for name, part in sets.items()}
    train = sets.pop("train")
    batches = learning.Mixture.of_sets(train.buckets(config.buckets), config.batch)
    return Data(batches, train[: config.evaluated], sets)


def learn(config: Config, task, key, recorder: Recorder) -> Learned:
    """Train a network, report how well it does, and return the chosen one.

    Of one key, all networks have the same expressions.
    """
    import equinox as eqx
    import jax

    weight_key, data_key, batch_key = jax.random.split(key, 3)
    data = data_of(config, task, data_key)
    made = eqx.filter_jit(plain_network)(
        config, len(data.seen.vocabulary) - 1, data.seen.classes, key=weight_key,
        recurrent_layers=config.recurrent_layers, test_layers=config.layers + config.extra_layers,
    )  # fmt: skip
    fitted = fit(config, made, data, batch_key, recorder, test="deeper")
    recorder.metric("majority", probes.majority_share(data.tests["deeper"]))
    report_depths(fitted.model, task, data.tests, recorder)
    return Learned(fitted.model, fitted.curves, data.tests)


def report_depths(model, task, tests: dict[str, Any], recorder: Recorder) -> None:
    """Accuracy of the chosen network on expressions of every depth."""
    items = tasks.joined(tuple(tests.values()))
    found = probes.accuracy_by(probes.is_right(model, items), task.depths_of(items))
    recorder.curve("by_depth", found.values, found.accuracy)
