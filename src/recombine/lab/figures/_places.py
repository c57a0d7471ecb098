"""Where the columns and rows of heat maps are: at numbers, at words, or nowhere in particular."""

from collections.abc import Sequence
from typing import Any

import numpy as np

LETTER = 7
"""Pixels that a letter of a label takes."""
_LONG = 2
"""Letters of the longest word that is written across below a column; longer ones stand upright."""


class Places:
    """The coordinates of columns (`x`) and rows (`y`), if any."""

    def __init__(self, across: Any, along: Any):
        self.x = None if across is None else np.asarray(across)
        self.y = None if along is None else np.asarray(along)

    @property
    def any(self) -> bool:
        return self.x is not None or self.y is not None

    @property
    def upwards(self) -> bool:
        """Whether rows run upwards: numbers do, words and mere rows run downwards."""
        return _numbers(self.y)

    @property
    def ratio(self) -> float:
        """Pixels of a unit of y over those of a unit of x, so that cells are squares."""
        return _spacing(self.x) / _spacing(self.y)

    def check(self, images: Sequence[np.ndarray]) -> None:
        for what, values, way in (("rows", self.y, 0), ("columns", self.x, 1)):
            for image in images:
                if values is not None and image.shape[way] != len(values):
                    raise ValueError(f"{len(values)} places for {image.shape[way]} {what}")

    def room(self) -> tuple[int, int]:
        """Pixels that labels take below and to the left of a panel."""

        def labels(values: np.ndarray | None, least: int) -> int:
            if values is None or _numbers(values):
                return 0 if values is None else least
            return max(least, LETTER * max(len(str(v)) for v in values) + 6)

        return labels(self.x, 16), labels(self.y, 20)

    def trace(self) -> dict[str, Any]:
        """What a heat map needs to know."""
        given = {"x": self.x, "y": self.y}
        return {
            k: v if _numbers(v) else [str(word) for word in v]
            for k, v in given.items()
            if v is not None
        }

    def ticks(self, letter: str) -> dict[str, Any]:
        """What an axis needs to know."""
        values = self.x if letter == "x" else self.y
        if values is None:
            return {"showticklabels": False}
        if _numbers(values):
            return {"showticklabels": True, "nticks": 5, "tickfont": {"size": 10}}
        upright = letter == "x" and max(len(str(v)) for v in values) > _LONG
        angle = -90 if upright else 0
        return {
            "showticklabels": True, "type": "category", "tickfont": {"size": 10}, "tickangle": angle
        }  # fmt: skip

    def hover(self, x: str, y: str) -> str:
        """What a cell says when it is pointed at."""
        if not self.any:
            return "row %{y}, column %{x}: %{z:.4~g}<extra></extra>"
        return f"{x or 'column'} %{{x}}, {y or 'row'} %{{y}}: %{{z:.4~g}}<extra></extra>"


def _numbers(values: np.ndarray | None) -> bool:
    return values is not None and values.dtype.kind in "iuf"


def _spacing(values: np.ndarray | None) -> float:
    if values is None or not _numbers(values) or len(values) < 2:
        return 1.0
    return float(values[-1] - values[0]) / (len(values) - 1)
