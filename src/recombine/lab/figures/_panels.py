"""Figures of one or several panels, side by side on a wide page and stacked on a narrow one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ._theme import INK, template

if TYPE_CHECKING:
    import plotly.graph_objects as go

Value = TypeVar("Value", str, bool)

# Pixels.
TOP, BOTTOM = 40, 92
PLAIN_TOP = 16
ALONE, SIDE_BY_SIDE, STACKED = 320, 270, 230
BETWEEN_ROWS = 96

LOG = {"type": "log", "tickfont": {"size": 10}}
"""plotly enlarges powers of ten by a quarter; these come out as large as other tick labels."""


def panels(
    *titles: str,
    x: str | Sequence[str],
    y: str | Sequence[str],
    columns: int | None = None,
    log_x: bool | Sequence[bool] = False,
    log_y: bool | Sequence[bool] = False,
    shared_y: bool = False,
) -> "go.Figure":
    """An empty figure with one panel per title.

    **Arguments:**

    - `titles`: titles of the panels; a single `""` for a plain figure.
    - `x`, `y`: axis titles, one for all panels or one per panel.
    - `columns`: how many panels stand side by side; by default up to three.
    - `log_x`, `log_y`: whether axes are logarithmic, one value for all panels or one per panel.
    - `shared_y`: whether all panels share the scale of the y axis.

    **Returns:**

    The figure. Functions that add to it count panels from 0, row by row.
    """
    from plotly.subplots import make_subplots

    titles = titles or ("",)
    count = len(titles)
    columns = min(columns or 3, count)
    rows = -(-count // columns)
    row_height = ALONE if columns == 1 and rows == 1 else SIDE_BY_SIDE
    top = TOP if any(titles) else PLAIN_TOP
    figure = make_subplots(
        rows=rows,
        cols=columns,
        specs=[[{} if r * columns + c < count else None for c in range(columns)]
               for r in range(rows)],
        horizontal_spacing=0.22 / columns,
        vertical_spacing=_spacing(rows, row_height),
    )  # fmt: skip
    for i in range(count):
        for letter, words, log in (("x", x, log_x), ("y", y, log_y)):
            figure.layout[axis(i, letter)].update(
                {"title": {"text": _each(words, i, count)}} | (LOG if _each(log, i, count) else {})
            )
        if shared_y and i:
            figure.layout[axis(i, "y")].matches = anchor(0, "y")
    figure.update_layout(
        template=template(),
        annotations=[panel_title(title, i) for i, title in enumerate(titles) if title],
        height=_height(rows, row_height, top),
        margin={"t": top},
        meta={"panels": list(titles), "narrow": {"layout": _stacked(count, top)}},
    )
    return figure


def axis(panel: int, letter: str) -> str:
    """The layout's key of a panel's axis: `xaxis`, `xaxis2`..."""
    return f"{letter}axis{panel + 1 if panel else ''}"


def anchor(panel: int, letter: str) -> str:
    """A trace's reference to a panel's axis: `x`, `x2`..."""
    return f"{letter}{panel + 1 if panel else ''}"


def check_panel(figure: "go.Figure", panel: int) -> None:
    if panel < 0 or axis(panel, "x") not in figure.layout.to_plotly_json():
        raise IndexError(f"the figure has no panel {panel}; the first is 0")


def panel_title(title: str, panel: int) -> dict[str, Any]:
    """An annotation at the upper left of a panel, which moves with the panel."""
    return {
        "text": f"<b>{title}</b>",
        "font": {"size": 14, "color": INK},
        "showarrow": False,
        "xref": f"{anchor(panel, 'x')} domain",
        "yref": f"{anchor(panel, 'y')} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 5,
    }


def _each(value: Value | Sequence[Value], i: int, count: int) -> Value:
    if isinstance(value, (str, bool)):
        return value
    if len(value) != count:
        raise ValueError(f"{len(value)} values for {count} panels")
    return value[i]


def _height(rows: int, row_height: int, top: int) -> int:
    return top + rows * row_height + (rows - 1) * BETWEEN_ROWS + BOTTOM


def _spacing(rows: int, row_height: int) -> float:
    return BETWEEN_ROWS / (rows * row_height + (rows - 1) * BETWEEN_ROWS)


def _stacked(count: int, top: int) -> dict[str, Any]:
    """The changes to the layout if there is room for one column only."""
    whole = count * STACKED + (count - 1) * BETWEEN_ROWS
    layout: dict[str, Any] = {"height": _height(count, STACKED, top)}
    for i in range(count):
        upper = 1 - i * (STACKED + BETWEEN_ROWS) / whole
        layout[axis(i, "x")] = {"domain": [0, 1]}
        layout[axis(i, "y")] = {"domain": [max(upper - STACKED / whole, 0), upper]}
    return layout
