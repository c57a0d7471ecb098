"""A figure's first panel as a small picture without words, for the overview."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures._theme import CLEAR, INK, PAPER

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDE, HIGH, EDGE = 160, 100, 6
MOST_POINTS = 80
CELLS = (20, 32)


def thumbnail(figure: "go.Figure") -> str:
    """An SVG element; empty if the figure has neither lines, points nor heat maps."""
    traces = [t for t in figure.data if getattr(t, "xaxis", None) in (None, "x")]
    images = [t for t in traces if t.type == "heatmap"]
    if images:
        axis = figure.layout.coloraxis
        upwards = not images[0].meta and figure.layout.yaxis.autorange != "reversed"
        return _picture(_cells(images[0], images[0].colorscale or axis.colorscale, upwards))
    lines = [t for t in traces if t.type == "scatter" and t.mode != "text"]
    if any(_kind(t) == "mean" for t in lines):
        lines = [t for t in lines if _kind(t) != "seeds"]
    points = [_points(t, figure.layout) for t in lines]
    whole = np.concatenate([p for p in points if p is not None] or [np.empty((0, 2))])
    whole = whole[np.isfinite(whole).all(axis=1)]
    if len(whole) < 2:
        return ""
    low, high = whole.min(axis=0), whole.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    marks = []
    for trace, place in zip(lines, points, strict=True):
        if place is not None:
            marks += _marks(trace, EDGE + (place - low) / span * (WIDE - 2 * EDGE, HIGH - 2 * EDGE))
    return _picture(marks)


def _picture(marks: list[str]) -> str:
    inside = "".join(marks)
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" aria-hidden="true" focusable="false">{inside}</svg>'


def _kind(trace: Any) -> str:
    return trace.meta.get("kind", "") if isinstance(trace.meta, dict) else ""


def _color(color: Any) -> str:
    """A colour as a CSS variable, which dark mode redefines."""
    if color == CLEAR:
        return "none"
    text = color if isinstance(color, str) and color.startswith("#") else INK
    if not all(c in "0123456789abcdef" for c in text[1:].lower()):
        text = INK
    return f"var(--c{text[1:].lower()}, {text})"


def _points(trace: Any, layout: Any) -> np.ndarray | None:
    """A trace's points `[points, 2]`, on the scale of their axes; None if they are words."""
    try:
        x, y = np.asarray(trace.x, float), np.asarray(trace.y, float)
    except (TypeError, ValueError):
        return None
    if x.ndim != 1 or x.shape != y.shape:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.log10(x) if layout.xaxis.type == "log" else x
        y = np.log10(y) if layout.yaxis.type == "log" else y
    points = np.stack([x, y], axis=1)
    return np.where(np.isfinite(points), points, np.nan)


def _marks(trace: Any, points: np.ndarray) -> list[str]:
    mode = trace.mode or "lines"
    marks = []
    if "lines" in mode:
        dash = ' stroke-dasharray="5 3"' if trace.line.dash else ""
        path = "".join(_path(part) for part in _unbroken(points))
        stroke = f"fill:none;stroke:{_color(trace.line.color)};stroke-width:2"
        marks.append(f'<path d="{path}"{dash} style="{stroke}"/>')
    if "markers" in mode:
        shown = points[np.isfinite(points).all(axis=1)][:MOST_POINTS]
        edge = trace.marker.line.color if trace.marker.color in (PAPER, CLEAR) else None
        sizes = trace.marker.size
        if isinstance(sizes, np.ndarray):  # arrow heads
            return marks
        opacity = trace.opacity if trace.opacity is not None else 1
        style = f"fill:{_color(trace.marker.color)};stroke:{_color(edge) if edge else 'none'}"
        look = f'r="2.5" opacity="{opacity}" style="{style}"'
        marks += [f'<circle cx="{x:.1f}" cy="{HIGH - y:.1f}" {look}/>' for x, y in shown]
    return marks


def _unbroken(points: np.ndarray) -> list[np.ndarray]:
    """The parts between missing values, thinned: a thumbnail has few pixels."""
    finite = np.isfinite(points).all(axis=1)
    parts = [
        points[[i for i, _ in part]]
        for present, part in groupby(enumerate(finite), key=lambda pair: pair[1])
        if present
    ]
    return [
        part[np.unique(np.linspace(0, len(part) - 1, MOST_POINTS).astype(int))] for part in parts
    ]


def _path(points: np.ndarray) -> str:
    return "M" + "L".join(f"{x:.1f} {HIGH - y:.1f}" for x, y in points)


def _cells(trace: Any, colorscale: Any, upwards: bool) -> list[str]:
    """The upper left part of a heat map, in the colours that define its scale."""
    z = np.asarray(trace.z, float)[:: -1 if upwards else 1]
    z = z if trace.meta else z[:: -(-z.shape[0] // CELLS[0]), :: -(-z.shape[1] // CELLS[1])]
    z = z[: CELLS[0], : CELLS[1]]
    finite = np.isfinite(z)
    if not finite.any():
        return []
    low, high = z[finite].min(), z[finite].max()
    colors = [color for _, color in colorscale]
    if len(colors) % 2:  # a scale with a middle
        high = max(abs(low), abs(high))
        low = -high
    levels = np.zeros(z.shape, int)
    levels[finite] = np.round((z[finite] - low) / ((high - low) or 1) * (len(colors) - 1))
    size = min(WIDE / z.shape[1], HIGH / z.shape[0])
    paths: dict[int, list[str]] = {}
    for row in range(z.shape[0]):
        runs = groupby(range(z.shape[1]), key=lambda c, r=row: levels[r, c] if finite[r, c] else -1)  # type: ignore[misc]
        for level, run in runs:
            columns = list(run)
            if level >= 0:
                paths.setdefault(int(level), []).append(
                    f"M{columns[0]} {row}h{len(columns)}v1h-{len(columns)}z"
                )
    shift = (WIDE - size * z.shape[1]) / 2
    filled = [
        f'<path d="{"".join(parts)}" style="fill:{_color(colors[level])}"/>'
        for level, parts in paths.items()
    ]
    return [f'<g transform="translate({shift:.1f} 0) scale({size:.3f})">', *filled, "</g>"]
