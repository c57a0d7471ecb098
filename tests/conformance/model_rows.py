"""One row per network without a spec, in a small size. Networks with one are in `spec_rows`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from rows import Table

from recombine import models, tasks
from recombine.models import specs

KEY = jax.random.key(0)
ITEMS = 4
"""The number of items of the default hierarchy."""
SENTENCES = tasks.SequenceBatch(
    jnp.array([[1, 2, 0], [3, 0, 0]]), jnp.array([3, 2]), jnp.array([[2, 1, 0], [1, 0, 0]]),
    jnp.array([3, 2]),
)  # fmt: skip


class Row(NamedTuple):
    """A network, and a scalar function of it that every weight should change."""

    network: Any
    read: Callable[[Any], jax.Array]
    unread: Mapping[str, str] = MappingProxyType({})
    """For weights that need not change it, by their paths in the network: the reason."""


def squared(outputs):
    return jnp.sum(outputs**2)


def numbers(*shape):
    """Always the same normal numbers."""
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def classified(network):
    """A network with running statistics, read with those that it starts from."""
    return Row(network, lambda m: squared(m(numbers(4, 12), m.initial())[0]))


def token_transducer():
    """A table of embeddings in front of layers of LSTMs; every token is read."""
    sizes = specs.TransducerSizes(inputs=2, outputs=4)
    inner = specs.LSTMTransducerSpec(units=3).build(sizes, KEY)
    network = models.TokenTransducer(models.Embedding(numbers(4, 2)), inner)
    tokens, lengths = jnp.array([[0, 1, 2], [2, 1, 0]]), jnp.array([3, 2])
    return Row(network, lambda m: squared(m(tokens, lengths)))


def routed(network):
    """A network with a module per domain."""
    return Row(network, lambda m: squared(m.outputs(numbers(ITEMS, ITEMS))))


def route_classifier(network):
    return Row(network, lambda m: squared(m(numbers(5, 3, 16))))


def direction_kernel(kernel, *shape):
    """A kernel without weights of its own: what is learned is the direction."""
    # The distance of a direction from an input that is the same has no slope.
    direction = kernel.start(-numbers(*shape))
    return Row((kernel, direction), lambda m: squared(m[0](m[1], numbers(4, 3))))


def gated_linear():
    network = models.GatedLinearNetwork.random(models.pathway_graph(4), 0.5, key=KEY)
    return Row(network, lambda m: m.loss(tasks.XorTask().gated_examples()))


def two_layer():
    points = tasks.XorTask().examples()
    return Row(models.TwoLayerNetwork.random(0.5, hidden=8, key=KEY), lambda m: m.loss(*points))


def coded_lookup():
    tables = jnp.array([[1, 0], [0, 1]])
    network = models.CodedLookup.per_group(tables, (0, 1), jnp.eye(2, dtype=bool), key=KEY)
    # All symbols alone, after each function, and after both: every vector is read.
    tokens = jnp.array(
        [[1, 0, 0], [2, 0, 0], [3, 1, 0], [3, 2, 0], [4, 1, 0], [4, 2, 0], [4, 3, 1], [3, 4, 2]]
    )
    return Row(network, lambda m: squared(m(tokens, (tokens > 0).sum(axis=1))))


def towers():
    one, two = (models.MLP((2, 3, 1), key=key) for key in jax.random.split(KEY))
    network = models.Towers((one, two), output=jnp.tanh)
    return Row(network, lambda m: squared(m(numbers(3, 4))))


ROWS = Table(
    {
        "BatchNormMLP": lambda: classified(models.BatchNormMLP(2, 6, hidden=(8, 5), key=KEY)),
        "CodedLookup": coded_lookup,
        "DistanceKernel": lambda: direction_kernel(models.DistanceKernel(), 3),
        "GatedClassifier": lambda: route_classifier(models.GatedClassifier(3, 16, 8, 10, key=KEY)),
        "GatedLinearNetwork": gated_linear,
        "ImageCNN": lambda: Row(
            models.ImageCNN((8, 8, 1), 4, channels=(3, 4, 5), key=KEY),
            lambda m: squared(m(numbers(6, 64))),
        ),
        "ModularImageNetwork": lambda: classified(
            models.ModularImageNetwork(2, 6, modules=3, width=4, trunk=(5, 4), key=KEY)
        ),
        "ModularNetwork": lambda: Row(
            models.ModularNetwork.random(modules=3, inputs=4, hidden=5, outputs=2, key=KEY),
            lambda m: squared(m(jnp.ones((2, 3)), jnp.eye(4))),
        ),
        "ModularRegressor": lambda: Row(
            models.ModularRegressor.random(3, 4, width=5, layers=2, key=KEY),
            lambda m: squared(m(jnp.eye(4))),
        ),
        "PairedImageCNN": lambda: Row(
            models.PairedImageCNN((8, 8, 1), filters=(3, 4), hidden=(8,), key=KEY),
            lambda m: squared(m(numbers(10, 8, 8, 1))),
        ),
        "ProjectionKernel": lambda: direction_kernel(models.ProjectionKernel(sigma=1.0), 3, 2),
        "ResNet": lambda: Row(
            models.ResNet((8, 8, 1), 4, blocks=2, channels=(3, 4), key=KEY),
            lambda m: squared(m(numbers(6, 64), m.initial())[0]),
        ),
        "RoutingNetwork": lambda: routed(
            models.RoutingNetwork.orthogonal(0.5, num_domains=3, width=8, key=KEY)
        ),
        "TokenTransducer": token_transducer,
        "Seq2Seq": lambda: Row(
            models.Seq2Seq(4, 3, embedding=2, units=4, output_embedding=2, key=KEY),
            lambda m: squared(m(*SENTENCES)),
        ),
        "SharedPathways": lambda: routed(
            models.SharedPathways.orthogonal(
                0.5, block_sizes=(1, 3), num_domains=3, width=8, key=KEY
            )
        ),
        "SplitKernel": lambda: direction_kernel(models.SplitKernel(), 3),
        "Towers": towers,
        "TwoLayerNetwork": two_layer,
        "UnsharedClassifier": lambda: route_classifier(
            models.UnsharedClassifier(3, 16, 8, 10, layers_per_module=2, key=KEY)
        ),
    }
)

NO_NETWORKS = {
    "GatedExamples": "what a GatedLinearNetwork learns from",
}
"""Public classes of `models` that are no network and no part of one."""
