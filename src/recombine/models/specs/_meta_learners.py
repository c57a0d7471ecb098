"""Specs of meta-learners: networks of vectors with slow and fast parameters.

Sizes are those of the hyperteacher with eight modules in Table A10.
"""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, check_ranges
from ..._spec import AbstractSpec

if TYPE_CHECKING:
    from .._hypernetwork import Hypernetwork
    from .._meta_model import ANIL, MAML, AbstractMetaModel
    from .._mlp import MLP


class VectorSizes(NamedTuple):
    """What a problem asks of a network from vectors to vectors."""

    inputs: int
    """Size of an input."""
    outputs: int
    """Size of an output."""


@dataclass(frozen=True, kw_only=True)
class AbstractMetaSpec(AbstractSpec):
    """A network that adapts to a task from a few examples."""

    @abc.abstractmethod
    def build(self, sizes: VectorSizes, key: Any) -> "AbstractMetaModel":
        """The untrained network."""


@dataclass(frozen=True, kw_only=True)
class AbstractHypernetworkSpec(AbstractMetaSpec):
    """An MLP whose weights are generated from embeddings, which adapt to a task."""

    layers: Count = 3
    """Hidden layers of the generated network."""
    width: Count = 128
    """Units of a hidden layer."""
    embedding: Count = 32
    """Size of an embedding, M̂."""
    generate_biases: bool = True
    """Whether biases are generated too, as in the published code; else they are fast parameters."""
    differentiate_norm: bool = False
    """Whether gradients flow through the normalisation of embeddings."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class LinearHypernetworkSpec(AbstractHypernetworkSpec):
    """Weights are linear in the embedding, a mixture of modules (Eq. 3)."""

    name: ClassVar[str] = "linear-hypernetwork"

    def build(self, sizes: VectorSizes, key: Any) -> "Hypernetwork":
        """The untrained hypernetwork, whose output has a fast offset."""
        from .._hypernetwork import LinearGenerator

        return _hypernetwork(self, sizes, LinearGenerator.create, offset=True, key=key)


@dataclass(frozen=True, kw_only=True)
class NonlinearHypernetworkSpec(AbstractHypernetworkSpec):
    """Weights are made from the embedding by an MLP."""

    name: ClassVar[str] = "nonlinear-hypernetwork"

    def build(self, sizes: VectorSizes, key: Any) -> "Hypernetwork":
        """The untrained hypernetwork."""
        from .._hypernetwork import NonlinearGenerator

        return _hypernetwork(self, sizes, NonlinearGenerator.create, offset=False, key=key)


@dataclass(frozen=True, kw_only=True)
class ANILSpec(AbstractMetaSpec):
    """An MLP of which the readout adapts to a task."""

    name: ClassVar[str] = "anil"

    layers: Count = 3
    """Hidden layers."""
    width: Count = 512
    """Units of a hidden layer."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: VectorSizes, key: Any) -> "ANIL":
        """The untrained network."""
        from .._meta_model import ANIL

        return ANIL(_mlp(self, sizes, key=key))


@dataclass(frozen=True, kw_only=True)
class MAMLSpec(AbstractMetaSpec):
    """An MLP all of whose parameters adapt to a task."""

    name: ClassVar[str] = "maml"

    layers: Count = 3
    """Hidden layers."""
    width: Count = 368
    """Units of a hidden layer."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: VectorSizes, key: Any) -> "MAML":
        """The untrained network."""
        from .._meta_model import MAML

        return MAML(_mlp(self, sizes, key=key))


def _layer_sizes(spec: Any, sizes: VectorSizes) -> tuple[int, ...]:
    return (sizes.inputs, *[spec.width] * spec.layers, sizes.outputs)


def _mlp(spec: ANILSpec | MAMLSpec, sizes: VectorSizes, *, key: Any) -> "MLP":
    from .._mlp import MLP

    return MLP(_layer_sizes(spec, sizes), key=key)


def _hypernetwork(
    spec: AbstractHypernetworkSpec, sizes: VectorSizes, generator: Any, *, offset: bool, key: Any
) -> "Hypernetwork":
    from .._hypernetwork import mlp_hypernetwork

    return mlp_hypernetwork(
        _layer_sizes(spec, sizes),
        spec.embedding,
        generator,
        generate_biases=spec.generate_biases,
        differentiate_norm=spec.differentiate_norm,
        offset=offset,
        key=key,
    )
