"""Marks drawn into panels: seeds, curves, theory, sweeps, the paper's values, levels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..intervals import confidence_interval
from ._bounds import Bounds, bounds_of
from ._panels import anchor, axis, check_panel
from ._theme import CLEAR, INK, MUTED, PAPER, color_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

# The drawing order from back to front, whatever the order of the calls.
LAYERS = ("seeds", "curve", "scatter", "mean", "theory", "reference")
HOLLOW = ("diamond", "square", "triangle-up", "circle")


def add_seeds(
    figure: "go.Figure",
    x: ArrayLike,
    ys: ArrayLike,
    name: str,
    *,
    color: int | str = 0,
    panel: int = 0,
    mean: bool = True,
) -> None:
    """One thin line per seed and a thick line for the mean, with one entry in the legend.

    **Arguments:**

    - `x`: `[points]`.
    - `ys`: `[seeds, points]`.
    - `color`: an index into the palette, or a colour.
    - `mean`: whether to draw the mean.
    """
    x, ys = np.asarray(x), np.atleast_2d(np.asarray(ys, float))
    if ys.shape[1] != len(x):
        raise ValueError(f"{name}: x has {len(x)} points, ys {ys.shape[1]}")
    hue = color_of(color)
    seeds = len(ys)
    if seeds > 1 or not mean:
        # One trace for all seeds, separated by missing values, draws faster than one per seed.
        apart = np.pad(ys, ((0, 0), (0, 1)), constant_values=np.nan)
        _scatter(
            figure,
            panel,
            x=np.tile(np.append(x, x[-1:]), seeds),
            y=apart.ravel(),
            name=name,
            color=hue,
            line={"color": hue, "width": 1},
            opacity=0.35 if mean else 0.6,
            legend=not mean,
            layer="seeds",
            hoverinfo="skip" if mean else None,
        )
    if mean:
        average = ys.mean(axis=0)
        line = {"color": hue, "width": 2.5}
        _scatter(figure, panel, x=x, y=average, name=name, line=line, color=hue,
                 layer="mean")  # fmt: skip


def add_band(
    figure: "go.Figure",
    x: ArrayLike,
    ys: ArrayLike,
    name: str,
    *,
    color: int | str = 0,
    panel: int = 0,
) -> None:
    """The mean over seeds as a thick line, and a band of one standard deviation on either side.

    The standard deviation is that of these seeds: its variance divides by n, not by n - 1.

    **Arguments:**

    - `x`: `[points]`.
    - `ys`: `[seeds, points]`.
    - `color`: an index into the palette, or a colour.
    """
    x, ys = np.asarray(x), np.atleast_2d(np.asarray(ys, float))
    if ys.shape[1] != len(x):
        raise ValueError(f"{name}: x has {len(x)} points, ys {ys.shape[1]}")
    hue = color_of(color)
    average, deviation = ys.mean(axis=0), ys.std(axis=0)
    if len(ys) > 1:
        _scatter(
            figure,
            panel,
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([average + deviation, (average - deviation)[::-1]]),
            name=name,
            color=hue,
            line={"color": hue, "width": 0},
            fill="toself",
            fillcolor=hue,
            opacity=0.2,
            legend=False,
            layer="seeds",
            hoverinfo="skip",
        )
    line = {"color": hue, "width": 2.5}
    _scatter(figure, panel, x=x, y=average, name=name, line=line, color=hue,
             layer="mean")  # fmt: skip


def add_curve(
    figure: "go.Figure",
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    *,
    color: int | str = 0,
    panel: int = 0,
    dash: str | None = None,
) -> None:
    """One line: `x` and `y` are `[points]`; `dash` is one of plotly's (`"dot"`, `"dash"`...)."""
    hue = color_of(color)
    line = {"color": hue, "width": 2.25, "dash": dash}
    _scatter(figure, panel, x=np.asarray(x), y=np.asarray(y), name=name, line=line,
             color=hue, layer="curve")  # fmt: skip


def add_theory(
    figure: "go.Figure",
    x: ArrayLike,
    y: ArrayLike,
    name: str = "theory",
    *,
    panel: int = 0,
    color: int | str | None = None,
) -> None:
    """A prediction: a dashed line over the simulation, by default in the colour of text."""
    hue = INK if color is None else color_of(color)
    line = {"color": hue, "width": 1.75, "dash": "6px,4px"}
    _scatter(figure, panel, x=np.asarray(x), y=np.asarray(y), name=name, line=line,
             color=hue, layer="theory")  # fmt: skip


def add_points(
    figure: "go.Figure",
    x: Sequence[Any] | np.ndarray,
    ys: Sequence[ArrayLike],
    name: str,
    *,
    color: int | str = 0,
    panel: int = 0,
    line: bool = True,
    bounds: Bounds | None = None,
) -> None:
    """A sweep: all seeds as points, their mean with its 95 % interval, and a line through it.

    On a logarithmic axis the mean and the interval are those of the logarithms. Intervals are cut
    off at the bounds of the quantity.

    **Arguments:**

    - `x`: `[conditions]`, numbers or words.
    - `ys`: one value per seed for each condition; a condition without values is left out.
    - `line`: whether to connect the means.
    - `bounds`: the smallest and the largest value that the quantity can have; by default those of
        what the title of the axis names, if it is an accuracy, a share, a loss or the like.
    """
    if len(x) != len(ys):
        raise ValueError(f"{name}: {len(x)} conditions, values for {len(ys)}")
    kept = [(place, np.ravel(np.asarray(y, float))) for place, y in zip(x, ys, strict=True)]
    kept = [(place, values) for place, values in kept if values.size]
    if not kept:
        return
    check_panel(figure, panel)
    logarithmic = figure.layout[axis(panel, "y")].type == "log"
    if logarithmic and all((values > 0).all() for _, values in kept):
        intervals = np.exp([confidence_interval(np.log(values)) for _, values in kept])
    else:
        intervals = np.array([confidence_interval(values) for _, values in kept])
    means, low, high = intervals.T
    title = figure.layout[axis(panel, "y")].title.text or ""
    ends = bounds or bounds_of(title, np.concatenate([values for _, values in kept]))
    low, high = np.maximum(low, min(ends)), np.minimum(high, max(ends))
    hue = color_of(color)
    several = any(values.size > 1 for _, values in kept)
    if several:
        _scatter(
            figure,
            panel,
            x=_places([place for place, values in kept for _ in values]),
            y=np.concatenate([values for _, values in kept]),
            name=name,
            color=hue,
            mode="markers",
            marker={"color": hue, "size": 6, "line": {"width": 0}},
            opacity=0.3,
            legend=False,
            layer="seeds",
        )
    _scatter(
        figure,
        panel,
        x=_places([place for place, _ in kept]),
        y=means,
        name=name,
        color=hue,
        mode="lines+markers" if line else "markers",
        line={"color": hue, "width": 2},
        marker={"color": hue, "size": 8, "line": {"color": PAPER, "width": 1.5}},
        error_y={
            "array": high - means,
            "arrayminus": means - low,
            "symmetric": False,
            "color": hue,
            "thickness": 1.75,
            "width": 0,
        }
        if several
        else None,
        layer="mean",
        bars=several,
    )


def add_scatter(
    figure: "go.Figure",
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    *,
    color: int | str = 0,
    panel: int = 0,
    symbol: str = "circle",
    legend: bool = True,
) -> None:
    """Points in a plane, possibly over a heat map: `x` and `y` are `[points]`.

    **Arguments:**

    - `symbol`: one of plotly's: `"circle"`, `"triangle-up"`, `"square"`...
    - `legend`: whether the name gets an entry in the legend; heat maps leave no room for one.
    """
    hue = color_of(color)
    marker = {"symbol": symbol, "size": 6, "color": hue, "line": {"color": PAPER, "width": 1}}
    _scatter(figure, panel, x=np.asarray(x), y=np.asarray(y), name=name, color=hue,
             mode="markers", marker=marker, layer="scatter", legend=legend)  # fmt: skip


def add_reference(
    figure: "go.Figure", x: ArrayLike, y: ArrayLike, name: str = "paper", *, panel: int = 0
) -> None:
    """The paper's published values as hollow marks, with one shape per series."""
    edge = {"color": INK, "width": 1.75}
    before = list(dict.fromkeys(t.name for t in figure.data if _kind(t) == "reference"))
    nth = before.index(name) if name in before else len(before)
    _scatter(
        figure,
        panel,
        x=_places(np.atleast_1d(x)),
        y=np.atleast_1d(y),
        name=name,
        color=INK,
        mode="markers",
        marker={"symbol": HOLLOW[nth % len(HOLLOW)], "size": 11, "color": CLEAR, "line": edge},
        layer="reference",
    )


def add_level(
    figure: "go.Figure",
    value: float,
    label: str,
    *,
    panel: int = 0,
    axis: Literal["x", "y"] = "y",
) -> None:
    """A thin labelled line at `value` of `axis`: horizontal for `"y"`, vertical for `"x"`."""
    check_panel(figure, panel)
    along = "x" if axis == "y" else "y"
    figure.add_shape(
        {
            "type": "line",
            f"{axis}ref": anchor(panel, axis),
            f"{along}ref": f"{anchor(panel, along)} domain",
            f"{axis}0": value,
            f"{axis}1": value,
            f"{along}0": 0,
            f"{along}1": 1,
            "line": {"color": MUTED, "width": 1, "dash": "dot"},
            "label": {
                "text": label,
                "textposition": "end",
                "textangle": 0,
                "xanchor": "right" if axis == "y" else "left",
                "yanchor": "bottom" if axis == "y" else "top",
                "padding": 3,
                "font": {"size": 12, "color": MUTED},
            },
        }
    )


def _places(x: Any) -> Any:
    """Abscissae: an array of numbers, or a list of words."""
    array = np.asarray(x)
    return array if array.dtype.kind in "iuf" else [str(place) for place in x]


def _scatter(
    figure: "go.Figure",
    panel: int,
    *,
    name: str,
    color: str,
    layer: str,
    mode: str = "lines",
    legend: bool = True,
    bars: bool = False,
    **properties: Any,
) -> None:
    """Add a trace; only the first of equal name and colour appears in the legend."""
    import plotly.graph_objects as go

    check_panel(figure, panel)
    group = f"{name} {color} {(properties.get('line') or {}).get('dash') or ''}"
    shown = any(t.legendgroup == group and t.showlegend for t in figure.data)
    trace = go.Scatter(
        name=name,
        mode=mode,
        legendgroup=group,
        showlegend=legend and bool(name) and not shown,
        xaxis=anchor(panel, "x"),
        yaxis=anchor(panel, "y"),
        meta={"kind": layer} | ({"bars": True} if bars else {}),
        **{k: v for k, v in properties.items() if v is not None},
    )
    figure.add_trace(trace)
    # plotly's own `zorder` would draw each level in a separate subplot and lose the axis lines.
    heights = [_height(t) for t in figure.data]
    if heights != sorted(heights):
        figure.data = sorted(figure.data, key=_height)


def _kind(trace: Any) -> str:
    return trace.meta.get("kind", "") if isinstance(trace.meta, dict) else ""


def _height(trace: Any) -> int:
    kind = _kind(trace)
    return LAYERS.index(kind) if kind in LAYERS else LAYERS.index("curve")
