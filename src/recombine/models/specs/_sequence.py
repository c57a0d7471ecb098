"""What every spec of a sequence classifier has."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._spec import AbstractSpec, is_registered, known_specs

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
    """All specs of sequence classifiers in this package, by name."""
    kind: Any = AbstractSequenceSpec  # it stands for all that derive from it
    known: dict[str, Any] = dict(known_specs(kind))
    return {name: spec for name, spec in known.items() if is_registered(spec, kind)}
