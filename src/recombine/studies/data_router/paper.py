"""The networks of the family: what they are called here and in the paper."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from recombine._spec import is_registered, spec_name
from recombine.lab import Reference, Results, reference
from recombine.models.specs import AbstractSequenceSpec

PAPER_NAMES: dict[str, str] = {
    "lstm": "LSTM",
    "bi-lstm": "Bidirectional LSTM",
    "dnc": "DNC",
    "transformer": "Transformer",
    "relative": "+ rel",
    "relative-gate": "+ rel + gate",
    "position-gate": "+ abs/rel + gate",
    "geometric": "+ geom.",
    "ndr": "NDR",
}
"""Rows of the paper's tables by the names of specs, in the order of the tables."""
OTHERWISE: dict[tuple[str, str], str] = {
    ("table-5.1", "ndr"): "+ geom. + gate (NDR)",
    ("table-5.3", "ndr"): "+ geom. att. + gate (NDR)",
    ("table-5.4", "ndr"): "+ geom. att. + gate (NDR)",
    ("table-D.2", "geometric"): "+ geo",
}
"""Rows that a table calls otherwise."""


def title(model: str) -> str:
    """What a network is called in figures and tables; one that the paper does not know keeps its
    name."""
    return PAPER_NAMES.get(model, model)


def published(artifact: str, model: str, setting: str, metric: str) -> Reference:
    """A number of the paper. Raises `LookupError` if the table has none for the network."""
    row = OTHERWISE.get((artifact, model), title(model))
    return reference("data-router", artifact=artifact, model=row, setting=setting, metric=metric)


def numbers_of(models: Iterable[str], find: Callable[[str], Reference]) -> dict[str, float]:
    """The paper's numbers by the titles of networks, of those for which `find` knows one."""
    found = {}
    for model in models:
        with suppress(LookupError):
            found[title(model)] = find(model).value
    return found


def networks(results: Results, known: Iterable[str] = PAPER_NAMES) -> list[str]:
    """All networks of the results: those that are known in their order, then the others."""
    found = results.values("model")
    first = [model for model in known if model in found]
    return first + [model for model in found if model not in first]


def network_of(condition: Mapping[str, Any]) -> str | None:
    """The name of a condition's network; None if it is a user's."""
    model = condition["model"]
    if isinstance(model, str):
        return model
    kind: Any = AbstractSequenceSpec
    return spec_name(model) if is_registered(type(model), kind) else None
