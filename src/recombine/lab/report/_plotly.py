"""Figures for a page: as small JSON, and their data as a table."""

import base64
import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from ._text import with_subscripts

if TYPE_CHECKING:
    import plotly.graph_objects as go

DIGITS = 5
"""Significant digits of the numbers in a page's figures. The CSV file has all digits."""

COLUMNS = ("panel", "series", "kind", "step", "line", "x", "y", "low", "high", "row", "column",
           "value")  # fmt: skip


def to_json(figure: "go.Figure") -> str:
    """`figure` as JSON that may stand inside a script element."""
    from plotly.utils import PlotlyJSONEncoder

    document = json.dumps(
        _with_subscripts(_compact(_styled(figure).to_dict())),
        cls=PlotlyJSONEncoder,
        separators=(",", ":"),
    )
    # As in `htmlsafe_json_dumps`: no text can close the element or open another one.
    for character in "<>&'":
        document = document.replace(character, f"\\u{ord(character):04x}")
    return document


def to_csv(figure: "go.Figure") -> str:
    """The numbers that `figure` shows, one per row; empty for a drawing."""
    titles = _panels(figure)
    blocks = [block for trace in _all_traces(figure.to_dict()) for block in _blocks(trace, titles)]
    used = [c for c in COLUMNS if any(c in b.head or c in b.columns for b in blocks)]
    if not blocks:
        return ""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(used)
    for block in blocks:
        count = len(next(iter(block.columns.values())))
        same = {c: [block.head.get(c, "")] * count for c in used}
        writer.writerows(zip(*(block.columns.get(c, same[c]) for c in used), strict=True))
    return file.getvalue()


def explained(figure: "go.Figure") -> str:
    """What the lines of seeds, the bars and the bands of `figure` mean; empty without any."""
    kinds: dict[str, bool] = {}
    for trace in figure.data:
        meta = trace.meta if isinstance(trace.meta, dict) else {}
        if meta.get("kind") == "seeds":
            name = "points" if trace.mode == "markers" else "band" if trace.fill else "lines"
            kinds[name] = True
        if meta.get("bars"):
            kinds["bars"] = True
    return " ".join(text for name, text in EXPLAINED.items() if name in kinds)


EXPLAINED = {
    "lines": "Thin lines: single seeds.",
    "points": "Pale points: single seeds.",
    "bars": "Bars: 95 % interval of the mean over seeds, cut off where the quantity ends.",
    "band": "Band: one standard deviation over seeds on either side of the mean.",
}


@dataclass(frozen=True)
class _Block:
    """Rows of the table that share the values in `head`."""

    head: dict[str, Any]
    columns: dict[str, Sequence[Any]]


def _styled(figure: "go.Figure") -> "go.Figure":
    """The figure, with our template unless it has its own."""
    import plotly.io

    from ..figures import template

    if figure.layout.template == plotly.io.templates[plotly.io.templates.default]:
        figure.update_layout(template=template())
    return figure


LETTERED = ("text", "name", "label", "prefix", "x", "y", "ticktext")
"""Where a figure has words that are shown; abscissae may be words, too."""


def _with_subscripts(node: Any, key: str = "") -> Any:
    """The figure, with `X_1` in its names, titles and labels as an X with a subscript."""
    if isinstance(node, dict):
        return node if _is_array(node) else {k: _with_subscripts(v, k) for k, v in node.items()}
    if isinstance(node, list):
        return [_with_subscripts(v, key) for v in node]
    if isinstance(node, str) and key in LETTERED:
        return with_subscripts(node)
    return node


def _is_array(node: Any) -> bool:
    return isinstance(node, dict) and "bdata" in node and "dtype" in node


def _decode(node: dict[str, Any]) -> np.ndarray:
    array = np.frombuffer(base64.b64decode(node["bdata"]), f"<{node['dtype']}")
    shape = node.get("shape")
    return array.reshape([int(n) for n in str(shape).split(",")]) if shape else array


def _compact(node: Any) -> Any:
    if _is_array(node):
        array = _smallest(_decode(node))
        packed = base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        return {**node, "dtype": kind, "bdata": packed}
    if isinstance(node, dict):
        return {k: _compact(v) for k, v in node.items()}
    if isinstance(node, (list, tuple)):
        return [_compact(v) for v in node]
    if isinstance(node, (float, np.floating)):
        return float(f"{node:.{DIGITS}g}") if np.isfinite(node) else None
    return node


def _smallest(array: np.ndarray) -> np.ndarray:
    """Whole numbers as short integers, others rounded and, if that loses nothing, in 32 bits."""
    if array.dtype.kind != "f" or not array.size:
        return array
    finite = array[np.isfinite(array)]
    if finite.size == array.size and np.all(finite == np.round(finite)):
        most = float(np.abs(finite).max())
        for kind in (np.int8, np.int16, np.int32):
            if most <= np.iinfo(kind).max:
                return array.astype(kind)
    rounded = _rounded(array)
    magnitudes = np.abs(finite[finite != 0])
    single = np.finfo(np.float32)
    if magnitudes.size == 0 or (magnitudes.min() > single.tiny and magnitudes.max() < single.max):
        return rounded.astype(np.float32)
    return rounded


def _rounded(array: np.ndarray) -> np.ndarray:
    rounded = np.array(array, np.float64)
    chosen = np.isfinite(rounded) & (rounded != 0)
    values = rounded[chosen]
    exponents = np.floor(np.log10(np.abs(values)))
    # Numbers of the smallest magnitudes have no such power of ten: they stay as they are.
    with np.errstate(over="ignore", invalid="ignore"):
        power = 10.0 ** (DIGITS - 1 - exponents)
        shortened = np.round(values * power) / power
    rounded[chosen] = np.where(np.isfinite(shortened), shortened, values)
    return rounded


def _panels(figure: "go.Figure") -> list[str]:
    meta = figure.layout.meta
    return list(meta.get("panels", ())) if isinstance(meta, dict) else []


def _all_traces(figure: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The traces of a figure, with every version of those that change over its steps."""
    frames = figure.get("frames") or ()
    changing = {i for frame in frames for i in frame["traces"]}
    for i, trace in enumerate(figure["data"]):
        if i not in changing:
            yield trace
    for frame in frames:
        for i, changed in zip(frame["traces"], frame["data"], strict=True):
            yield figure["data"][i] | {"z": changed["z"], "step": frame["name"]}


def _blocks(trace: dict[str, Any], titles: list[str]) -> Iterator[_Block]:
    meta = trace["meta"] if isinstance(trace.get("meta"), dict) else {}
    place = int(str(trace.get("xaxis") or "x")[1:] or 1) - 1
    head = {
        "panel": (titles[place] if place < len(titles) else "") or (place + 1 if place else ""),
        "series": trace.get("name"),
        "kind": meta.get("kind"),
    }
    head = {k: v for k, v in head.items() if v}
    if "z" in trace:
        for block in _cells(head, np.asarray(_values(trace["z"]), float), meta.get("tiles")):
            step = {"step": trace["step"]} if "step" in trace else {}
            yield _Block(block.head | step, block.columns)
    elif "y" in trace and not _is_decoration(trace):
        yield from _points(head, trace)


def _is_decoration(trace: dict[str, Any]) -> bool:
    """Whether a trace is a frame, a label or the like: without name and hover text."""
    nameless = not trace.get("name") and trace.get("hoverinfo") == "skip"
    return nameless or "text" in str(trace.get("mode"))


def _points(head: dict[str, Any], trace: dict[str, Any]) -> Iterator[_Block]:
    """The points of a trace; missing values separate the lines of seeds."""
    ys = _values(trace["y"])
    columns: dict[str, Sequence[Any]] = {
        "x": _values(trace["x"]) if "x" in trace else range(len(ys)),
        "y": ys,
    }
    bars = trace.get("error_y", {})
    if bars.get("array") is not None:
        below, above = _values(bars.get("arrayminus", bars["array"])), _values(bars["array"])
        columns |= {
            "low": [y - b for y, b in zip(ys, below, strict=True)],
            "high": [y + a for y, a in zip(ys, above, strict=True)],
        }
    present = np.array([y is not None and y == y for y in ys], bool)
    if head.get("kind") == "seeds" and trace.get("mode") == "lines":
        columns["line"] = (1 + np.cumsum(~present)).tolist()
    if present.any():
        yield _Block(head, {k: list(compress(v, present)) for k, v in columns.items()})


def _cells(head: dict[str, Any], z: np.ndarray, tiles: dict[str, Any] | None) -> Iterator[_Block]:
    """The cells of a heat map; of an image of tiles, the cells of each tile."""
    corners = tiles["corners"] if tiles else [(0, 0)]
    high, wide = (tiles["rows"], tiles["columns"]) if tiles else z.shape
    rows, columns = np.indices((high, wide)).reshape(2, -1).tolist()
    for i, (top, left) in enumerate(corners):
        panel = (tiles["titles"][i] or i + 1) if tiles else head.get("panel", head.get("series"))
        cells = z[top : top + high, left : left + wide].ravel().tolist()
        yield _Block(
            {"panel": panel} if panel else {},
            {"row": rows, "column": columns, "value": cells},
        )


def _values(node: Any) -> list:
    return _decode(node).tolist() if _is_array(node) else list(node)
