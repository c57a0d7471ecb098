"""How trials end, and the settings that those of one result set share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .stored_files import ArrayFile


@dataclass(frozen=True)
class Outcome:
    """How a trial ended, with its measurements."""

    status: str
    """`done`, `failed` or `diverged`."""
    reason: str
    """Why the trial did not finish; empty if it did."""
    metrics: dict[str, float]
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    arrays: ArrayFile | None
    steps: int
    seconds: float
    compile_seconds: float
    provenance: dict[str, Any]
    networks: tuple[ArrayFile, ...] = ()


class Failure(NamedTuple):
    """A trial that did not finish."""

    condition: dict[str, Any]
    config: dict[str, Any]
    seed: int
    status: str
    reason: str


@dataclass(frozen=True)
class Settings:
    """The preset and overrides that trials of one result set share."""

    preset: str
    overrides: dict[str, Any]
