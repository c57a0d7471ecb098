"""Grids of heat maps: a few large ones as panels, many small ones as tiles of one image."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._panels import anchor, axis, panel_title
from ._places import Places
from ._theme import DIVERGING, INK, MUTED, PALETTE, SEQUENTIAL, scale, template

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_PANELS = 8
"""The largest number of panels; more heat maps become tiles of one image, which draws faster."""

# Pixels.
WIDEST, PANEL, NARROW_PANEL = 900, 250, 215
IMAGE, NARROW_IMAGE, HIGHEST_IMAGE = 640, 225, 680
TITLE = 11
LEFT, RIGHT, BAR, BOTTOM = 40, 16, 60, 44


def heatmaps(
    arrays: Sequence[ArrayLike] | np.ndarray,
    titles: Sequence[str] | None = None,
    *,
    columns: int | None = None,
    x: str = "",
    y: str = "",
    diverging: bool = False,
    shared_scale: bool = True,
    framed: Sequence[bool] | None = None,
    across: Sequence[float] | Sequence[str] | np.ndarray | None = None,
    along: Sequence[float] | Sequence[str] | np.ndarray | None = None,
    blue_is_high: bool = False,
    smooth: bool = False,
    stretched: bool = False,
) -> "go.Figure":
    """A grid of heat maps, with the first row of each array at the top unless `along` is numbers.

    **Arguments:**

    - `arrays`: each `[rows, columns]`.
    - `titles`: one per array.
    - `columns`: how many heat maps stand side by side.
    - `x`, `y`: axis titles, of each panel or of the whole image of tiles.
    - `diverging`: whether zero is the middle of the colour scale.
    - `shared_scale`: whether all heat maps share one colour scale.
    - `framed`: which heat maps get a frame.
    - `across`: coordinates or names of the columns, the same in all heat maps.
    - `along`: coordinates or names of the rows. Rows at numbers run upwards, all others downwards.
    - `blue_is_high`: reverse the diverging scale, so that blue stands for positive numbers.
    - `smooth`: interpolate between cells, for samples of a smooth function.
    - `stretched`: make all panels squares, whatever their shape; otherwise all cells are squares.

    `add_steps` gives the figure a slider. Heat maps with `across` or `along` are never tiles.
    """
    images = [np.atleast_2d(np.asarray(a, float)) for a in arrays]
    if not images:
        raise ValueError("no arrays to draw")
    names = [""] * len(images) if titles is None else list(titles)
    frames = [False] * len(images) if framed is None else [bool(f) for f in framed]
    for what, values in (("titles", names), ("framed", frames)):
        if len(values) != len(images):
            raise ValueError(f"{len(values)} {what} for {len(images)} arrays")
    places = Places(across, along)
    places.check(images)
    colors = _Colors(diverging, blue_is_high)
    tiled = len(images) > MOST_PANELS and shared_scale and len({i.shape for i in images}) == 1
    if tiled and not places.any:
        return _tiles(images, names, frames, columns, x, y, colors)
    return _panels(
        images, names, frames, columns, x, y, colors, shared_scale, places, smooth, stretched
    )


class _Colors:
    """The colour scale and the range of numbers that it covers."""

    def __init__(self, diverging: bool, blue_is_high: bool = False):
        self.diverging = diverging
        both = DIVERGING[::-1] if blue_is_high else DIVERGING
        self.scale = scale(both if diverging else SEQUENTIAL)
        self.frame = INK if diverging else PALETTE[1]

    def range(self, images: Sequence[np.ndarray], low: str, high: str) -> dict[str, float]:
        finite = np.concatenate([i[np.isfinite(i)] for i in images])
        if not finite.size:
            return {low: 0.0, high: 1.0}
        if self.diverging:
            most = float(np.abs(finite).max()) or 1.0
            return {low: -most, high: most}
        return {low: float(finite.min()), high: float(finite.max())}

    def axis(self, images: Sequence[np.ndarray], height: float) -> dict[str, Any]:
        """The colour axis that all `images` share, with a bar that fits `height`."""
        bar = {"lenmode": "pixels", "len": min(260, height)}
        return {"colorscale": self.scale, "colorbar": bar, **self.range(images, "cmin", "cmax")}


def _tiles(images, names, frames, columns, x, y, colors: _Colors) -> "go.Figure":
    import plotly.graph_objects as go

    count, (high, wide) = len(images), images[0].shape
    columns = min(columns or int(np.ceil(np.sqrt(count))), count)
    rows = -(-count // columns)
    gap = max(1, round(0.12 * wide))
    cells = columns * (wide + gap)
    head = gap
    if any(names):  # room for a line of text above each tile
        pixels = min(IMAGE / cells, HIGHEST_IMAGE / (rows * (high + gap)))
        head += int(np.ceil(TITLE / pixels))
    whole = np.full((rows * (high + head), cells), np.nan)
    corners = []
    for i, image in enumerate(images):
        top, left = (i // columns) * (high + head) + head, (i % columns) * (wide + gap)
        whole[top : top + high, left : left + wide] = image
        corners.append((top, left))
    figure = go.Figure(
        go.Heatmap(
            z=whole,
            coloraxis="coloraxis",
            hoverongaps=False,
            hovertemplate="%{z:.4~g}<extra></extra>",
            meta={"tiles": {"rows": high, "columns": wide, "corners": corners, "titles": names}},
        )
    )
    if any(frames):
        around = [c for c, framed in zip(corners, frames, strict=True) if framed]
        figure.add_trace(_frames(around, high, wide, 0.16 * gap, colors.frame))
    if any(names):
        figure.add_trace(
            go.Scatter(
                x=np.array([left - 0.5 for _, left in corners]),
                y=np.array([top - 0.5 - 0.3 * gap for top, _ in corners]),
                text=names,
                mode="text",
                textposition="top right",
                textfont={"size": 11, "color": MUTED},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    lettering = {len(figure.data) - 1: {"textfont": {"size": 8}}} if any(names) else {}
    aspect = whole.shape[0] / whole.shape[1]
    width = min(IMAGE, HIGHEST_IMAGE / aspect)
    hidden = {"showgrid": False, "showline": False, "ticks": "", "showticklabels": False}
    figure.update_layout(
        template=template(),
        width=width + LEFT + BAR + RIGHT,
        height=width * aspect + BOTTOM + 12,
        margin={"l": LEFT, "r": RIGHT + BAR, "t": 12, "b": BOTTOM},
        coloraxis=colors.axis(images, width * aspect),
        xaxis=hidden | {"title": {"text": x}, "range": [-1, cells - gap], "constrain": "domain"},
        yaxis=hidden
        | {"title": {"text": y}, "range": [whole.shape[0], head - 1 if not any(names) else -1]}
        | {"scaleanchor": "x", "constrain": "domain"},
        meta={"narrow": {"layout": {"width": None, "height": NARROW_IMAGE * aspect + BOTTOM + 12},
                         "data": lettering}},
    )  # fmt: skip
    return figure


def _frames(
    corners: list[tuple[int, int]], high: int, wide: int, pad: float, color: str
) -> "go.Scatter":
    """All frames as one line with gaps: one shape per frame would be larger than the image."""
    import plotly.graph_objects as go

    gap = float("nan")
    xs, ys = [], []
    for top, left in corners:
        x0, x1 = left - 0.5 - pad, left + wide - 0.5 + pad
        y0, y1 = top - 0.5 - pad, top + high - 0.5 + pad
        xs += [x0, x1, x1, x0, x0, gap]
        ys += [y0, y0, y1, y1, y0, gap]
    line = {"color": color, "width": 2}
    return go.Scatter(x=np.array(xs), y=np.array(ys), mode="lines", line=line,
                      hoverinfo="skip", showlegend=False)  # fmt: skip


def _panels(
    images,
    names,
    frames,
    columns,
    x,
    y,
    colors: _Colors,
    shared: bool,
    places: Places,
    smooth: bool,
    stretched: bool,
) -> "go.Figure":
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    count = len(images)
    columns = min(columns or 3, count)
    rows = -(-count // columns)
    aspect = 1.0 if stretched else max(i.shape[0] / i.shape[1] for i in images)
    beside = 24 if shared else BAR
    below, beside_labels = places.room()
    above = (30 if any(names) else 12) + (22 if x else 0) + below
    left = (LEFT if y else RIGHT) + beside_labels
    between = beside + left - RIGHT
    frame = left + RIGHT + BAR
    panel = min(PANEL, (WIDEST - frame - (columns - 1) * between) / columns)
    width = columns * panel + (columns - 1) * between
    height = rows * panel * aspect + (rows - 1) * above
    stacked = count * NARROW_PANEL * aspect + (count - 1) * above
    figure = make_subplots(
        rows=rows,
        cols=columns,
        specs=[[{} if r * columns + c < count else None for c in range(columns)]
               for r in range(rows)],
        horizontal_spacing=between / width,
        vertical_spacing=above / height,
    )  # fmt: skip
    top, bottom = (34 if any(names) else 12), 16 + (24 if x else 0) + below
    narrow: dict[str, Any] = {"width": None, "height": stacked + top + bottom}
    narrow_bars = {}
    for i, image in enumerate(images):
        own: dict[str, Any] = {"coloraxis": "coloraxis"}
        if not shared:
            across, up = figure.layout[axis(i, "x")].domain, figure.layout[axis(i, "y")].domain
            own = {"colorscale": colors.scale} | colors.range([image], "zmin", "zmax")
            own["colorbar"] = {"x": across[1], "xpad": 6, "y": (up[0] + up[1]) / 2,
                               "len": up[1] - up[0], "thickness": 8}  # fmt: skip
        figure.add_trace(
            go.Heatmap(
                z=image,
                name=names[i],
                hovertemplate=places.hover(x, y),
                xaxis=anchor(i, "x"),
                yaxis=anchor(i, "y"),
                zsmooth="best" if smooth else None,
                **places.trace(),
                **own,
            )
        )
        line = {"showline": True, "mirror": True, "linecolor": colors.frame, "linewidth": 2.5}
        plain = {"showgrid": False, "ticks": "", "showline": False}
        look = plain | (line if frames[i] else {}) | {"constrain": "domain"}
        figure.layout[axis(i, "x")].update(look | places.ticks("x") | {"title": {"text": x}})
        figure.layout[axis(i, "y")].update(
            look
            | places.ticks("y")
            | {"title": {"text": y}}
            | ({} if stretched else {"scaleanchor": anchor(i, "x"), "scaleratio": places.ratio})
            | ({} if places.upwards else {"autorange": "reversed"})
        )
        upper = 1 - i * (NARROW_PANEL * aspect + above) / stacked
        lower = max(upper - NARROW_PANEL * aspect / stacked, 0)
        narrow[axis(i, "x")] = {"domain": [0, 1]}
        narrow[axis(i, "y")] = {"domain": [lower, upper]}
        if not shared:
            bar = {"x": 1, "y": (upper + lower) / 2, "len": upper - lower}
            narrow_bars[i] = {"colorbar": bar}
    figure.update_layout(
        template=template(),
        annotations=[panel_title(name, i) for i, name in enumerate(names) if name],
        width=width + frame,
        height=height + top + bottom,
        margin={"l": left, "r": RIGHT + BAR, "t": top, "b": bottom},
        coloraxis=colors.axis(images, height),
        meta={"panels": names, "narrow": {"layout": narrow, "data": narrow_bars}},
    )
    return figure
