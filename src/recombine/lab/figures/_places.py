"""Coordinates of the columns and rows of heat maps: numbers, words, or none."""

from collections.abc import Sequence
from typing import Any

import numpy as np

LETTER = 7
"""Width of a label's letter in pixels."""
_LONG = 2
"""Length of the longest horizontal label of a column; longer ones are turned upright."""


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
        """Whether rows run upwards: rows at numbers do, all others run downwards."""
        return _numbers(self.y)

    @property
    def ratio(self) -> float:
        """The ratio of a unit of y to a unit of x, in pixels, that makes cells squares."""
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
        """Properties of a heat map's trace."""
        given = {"x": self.x, "y": self.y}
        return {
            k: v if _numbers(v) else [str(word) for word in v]
            for k, v in given.items()
            if v is not None
        }

    def ticks(self, letter: str) -> dict[str, Any]:
        """Properties of an axis."""
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
        """The hover text of a cell."""
        if not self.any:
            return "row %{y}, column %{x}: %{z:.4~g}<extra></extra>"
        return f"{x or 'column'} %{{x}}, {y or 'row'} %{{y}}: %{{z:.4~g}}<extra></extra>"


def _numbers(values: np.ndarray | None) -> bool:
    return values is not None and values.dtype.kind in "iuf"


def _spacing(values: np.ndarray | None) -> float:
    if values is None or not _numbers(values) or len(values) < 2:
        return 1.0
    return float(values[-1] - values[0]) / (len(values) - 1)
