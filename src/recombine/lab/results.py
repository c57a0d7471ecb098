"""Results: the finished trials of one study at one preset, as arrays over seeds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .claims import Missing


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

    def where(self, **fields: Any) -> "Results":
        """The trials whose config has these values."""

        def same(a, b):
            close = isinstance(b, float) and bool(np.isclose(a, b, rtol=1e-9))
            return close or _hashable(a) == _hashable(b)

        kept = tuple(
            r for r in self.records if all(same(r.config[k], v) for k, v in fields.items())
        )
        if not kept:
            raise Missing(f"no trial with {', '.join(f'{k}={v}' for k, v in fields.items())}")
        return Results(self.study, self.preset, self.overrides, kept, self.failed, self.missing)

    def values(self, field: str) -> list[Any]:
        """The distinct values of a config field, in order."""
        found = {_hashable(r.config[field]) for r in self.records}
        return sorted(found)

    @property
    def seeds(self) -> list[int]:
        return sorted({r.seed for r in self.records})

    def seeds_by_condition(self) -> list[set[int]]:
        """The seeds that each condition has been run with."""
        seeds: dict[tuple, set[int]] = {}
        for r in self.records:
            key = tuple(_hashable(v) for v in r.config.values())
            seeds.setdefault(key, set()).add(r.seed)
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


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
