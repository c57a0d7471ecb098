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
            return bool(np.isclose(a, b, rtol=1e-9)) if isinstance(b, float) else a == b

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

    @property
    def seeds_per_condition(self) -> int:
        """The smallest number of seeds that any condition has."""
        counts: dict[tuple, int] = {}
        for r in self.records:
            key = tuple(_hashable(v) for v in r.config.values())
            counts[key] = counts.get(key, 0) + 1
        return min(counts.values(), default=0)

    def metric(self, name: str, **fields: Any) -> np.ndarray:
        """A metric, one value a trial, ordered by seed: `[trials]`."""
        return np.array([r.metrics[name] for r in self._having(fields, name)])

    def curve(self, name: str, **fields: Any) -> tuple[np.ndarray, np.ndarray]:
        """A curve's abscissa `[points]` and its ordinates `[trials, points]`."""
        curves = [r.read_curve(name) for r in self._ordered(fields)]
        return curves[0][0], np.stack([y for _, y in curves])

    def array(self, name: str, **fields: Any) -> np.ndarray:
        """An array, stacked over trials: `[trials, ...]`."""
        return np.stack([r.read_array(name) for r in self._ordered(fields)])

    def _ordered(self, fields: dict[str, Any]) -> Iterable[Record]:
        chosen = self.where(**fields) if fields else self
        if not chosen.records:
            raise Missing("no finished trial")
        return sorted(chosen.records, key=lambda r: r.seed)

    def _having(self, fields: dict[str, Any], metric: str) -> list[Record]:
        having = [r for r in self._ordered(fields) if metric in r.metrics]
        if not having:
            raise Missing(f"no trial reports {metric!r}")
        return having


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
