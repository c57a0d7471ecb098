"""Networks whose modules are known by construction, to test what finds modules."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from recombine import learning, models
from recombine.tasks._hyperteacher import TargetNetwork

_LEAST = 0.5
"""The smallest magnitude of a planted weight relative to the largest: none is superfluous."""


class PlantedBatch(NamedTuple):
    """Inputs with what the network itself answers to them."""

    x: Float[Array, "samples inputs"]
    module: Int[Array, " samples"]
    """The module that each sample needs."""
    y: Float[Array, "samples outputs"]
    counts: Bool[Array, "samples outputs"]
    """The outputs that belong to that module."""


class Planted(eqx.Module):
    """A network with its modules.

    A network is a function of inputs and of the number of the module that is asked for.
    """

    network: Any
    truth: tuple[Any, ...]
    """The weights of each module, as `WeightMask`."""
    x_mask: Bool[Array, "modules inputs"]
    """The inputs that are shown to each module; all others are 0."""
    y_mask: Bool[Array, "modules outputs"]
    """The outputs of each module."""

    def batch(self, module: Int[Array, " samples"], *, key: PRNGKeyArray) -> PlantedBatch:
        """Normal inputs to these modules, and what the whole network makes of them."""
        x = jax.random.normal(key, (len(module), self.x_mask.shape[1])) * self.x_mask[module]
        y = jax.lax.stop_gradient(self.network(x, module))
        return PlantedBatch(x, module, y, self.y_mask[module])


class PlantedSampler(eqx.Module):
    """Batches of one module, or of all of them in turn."""

    planted: Planted
    module: int | None
    batch_size: int

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> PlantedBatch:
        numbers = jnp.arange(self.batch_size) % len(self.planted.truth)
        module = numbers if self.module is None else jnp.full_like(numbers, self.module)
        return self.planted.batch(module, key=key)


def unexplained(network: Any, batch: PlantedBatch, key: Any = None) -> Float[Array, ""]:
    """The share of the variance of the outputs that a network does not explain."""
    error = jnp.where(batch.counts, network(batch.x, batch.module) - batch.y, 0)
    return jnp.square(error).sum() / jnp.square(jnp.where(batch.counts, batch.y, 0)).sum()


def drawn(shape: tuple[int, ...], fan_in: int, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Weights of random sign whose magnitudes are uniform, and none of them small."""
    of_size, of_sign = jax.random.split(key)
    size = jax.random.uniform(of_size, shape, minval=_LEAST, maxval=1.0)
    return size * jax.random.rademacher(of_sign, shape, float) * fan_in**-0.5


class Blocks(eqx.Module):
    """A network of tanh whose hidden layers hold several smaller networks."""

    layers: tuple[Float[Array, "rows columns"], ...]

    def __call__(self, x: Array, module: Array) -> Array:
        for weight in self.layers[:-1]:
            x = jnp.tanh(x @ weight)
        return x @ self.layers[-1]


def _placed(parts: int, width: int, *, key: PRNGKeyArray) -> Int[Array, " units"]:
    """The part of every unit of a layer, in random order."""
    return jax.random.permutation(key, jnp.repeat(jnp.arange(parts), width))


def _mask_of(network: Any, kept: Any) -> learning.WeightMask:
    return learning.WeightMask(jax.tree.map(lambda _, k: k, network, kept))


def side_by_side(
    modules: int, size: int, width: int, noise: float, *, key: PRNGKeyArray
) -> Planted:
    """Networks side by side in one, with their inputs, units and outputs in random order.

    Between them there are small weights, so that no zeros tell where one network ends.
    """
    keys = jax.random.split(key, 8)
    widths = (size, width, width, size)
    groups = [_placed(modules, w, key=k) for w, k in zip(widths, keys[:4], strict=True)]
    weights, inside = [], []
    for before, after, fan_in, of_layer in zip(
        groups[:-1], groups[1:], widths[:-1], keys[4:7], strict=True
    ):
        own = before[:, None] == after[None, :]
        weight = drawn(own.shape, fan_in, key=of_layer)
        weights.append(jnp.where(own, weight, noise * weight))
        inside.append([own & (before[:, None] == m) for m in range(modules)])
    truth = tuple(
        learning.WeightMask(Blocks(tuple(layer[m] for layer in inside))) for m in range(modules)
    )
    everything = jnp.ones((modules, modules * size), bool)
    ends = jnp.arange(modules)[:, None] == groups[-1][None, :]
    return Planted(Blocks(tuple(weights)), truth, everything, ends)


def copied(modules: int, size: int, width: int, noise: float, *, key: PRNGKeyArray) -> Planted:
    """A network whose inputs and outputs reach one hidden part by copied weights (Appendix B.2.2).

    Each module has inputs and outputs of its own, and all share the same hidden weights. Beside
    them are as many hidden parts as modules that read all inputs and reach no output but by small
    weights.
    """
    keys = jax.random.split(key, 8)
    parts = modules + 1
    inputs = jnp.repeat(jnp.arange(modules), size)
    hidden = [_placed(parts, width, key=k) for k in keys[:2]]
    first, middle, last = (
        drawn(shape, fan_in, key=k)
        for shape, fan_in, k in (
            ((modules * size, parts * width), size, keys[2]),
            ((parts * width, parts * width), width, keys[3]),
            ((parts * width, modules * size), width, keys[4]),
        )
    )
    shared = [group == 0 for group in hidden]
    # Copies: what every module does to the shared part is what the first one does.
    copy_in = jnp.tile(first[:size], (modules, 1))
    copy_out = jnp.tile(last[:, :size], (1, modules))
    weights = (
        jnp.where(shared[0][None, :], copy_in, first),
        jnp.where(
            hidden[0][:, None] == hidden[1][None, :],
            middle,
            noise * middle,
        ),
        jnp.where(shared[1][:, None], copy_out, noise * last),
    )
    truth = tuple(
        learning.WeightMask(
            Blocks(
                (
                    (inputs == m)[:, None] & shared[0][None, :],
                    shared[0][:, None] & shared[1][None, :],
                    shared[1][:, None] & (inputs == m)[None, :],
                )
            )
        )
        for m in range(modules)
    )
    own = jnp.arange(modules)[:, None] == inputs[None, :]
    return Planted(Blocks(weights), truth, own, own)


class Pathways(eqx.Module):
    """A gated linear network whose gates leave one pathway open."""

    inner: models.GatedLinearNetwork

    def __call__(self, x: Array, module: Array) -> Array:
        paths = len(self.inner.weights) // 2
        gates = {f"h{p}": module == p for p in range(paths)}
        return self.inner(models.GatedExamples({"x": x}, {}, gates))["y"]


def gated_linear(
    modules: int, size: int, width: int, noise: float, *, key: PRNGKeyArray
) -> Planted:
    """A gated linear network with a pathway per module; noise has no place in it."""
    graph = models.pathway_graph(modules, inputs=size, width=width, outputs=size)
    keys = jax.random.split(key, len(graph.edges))
    weights = {
        edge: drawn(graph.shape(edge), graph.shape(edge)[1], key=k)
        for edge, k in zip(graph.edges, keys, strict=True)
    }
    network = Pathways(models.GatedLinearNetwork(graph, weights))

    def module(m: int) -> learning.WeightMask:
        own = {
            edge: jnp.full(w.shape, edge in (f"in{m}", f"out{m}")) for edge, w in weights.items()
        }
        return learning.WeightMask(Pathways(eqx.tree_at(_weights_of, network.inner, own)))

    everything = jnp.ones((modules, size), bool)
    return Planted(network, tuple(module(m) for m in range(modules)), everything, everything)


def _weights_of(network: models.GatedLinearNetwork) -> Mapping[str, Array]:
    return network.weights


class OneModuleTasks(eqx.Module):
    """A hyperteacher's network, with tasks that need one module each."""

    inner: TargetNetwork

    def __call__(self, x: Array, module: Array) -> Array:
        layers, modules = self.inner.bank.shape[:2]
        code = jnp.repeat(jax.nn.one_hot(module, modules)[:, None], layers, axis=1)
        return self.inner(code, x[:, None])[:, 0]


def hyperteacher(
    modules: int, size: int, width: int, noise: float, *, key: PRNGKeyArray
) -> Planted:
    """A hyperteacher with one generated layer; every task shares the readout."""
    inner = TargetNetwork.random(
        1, modules, inputs=size, hidden=width, outputs=size, shared_first_layer=False, key=key
    )
    of_bank, of_readout = jax.random.split(key)
    inner = eqx.tree_at(
        lambda t: (t.bank, t.readout),
        inner,
        (
            size**0.5 * drawn(inner.bank.shape, size, key=of_bank),
            width**0.5 * drawn(inner.readout.shape, width, key=of_readout),
        ),
    )

    def module(m: int) -> learning.WeightMask:
        bank = jnp.zeros(inner.bank.shape, bool).at[:, m].set(True)
        kept = (bank, jnp.ones(inner.readout.shape, bool))
        return learning.WeightMask(
            OneModuleTasks(eqx.tree_at(lambda t: (t.bank, t.readout), inner, kept))
        )

    everything = jnp.ones((modules, size), bool)
    return Planted(
        OneModuleTasks(inner), tuple(module(m) for m in range(modules)), everything, everything
    )


KINDS = {
    "side-by-side": side_by_side,
    "copied-weights": copied,
    "gated-linear": gated_linear,
    "hyperteacher": hyperteacher,
}
"""Ways to plant modules: `(modules, size, width, noise, key=)` to a `Planted`."""
