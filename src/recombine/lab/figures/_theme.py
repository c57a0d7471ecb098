"""The look of all figures: colours, and the plotly template that applies them."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

PALETTE: tuple[str, ...] = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#c76ea0",  # pink
    "#dc9d00",  # amber
    "#56b4e9",  # sky
    "#5c4634",  # brown
)
"""Colours for conditions without an order. They stay distinct under colour blindness."""

INK = "#1f242d"
"""Colour of text, theory and the paper's values."""
MUTED = "#667080"
"""Colour of tick labels, levels and edges of graphs."""
RULE = "#bcc3ce"
"""Colour of axis lines."""
GRID = "#e9ecf1"
PAPER = "#ffffff"
CLEAR = "rgba(0,0,0,0)"
"""The inside of hollow marks, which lets marks below them show through."""

SEQUENTIAL = ("#f5f8fb", "#c9dff0", "#8dbfe0", "#4596c9", "#12659f", "#083a63")
"""Colours from low to high values."""
DIVERGING = ("#0b4f86", "#4f9bd0", "#b9d8ec", "#f6f7f8", "#f6c6a8", "#dd7a3c", "#973e05")
"""Colours from negative through zero to positive values."""
ORDERED = ("#5a74dd", "#a55cc4", "#d5528a", "#e2754a", "#dba02a")
"""Colours for ordered conditions: readable on a light and on a dark page."""

DARK: dict[str, str] = {
    "#0072b2": "#3d9be0",
    "#d55e00": "#ff7a3d",
    "#009e73": "#22c294",
    "#c76ea0": "#ee9ec5",
    "#dc9d00": "#f6cb52",
    "#56b4e9": "#74dcf2",
    "#5c4634": "#a08468",
    INK: "#e8ebf0",
    MUTED: "#98a2b2",
    RULE: "#4a5362",
    GRID: "#272d38",
    PAPER: "#161a21",
    "#f5f8fb": "#1b212b",
    "#c9dff0": "#1c3a55",
    "#8dbfe0": "#205a88",
    "#4596c9": "#3b87bd",
    "#12659f": "#7fbbe4",
    "#083a63": "#dff0fc",
    "#0b4f86": "#a9d7f7",
    "#4f9bd0": "#4894cc",
    "#b9d8ec": "#22465f",
    "#f6f7f8": "#1e242d",
    "#f6c6a8": "#5d3620",
    "#dd7a3c": "#d0713a",
    "#973e05": "#ffc7a1",
}
"""What each colour becomes on a dark page."""

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def color_of(color: int | str) -> str:
    """The colour with this index in the palette, which repeats; or the given colour."""
    return PALETTE[color % len(PALETTE)] if isinstance(color, int) else color


def shade(position: float) -> str:
    """A colour for a condition that has an order: `position` runs from 0 to 1."""
    place = min(max(position, 0.0), 1.0) * (len(ORDERED) - 1)
    i = min(int(place), len(ORDERED) - 2)

    def channels(color: str) -> list[int]:
        return [int(color[k : k + 2], 16) for k in (1, 3, 5)]

    mixed = (
        a + (place - i) * (b - a)
        for a, b in zip(channels(ORDERED[i]), channels(ORDERED[i + 1]), strict=True)
    )
    return "#" + "".join(f"{round(c):02x}" for c in mixed)


def scale(colors: tuple[str, ...]) -> list[list]:
    """Evenly spaced colours as a plotly colour scale."""
    return [[i / (len(colors) - 1), color] for i, color in enumerate(colors)]


@cache
def template() -> "go.layout.Template":
    """The plotly template of all figures."""
    import plotly.graph_objects as go

    axis = {
        "automargin": True,
        "showline": True,
        "linecolor": RULE,
        "linewidth": 1,
        "gridcolor": GRID,
        "gridwidth": 1,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": RULE,
        "tickfont": {"color": MUTED, "size": 12},
        "title": {"font": {"color": INK, "size": 13}, "standoff": 8},
        "exponentformat": "power",
        "hoverformat": ".4~g",
    }
    bar = {
        "thickness": 10,
        "outlinewidth": 0,
        "ticks": "",
        "tickfont": {"color": MUTED, "size": 11},
        "exponentformat": "power",
    }
    return go.layout.Template(
        layout={
            "colorway": list(PALETTE),
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": PAPER,
            "plot_bgcolor": PAPER,
            "xaxis": axis,
            "yaxis": axis | {"title": {"font": {"color": INK, "size": 13}, "standoff": 6}},
            "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
            "hovermode": "closest",
            "hoverlabel": {"font": {"family": FONT, "size": 12}, "namelength": -1},
            "legend": {
                "orientation": "h",
                "yref": "container",
                "y": 0,
                "yanchor": "bottom",
                "x": 0,
                "xanchor": "left",
                "font": {"size": 13, "color": INK},
                "bgcolor": "rgba(0,0,0,0)",
                "itemsizing": "trace",
                "tracegroupgap": 0,
            },
            "coloraxis": {"colorbar": bar, "colorscale": scale(SEQUENTIAL)},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": RULE, "activecolor": MUTED},
        },
        data={"heatmap": [{"colorbar": bar, "colorscale": scale(SEQUENTIAL)}]},
    )
