"""What `recombine.examine` found: one object to print, to draw, and to write as a page or JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..splits._support_report import SupportReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PLACES = {
    "trained": "trained combinations",
    "within": "new, supported",
    "undetermined": "new, effects cannot be told apart",
    "across": "new, values of several components",
    "new": "a value that is never trained",
    "all": "all combinations",
}
"""Kinds of support, and how they are told: see `recombine.splits.SupportReport`."""


@dataclass(frozen=True)
class Score:
    """How well some items are answered."""

    place: str
    """The kind of support of their combinations."""
    items: int
    combinations: int
    value: float
    """Accuracy, or R² of numbers."""
    low: float
    high: float
    """The 95 % interval of accuracy over combinations; not a number where there is none."""


@dataclass(frozen=True)
class OutputReport:
    """What one output of the network depends on, and how right it is."""

    name: str
    kind: str
    """`classes`, or `numbers`, whose bits are those of equally frequent bins."""
    needs: tuple[str, ...] | None
    """The factors that its target depends on; None without a target."""
    bits: Mapping[str, float]
    """I(Ŷ; factor | all others), by factor, without what chance alone would give."""
    chance: Mapping[str, float]
    """What chance alone gives, already taken off."""
    leakage: float | None
    """I(Ŷ; factors that it should ignore | those that it needs), in bits; None without a target."""
    swapped: bool
    """Whether parts of inputs were exchanged, or else the items were taken as they are."""
    scores: tuple[Score, ...]
    """How right it is, by the support of combinations; empty without a target."""
    unit: str = "accuracy"


@dataclass(frozen=True)
class LayerReport:
    """How one layer codes the factors."""

    name: str
    units: int
    familiar: Mapping[str, float]
    """Accuracy of a linear readout on other items of fitted combinations, by factor."""
    new: Mapping[str, float]
    """Its accuracy on combinations that were not fitted."""
    guessing: Mapping[str, float]
    additive: float
    """The share of the variance between combinations that a sum of one code per value explains."""
    additive_by_chance: float
    additive_new: float
    """R² of that sum on combinations that were not fitted."""
    sizes: Mapping[str, float]
    """The share of the variance between combinations that is due to each factor's codes."""
    overlaps: tuple[tuple[float, ...], ...]
    """At `[i][j]`, the share of factor i's codes in the span of factor j's."""
    overlaps_by_chance: tuple[tuple[float, ...], ...]
    parallel: Mapping[str, float]
    """The mean cosine between a factor's codes in two contexts."""


@dataclass(frozen=True)
class ModuleReport:
    """A module of the network: the weights that a mask keeps."""

    name: str
    """The factor or function that the mask was found for."""
    kept: float
    """The share of the weights that it keeps."""
    overlaps: Mapping[str, float]
    """By the name of another mask, the weights of both over those of the smaller one."""
    alone: Mapping[str, float]
    """Accuracy of every output if all other weights are removed."""
    without: Mapping[str, float]
    """Accuracy of every output if these weights are removed."""


@dataclass(frozen=True)
class Examination:
    """What a network does with the factors of its inputs. Print it, or write it with `html`."""

    items: int
    values: Mapping[str, int]
    """How many values each factor has."""
    outputs: tuple[OutputReport, ...]
    layers: tuple[LayerReport, ...]
    sensitivity: Mapping[str, float]
    """The mean norm of derivatives of all outputs by each part of the input; empty without parts,
    or without derivatives."""
    support: SupportReport | None
    """What the trained combinations support; None if nothing was said about training."""
    notes: tuple[str, ...] = ()
    """What could not be asked, and why, a line each."""
    held_out_here: bool = False
    """Whether the combinations on which readouts are scored were drawn here, not by the user."""
    modules: tuple[ModuleReport, ...] = ()
    """What masks over the weights keep, if masks were given."""
    title: str = field(default="A network and the factors of its inputs", kw_only=True)

    def __str__(self) -> str:
        from ._text import text_of

        return text_of(self)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, JSON-ready: numbers that are not defined are None."""
        return _plain(
            {
                "title": self.title,
                "items": self.items,
                "factors": dict(self.values),
                "outputs": [
                    vars(o) | {"scores": [vars(s) for s in o.scores]} for o in self.outputs
                ],
                "layers": [vars(layer) for layer in self.layers],
                "sensitivity": dict(self.sensitivity),
                "modules": [vars(module) for module in self.modules],
                "support": None if self.support is None else _support(self.support),
                "held_out_here": self.held_out_here,
                "notes": list(self.notes),
            }
        )

    def figures(self) -> "dict[str, Figure]":
        """The figures of the page, by name: those for which there is something to show."""
        from ._figures import figures_of

        return {name: figure for name, (_, _, figure) in figures_of(self).items()}

    def html(self, path: str | Path) -> Path:
        """Write a page that needs no other file and no network."""
        from ._page import write_page

        return write_page(self, Path(path))


def _support(report: SupportReport) -> dict[str, Any]:
    return {
        "compositional": report.compositional,
        "connected": report.connected,
        "determined": report.determined,
        "supports_recombination": report.supports_recombination,
        "trained_combinations": len(report.trained),
        "supported": len(report.within),
        "not_supported": len(report.undetermined) + len(report.across) + len(report.new),
        "to_add": [list(c) for c in report.to_determine],
    }


def _plain(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return {str(name): _plain(value) for name, value in thing.items()}
    if isinstance(thing, np.ndarray):
        return _plain(thing.tolist())
    if isinstance(thing, (list, tuple)) or (
        isinstance(thing, Sequence) and not isinstance(thing, str)
    ):
        return [_plain(value) for value in thing]
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, float):
        return thing if np.isfinite(thing) else None
    return thing if thing is None or isinstance(thing, (bool, int, str)) else str(thing)
