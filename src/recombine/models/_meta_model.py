"""Models that adapt to a task: slow parameters that tasks share, fast ones that each starts anew."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ._mlp import MLP, Dense

Fast = TypeVar("Fast")
Network = Callable[[Float[Array, "samples inputs"]], Float[Array, "samples outputs"]]


class AbstractMetaModel(eqx.Module, Generic[Fast]):
    """A network with slow parameters θ, the arrays of this module, and fast ones φ (Eq. 1)."""

    @abstractmethod
    def initial(self) -> Fast:
        """The fast parameters with which adaptation to a task starts, a PyTree of arrays."""

    @abstractmethod
    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples features"]:
        """What of the network does not depend on fast parameters: once a task, not once a step."""

    @abstractmethod
    def network(self, fast: Fast) -> Network:
        """The network from features to outputs for a task whose fast parameters are `fast`."""

    def __call__(
        self, x: Float[Array, "samples inputs"], fast: Fast
    ) -> Float[Array, "samples outputs"]:
        """The outputs for a task whose fast parameters are `fast`."""
        return self.network(fast)(self.features(x))


class MAML(AbstractMetaModel[Network]):
    """All parameters of `start` are fast; what is learned slowly is where they start.

    `start` is any callable PyTree: an `MLP` or a network of one's own.
    """

    start: Network

    def initial(self) -> Network:
        """The learned initialisation."""
        return eqx.filter(self.start, eqx.is_inexact_array)

    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples inputs"]:
        """The inputs."""
        return x

    def network(self, fast: Network) -> Network:
        """The adapted network itself."""
        return eqx.combine(fast, self.start)


class ANIL(AbstractMetaModel[Dense]):
    """Only the linear readout is fast ("almost no inner loop"); the body is shared by all tasks.

    **Arguments:**

    - `network`: an `MLP` with a hidden layer at least; its last layer is the readout.
    """

    body: MLP
    readout: Dense

    def __init__(self, network: MLP):
        if len(network.layers) < 2:
            raise ValueError("ANIL needs a network with a hidden layer: its body")
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
    """The number of floating-point numbers in a PyTree."""
    return sum(leaf.size for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf))
