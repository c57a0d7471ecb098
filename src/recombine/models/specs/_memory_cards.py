"""What networks remember with: one card per kind of network, after Figure 1.1 of the thesis."""

from typing import Any, Literal, NamedTuple

from ..._spec import known_specs


class MemoryCard(NamedTuple):
    """What a network remembers with."""

    cells: str
    """How many separate cells there are."""
    extensible: bool
    """Whether there can be more of them after training, without new weights."""
    read: str
    """How many cells can be read for a decision, per step."""
    written: str
    """How many cells can be changed, per step."""
    recurrence: Literal["none", "over time", "over shared layers", "through emitted symbols"]
    steps: Literal["length of the input", "free"]
    """What decides how many steps there are."""


VECTOR = MemoryCard("1", False, "all", "all", "over time", "length of the input")
"""The state of a recurrent network."""
CELLS = MemoryCard("N", True, "few", "few", "over time", "length of the input")
"""A memory that a recurrent network reads and writes."""
COLUMNS = MemoryCard("one per column", True, "all", "all", "over shared layers", "free")
"""The columns of an encoder whose layers share their weights."""
UNSHARED_COLUMNS = COLUMNS._replace(recurrence="none")
"""The columns of an encoder with weights of its own in every layer: a step is a layer."""


def card_of(spec: Any) -> MemoryCard | None:
    """The card of a spec: its `card`; None if it declares none."""
    return getattr(spec, "card", None)


def memory_cards() -> dict[str, MemoryCard]:
    """The cards of all networks that read sequences, by the names of their specs."""
    from ._sequence import sequence_specs
    from ._transducers import AbstractTransducerSpec

    kind: Any = AbstractTransducerSpec
    # Transducers are the same networks as the classifiers of their names, where both exist.
    found = {name: spec() for name, spec in known_specs(kind).items()}
    found |= {name: spec() for name, spec in sequence_specs().items()}
    cards = {name: card_of(spec) for name, spec in sorted(found.items())}
    return {name: card for name, card in cards.items() if card is not None}
