"""Models that adapt: slow parameters that tasks share, fast ones that every task starts anew."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ._dense import Dense
from ._mlp import MLP

Fast = TypeVar("Fast")
Network = Callable[[Float[Array, "samples inputs"]], Float[Array, "samples outputs"]]


class Fixed(eqx.Module):
    """A part of a model that is not learned."""

    value: PyTree


class Skeleton(NamedTuple):
    """A PyTree without its arrays: hashable, so that compiled programs may know it."""

    structure: Any
    constants: tuple[Any, ...]
    """Its leaves, with None for every array."""

    @classmethod
    def of(cls, tree: PyTree) -> tuple["Skeleton", tuple[Array, ...]]:
        """The skeleton of `tree`, and the arrays taken from it."""
        leaves, structure = jax.tree.flatten(tree)
        constants = tuple(None if eqx.is_array(leaf) else leaf for leaf in leaves)
        return cls(structure, constants), tuple(leaf for leaf in leaves if eqx.is_array(leaf))

    def filled(self, arrays: Sequence[Any]) -> PyTree:
        """The tree with `arrays` in place of its own."""
        left = iter(arrays)
        leaves = [next(left) if leaf is None else leaf for leaf in self.constants]
        return jax.tree.unflatten(self.structure, leaves)


class AbstractMetaModel(eqx.Module, Generic[Fast]):
    """A network with slow parameters θ and fast ones φ (Eq. 1).

    Slow parameters are the floating-point arrays of this module that no `Fixed` holds.
    """

    @abstractmethod
    def initial(self) -> Fast:
        """The fast parameters with which adaptation to a task starts, a PyTree of arrays."""

    @abstractmethod
    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples features"]:
        """What does not depend on fast parameters, and is computed once per task."""

    @abstractmethod
    def network(self, fast: Fast) -> Network:
        """The network from features to outputs for a task whose fast parameters are `fast`."""

    def partition(self) -> tuple["AbstractMetaModel", "AbstractMetaModel"]:
        """This module with slow parameters only, and with all else: `eqx.combine` joins them."""
        return eqx.partition(
            self, eqx.is_inexact_array, is_leaf=lambda part: isinstance(part, Fixed)
        )

    def __call__(
        self, x: Float[Array, "samples inputs"], fast: Fast
    ) -> Float[Array, "samples outputs"]:
        """The outputs for a task whose fast parameters are `fast`."""
        return self.network(fast)(self.features(x))


class MAML(AbstractMetaModel[tuple[Array | None, ...]]):
    """All parameters of a network are fast; what is learned slowly is where they start.

    **Arguments:**

    - `start`: any callable PyTree: an `MLP` or a network of one's own.
    """

    start: tuple[Array, ...]
    """The arrays of the network."""
    skeleton: Skeleton = eqx.field(static=True)

    def __init__(self, start: Network):
        self.skeleton, self.start = Skeleton.of(start)

    def initial(self) -> tuple[Array | None, ...]:
        """The learned initialisation."""
        return eqx.filter(self.start, eqx.is_inexact_array)

    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples inputs"]:
        """The inputs."""
        return x

    def network(self, fast: tuple[Array | None, ...]) -> Network:
        """The adapted network itself."""
        return self.skeleton.filled(eqx.combine(fast, self.start))


class ANIL(AbstractMetaModel[Dense]):
    """Only the linear readout is fast ("almost no inner loop"); the body is shared by all tasks.

    **Arguments:**

    - `network`: an `MLP` with a hidden layer at least and no offset; its last layer is the readout.
    """

    body: MLP
    readout: Dense

    def __init__(self, network: MLP):
        if len(network.layers) < 2:
            raise ValueError("ANIL needs a network with a hidden layer: its body")
        if network.offset is not None:
            raise ValueError("ANIL needs a network without offset; its readout may have a bias")
        if network.output is not None:
            raise ValueError("ANIL needs a network whose outputs are those of its last layer")
        self.body = eqx.tree_at(lambda n: n.layers, network, network.layers[:-1])
        self.readout = network.layers[-1]

    def initial(self) -> Dense:
        """The learned initial readout."""
        return eqx.filter(self.readout, eqx.is_inexact_array)

    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples features"]:
        """What the shared body makes of the inputs."""
        return jax.nn.relu(self.body(x))

    def network(self, fast: Dense) -> Network:
        """The adapted readout."""
        return eqx.combine(fast, self.readout)


def count_parameters(tree: object) -> int:
    """The number of floating-point numbers in a PyTree, of arrays or of their shapes.

    The shapes of a network too large to be made are those that `eqx.filter_eval_shape` returns.
    """
    arrays = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
    return sum(leaf.size for leaf in arrays if jnp.issubdtype(leaf.dtype, jnp.inexact))
