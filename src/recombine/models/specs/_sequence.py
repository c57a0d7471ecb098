"""What every spec of a sequence classifier has."""

import abc
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._spec import AbstractSpec, spec_name

if TYPE_CHECKING:
    from .._sequence_classifier import AbstractSequenceClassifier


class SequenceSizes(NamedTuple):
    """What a problem asks of a sequence classifier."""

    vocabulary: int
    """The number of tokens, without padding."""
    classes: int


class Frame(NamedTuple):
    """Which tokens are put around an input: `items.framed(*frame)`."""

    begin: bool
    end: bool


@dataclass(frozen=True, kw_only=True)
class AbstractSequenceSpec(AbstractSpec):
    """A network that classifies sequences."""

    @property
    def frame(self) -> Frame:
        """The tokens that the network expects around an input: by default both."""
        return Frame(begin=True, end=True)

    @abc.abstractmethod
    def build(self, sizes: SequenceSizes, key: Any) -> "AbstractSequenceClassifier":
        """The untrained network."""


def frame_of(spec: Any) -> Frame:
    """The frame of a spec; both tokens if it does not say."""
    return Frame(*getattr(spec, "frame", (True, True)))


def sequence_specs() -> dict[str, type[AbstractSequenceSpec]]:
    """All specs of sequence classifiers in this folder, by name."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return {spec_name(kind): kind for kind in _final(AbstractSequenceSpec)}


def _final(kind: Any) -> Iterator[type[AbstractSequenceSpec]]:
    """The specs that are no longer abstract."""
    if not kind.__name__.startswith("Abstract"):
        yield kind
    for subclass in kind.__subclasses__():
        yield from _final(subclass)
