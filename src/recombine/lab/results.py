"""Results: the finished trials of one study at one preset, as arrays over seeds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._spec import is_spec
from .conditions import at
from .errors import Missing
from .settings import canonical, is_same_spec
from .specs import shown, stored_name

_NONE = object()


@dataclass(frozen=True)
class Record:
    """A finished trial."""

    id: str
    condition: dict[str, Any]
    config: dict[str, Any]
    seed: int
    metrics: dict[str, float]
    seconds: float
    compile_seconds: float
    read_curve: Callable[[str], tuple[np.ndarray, np.ndarray]]
    read_array: Callable[[str], np.ndarray]


@dataclass(frozen=True)
class Results:
    """Trials of one study at one preset and overrides. Selections are `Results` too."""

    study: str
    preset: str
    overrides: dict[str, Any]
    records: tuple[Record, ...]
    failed: int = 0
    """How many trials raised or diverged."""
    missing: int = 0
    """How many of the preset's conditions have no finished trial."""
    looks: int = 1
    """How often they may have been looked at before there were seeds enough."""
    earlier: int = 0
    """How many trials are from earlier code."""

    def where(self, **fields: Any) -> "Results":
        """The trials whose config has these values.

        A spec is selected by its name, by equality, or by one of its fields:
        `where(model="ndr")`, `where(model=NDR(layers=3))`, `where(**{"model.layers": 3})`.
        """
        kept = tuple(
            r
            for r in self.records
            if all(_same(at(r.config, name, _NONE), value) for name, value in fields.items())
        )
        if not kept:
            raise Missing(f"no trial with {', '.join(f'{k}={v}' for k, v in fields.items())}")
        return replace(self, records=kept)

    def values(self, field: str) -> list[Any]:
        """The distinct values of a setting, in order: of specs, the names."""
        found = {
            _hashable(v) for r in self.records if (v := at(r.config, field, _NONE)) is not _NONE
        }
        if self.records and not found:
            raise Missing(f"no trial with a setting {field!r}")
        return sorted(found, key=lambda value: (value is None, value))

    @property
    def seeds(self) -> list[int]:
        return sorted({r.seed for r in self.records})

    def without_seed(self, seed: int) -> "Results":
        """The trials of all other seeds."""
        kept = tuple(r for r in self.records if r.seed != seed)
        return replace(self, records=kept)

    def seeds_by_condition(self) -> list[set[int]]:
        """The seeds that each condition has been run with."""
        seeds: dict[str, set[int]] = {}
        for r in self.records:
            seeds.setdefault(canonical(r.config), set()).add(r.seed)
        return list(seeds.values())

    def metric(self, name: str, **fields: Any) -> np.ndarray:
        """A metric, one value per trial, ordered by seed: `[trials]`."""
        return np.array([r.metrics[name] for r in self._having(fields, name)])

    def curve(self, name: str, **fields: Any) -> tuple[np.ndarray, np.ndarray]:
        """A curve's abscissa `[points]` and its ordinates `[trials, points]`.

        If trials have different abscissas, all of them, and NaN where a trial has no point.
        """
        curves = [r.read_curve(name) for r in self._ordered(fields)]
        x = curves[0][0]
        if all(np.array_equal(x, other) for other, _ in curves):
            return x, np.stack([y for _, y in curves])
        x = np.unique(np.concatenate([own for own, _ in curves]))
        ys = np.full((len(curves), len(x)), np.nan)
        for row, (own, y) in zip(ys, curves, strict=True):
            row[np.searchsorted(x, own)] = y
        return x, ys

    def array(self, name: str, **fields: Any) -> np.ndarray:
        """An array, stacked over trials: `[trials, ...]`."""
        return np.stack([r.read_array(name) for r in self._ordered(fields)])

    def _ordered(self, fields: dict[str, Any]) -> Iterable[Record]:
        chosen = self.where(**fields) if fields else self
        if not chosen.records:
            raise Missing("no finished trial")
        return sorted(chosen.records, key=lambda r: r.seed)

    def _having(self, fields: dict[str, Any], metric: str) -> list[Record]:
        """The trials, if every one of them reports `metric`: a subset would mislead."""
        trials = list(self._ordered(fields))
        having = sum(metric in r.metrics for r in trials)
        if having < len(trials):
            raise Missing(f"{having} of {len(trials)} trials report {metric!r}")
        return trials


def _same(found: Any, wanted: Any) -> bool:
    """Whether a setting of a stored config is the one that is asked for."""
    if isinstance(found, dict):
        return is_same_spec(found, wanted) if is_spec(wanted) else wanted == stored_name(found)
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return bool(np.isclose(found, wanted, rtol=1e-9))
    return _hashable(found) == _hashable(wanted)


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return stored_name(value)
    return tuple(map(_hashable, value)) if isinstance(value, list) else shown(value)
