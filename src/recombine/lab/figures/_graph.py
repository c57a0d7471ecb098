"""Drawings of layered directed graphs, such as gated networks."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._theme import INK, MUTED, PALETTE, PAPER, RULE, template

if TYPE_CHECKING:
    import plotly.graph_objects as go

Edge = tuple[str, str, str]

ROW, ACROSS = 74, 190
"""Pixels between nodes of one layer, and between layers."""


def graph(
    nodes: Mapping[str, tuple[int, str]],
    edges: Sequence[Edge],
    highlight: Collection[Edge | tuple[str, str]] | None = None,
) -> "go.Figure":
    """A directed graph, layers from left to right.

    **Arguments:**

    - `nodes`: name to layer and label (its width, say).
    - `edges`: source, target and label.
    - `highlight`: the edges to colour, as (source, target) with or without label.
    """
    import plotly.graph_objects as go

    places = _places(nodes)
    chosen = {tuple(edge) for edge in highlight or ()}
    figure = go.Figure()
    labels: list[dict[str, Any]] = []
    lines = [
        (e, _line(places[e[0]], places[e[1]], bend))
        for e, bend in zip(edges, _bends(edges, places), strict=True)
    ]
    for colored in (False, True):
        shown = [
            (e, line)
            for e, line in lines
            if (tuple(e) in chosen or tuple(e[:2]) in chosen) is colored
        ]
        if shown:
            color = PALETTE[1] if colored else RULE
            figure.add_traces(_arrows([line for _, line in shown], color, 3 if colored else 1.75))
        for (_, _, label), line in shown:
            if label:
                x, y = line[int(0.42 * len(line))]
                color = PALETTE[1] if colored else MUTED
                labels.append({"x": x, "y": y, "text": label, "showarrow": False, "borderpad": 2,
                               "bgcolor": PAPER, "font": {"size": 12, "color": color}})  # fmt: skip
    at = np.array([places[name] for name in nodes], float)
    widths = [label for _, label in nodes.values()]
    figure.add_trace(
        go.Scatter(
            x=at[:, 0],
            y=at[:, 1],
            text=list(nodes),
            customdata=widths,
            mode="markers+text",
            textfont={"size": 13, "color": INK},
            marker={"size": 38, "color": PAPER, "line": {"color": INK, "width": 1.5}},
            hovertemplate="%{text}: %{customdata}<extra></extra>",
            showlegend=False,
        )
    )
    labels += [
        {"x": x, "y": y, "text": width, "showarrow": False, "yshift": -29,
         "font": {"size": 11, "color": MUTED}}
        for (x, y), width in zip(at, widths, strict=True) if width
    ]  # fmt: skip
    layers = len(set(at[:, 0]))
    tallest = max(np.unique(at[:, 0], return_counts=True)[1])
    low, high = at[:, 1].min() - 0.8, at[:, 1].max() + 0.6
    # Bent edges may reach beyond the nodes.
    heights = np.concatenate([at, *(line for _, line in lines)])[:, 1]
    bottom, top = min(low, heights.min() - 0.1), max(high, heights.max() + 0.1)
    hidden = {"visible": False, "fixedrange": True}
    height = int((ROW * max(tallest, 2) + 50) * (top - bottom) / (high - low))
    figure.update_layout(
        template=template(),
        annotations=labels,
        width=(layers - 1) * ACROSS + 160,
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis=hidden | {"range": [at[:, 0].min() - 0.35, at[:, 0].max() + 0.35]},
        yaxis=hidden | {"range": [bottom, top]},
        meta={"narrow": {"layout": {"width": None, "height": height}}},
    )
    return figure


def _places(nodes: Mapping[str, tuple[int, str]]) -> dict[str, tuple[float, float]]:
    """Positions of nodes: one column per layer, its nodes centred from top to bottom."""
    if not nodes:
        raise ValueError("a graph needs nodes")
    layers: dict[int, list[str]] = {}
    for name, (layer, _) in nodes.items():
        layers.setdefault(layer, []).append(name)
    return {
        name: (float(layer), (len(names) - 1) / 2 - i)
        for layer, names in layers.items()
        for i, name in enumerate(names)
    }


def _bends(edges: Sequence[Edge], places: dict[str, tuple[float, float]]) -> list[float]:
    """How far each edge bends to avoid parallel edges and the nodes between."""
    seen: dict[tuple[str, str], int] = {}
    bends = []
    for source, target, _ in edges:
        for name in (source, target):
            if name not in places:
                raise ValueError(f"edge {source} -> {target}: no node {name!r}")
        nth = seen.get((source, target), 0)
        seen[source, target] = nth + 1
        (x0, y0), (x1, y1) = places[source], places[target]
        blocked = any(
            x0 < x < x1 and abs(y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0))) < 0.35
            for x, y in places.values()
        )
        side = -1.0 if nth % 2 else 1.0
        bends.append((0.9 if blocked else 0.0) + side * 0.55 * ((nth + 1) // 2))
    return bends


def _line(start: tuple[float, float], end: tuple[float, float], bend: float) -> np.ndarray:
    """Points from `start` to `end`: `[points, 2]`, on a parabola of height `bend`."""
    t = np.linspace(0, 1, 25 if bend else 9)[:, None]
    line = (1 - t) * np.array(start) + t * np.array(end)
    line[:, 1:] += 4 * bend * t * (1 - t)
    return line


def _arrows(lines: list[np.ndarray], color: str, width: float) -> "list[go.Scatter]":
    """All lines as one trace, all arrow heads as another."""
    import plotly.graph_objects as go

    gap = np.full((1, 2), np.nan)
    points = np.concatenate([part for line in lines for part in (line, gap)])
    ends = np.concatenate([part for line in lines for part in (line[-2:], gap)])
    head = {
        "symbol": "arrow",
        "angleref": "previous",
        "standoff": 20,
        "size": np.tile([0, 5 + 3 * width, 0], len(lines)),
        "color": color,
        "opacity": 1,
        "line": {"width": 0},
    }
    quiet = {"hoverinfo": "skip", "showlegend": False}
    return [
        go.Scatter(
            x=points[:, 0], y=points[:, 1], mode="lines", line={"color": color, "width": width},
            **quiet,
        ),
        go.Scatter(x=ends[:, 0], y=ends[:, 1], mode="markers", marker=head, **quiet),
    ]  # fmt: skip
