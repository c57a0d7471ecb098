"""What trials on nested expressions share: learn shallow ones, meet deeper ones."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recombine import learning, probes, tasks
from recombine.lab import Count, Recorder
from recombine.models import specs

from .networks import Data, NetworkConfig, fit, sizes_of, untrained

MODELS = ("lstm", "bi-lstm", "transformer", "relative", "position-gate", "ndr")
"""The rows of Tables 5.3 and 5.4, in their order."""


@dataclass(frozen=True)
class Config(NetworkConfig):
    """Settings of the studies of nested expressions."""

    digits: Count = 5
    """How many digits there are, from 0 on; sums and products are modulo this number."""
    longest: Count = 25
    """Tokens of the longest expression; a list counts one more for every operation."""
    depths: tuple[Count, Count] = (2, 3)
    """The least and the greatest depth in training; simple arithmetic has all single operations
    beside them."""
    valid_depths: tuple[Count, Count] = (4, 4)
    """The least and the greatest depth of the expressions on which a network is chosen."""
    deeper_depths: tuple[Count, Count] = (4, 5)
    """The least and the greatest depth of the expressions on which it is tested."""
    train: Count = 20_000
    """Number of training expressions of these depths."""
    buckets: Count = 3
    steps: Count = 10_000


class Learned(NamedTuple):
    """What is left of training."""

    model: Any
    """The chosen network."""
    curves: dict[str, np.ndarray]
    """Measurements during training."""
    tests: dict[str, Any]
    """Expressions by name, in the frame of the network."""


def data_of(config: Config, task, key) -> Data:
    """Expressions to learn, in sets of like lengths, and to be tested on."""
    import jax

    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    sets = task.sets(train=config.train, iid=config.evaluated, tests=config.evaluated, seed=seed)
    # The network is chosen on deeper expressions.
    del sets["iid_valid"]
    frame = specs.frame_of(config.model)
    sets = {name: part.framed(*frame) for name, part in sets.items()}
    train = sets.pop("train")
    batches = learning.Mixture.of_sets(train.buckets(config.buckets), config.batch_size)
    return Data(batches, train[: config.evaluated], sets)


def learn(config: Config, task, key, recorder: Recorder) -> Learned:
    """Train a network, report how well it does, and return the chosen one.

    Of one key, all networks have the same expressions.
    """
    import jax

    weight_key, data_key, batch_key = jax.random.split(key, 3)
    data = data_of(config, task, data_key)
    sizes = sizes_of(data.seen)
    made = untrained(config.model, sizes, key=weight_key)
    fitted = fit(config, made, data, batch_key, recorder, test="deeper")
    recorder.keep(fitted.model, config.model, sizes)
    recorder.metric("majority", probes.majority_share(data.tests["deeper"]))
    report_depths(fitted.model, task, data.tests, recorder)
    return Learned(fitted.model, fitted.curves, data.tests)


def report_depths(model, task, tests: dict[str, Any], recorder: Recorder) -> None:
    """Accuracy of the chosen network on expressions of every depth."""
    items = tasks.joined(tuple(tests.values()))
    found = probes.accuracy_by(probes.is_right(model, items), task.depths_of(items))
    recorder.curve("by_depth", found.values, found.accuracy)
