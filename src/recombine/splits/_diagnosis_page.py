"""A diagnosis as one HTML page, in the look of the report on studies."""

import importlib.resources
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ._diagnosis_sections import sections
from ._diagnosis_words import Section
from ._item_support import SUPPORT_KINDS
from ._table_diagnosis import TableDiagnosis
from ._text_diagnosis import TextDiagnosis

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis

_COLOURS = ("#56b4e9", "#009e73", "#dc9d00", "#d55e00", "#b3261e")
"""Of the kinds of support, from the most to the least."""
_CELL = 14
_MOST_VALUES = 40
_MOST_MAPS = 6
_BARS = 20


def page(d: "Diagnosis") -> str:
    """The page, with everything that it needs inside."""
    import jinja2
    from markupsafe import Markup

    from recombine import __version__

    package = importlib.resources.files("recombine")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["slug"] = lambda name: re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    template = environment.from_string(_resource(package / "splits" / "_diagnosis.html.j2"))
    return template.render(
        version=__version__,
        look=Markup(_resource(package / "lab" / "report" / "assets" / "report.css")),
        title=" → ".join(title for title in d.titles if title),
        tested=d.test_rows is not None,
        verdict=d.verdict,
        sections=[
            {**vars(s), "short": s.short, "drawing": Markup(_drawing(s))} for s in sections(d)
        ],
    )


def _resource(path: Any) -> str:
    return path.read_text(encoding="utf-8")


def _drawing(section: Section) -> str:
    of = section.of
    if of is None:
        return ""
    if section.picture == "kinds":
        return _shares(of)
    if section.picture == "difficulty":
        return _histogram(of)
    if section.picture == "pairs" and isinstance(of, TableDiagnosis):
        return _maps(of)
    return ""


def _shares(of: TableDiagnosis | TextDiagnosis) -> str:
    """One bar with a piece for every kind of support."""
    counts = {kind: n for kind, n in of.kind_counts.items() if n}
    colours: dict[str, str] = dict(zip(SUPPORT_KINDS, _COLOURS, strict=True))
    bar = "".join(
        f'<span style="flex:{n};background:{colours[kind]}"></span>' for kind, n in counts.items()
    )
    key = "".join(
        f'<span><i style="background:{colours[kind]}"></i>{kind}: {n:,}</span>'
        for kind, n in counts.items()
    )
    told = ", ".join(f"{kind} {n}" for kind, n in counts.items())
    return (
        f'<div class="shares" role="img" aria-label="Items by kind of support: {told}">{bar}</div>'
        f'<div class="key">{key}</div>'
    )


def _histogram(of: TableDiagnosis | TextDiagnosis) -> str:
    """How many items have which predicted difficulty."""
    counts, _ = np.histogram(of.difficulty[of.kinds > 0], _BARS, (0, 1))
    width, height, top = 640, 120, max(int(counts.max()), 1)
    step = width / _BARS
    bars = "".join(
        f'<rect x="{n * step + 1:.1f}" y="{height * (1 - count / top):.1f}" width="{step - 2:.1f}"'
        f' height="{height * count / top:.1f}" rx="2" fill="#0072b2"><title>{n / _BARS:.2f} to'
        f" {(n + 1) / _BARS:.2f}: {count}</title></rect>"
        for n, count in enumerate(counts.tolist())
    )
    ticks = "".join(
        f'<text x="{width * t:.0f}" y="{height + 16}" text-anchor="middle">{t:g}</text>'
        for t in (0.25, 0.5, 0.75)
    )
    return (
        f'<div class="histogram"><svg viewBox="0 0 {width} {height + 22}" role="img" aria-label='
        f'"Histogram of predicted difficulty">{bars}<line x1="0" x2="{width}" y1="{height}"'
        f' y2="{height}" stroke="currentColor" opacity="0.3"/>{ticks}<text x="0" y="{height + 16}">'
        f'0 easy</text><text x="{width}" y="{height + 16}" text-anchor="end">1 unknown</text></svg>'
        "</div>"
    )


def _maps(table: TableDiagnosis) -> str:
    """Which pairs of values are trained, and which are asked for, for every two factors."""
    from ._set_counts import SetCounts

    split = table.split
    drawn: list[str] = []
    asked_items = table.items if table.asked_are == "the test" else table.items[:0]
    for (f, g), counts in split.trained_pairs.items():
        rows, columns = split.sizes[f], split.sizes[g]
        if max(rows, columns) > _MOST_VALUES or len(drawn) == _MOST_MAPS:
            continue
        seen = counts.counts.reshape(rows, columns)
        asked = SetCounts(asked_items, (f, g), split.sizes).counts.reshape(rows, columns)
        drawn.append(_map(table, (f, g), seen, asked))
    if not drawn:
        return ""
    key = (
        '<div class="key"><span><i style="background:#12659f"></i>trained (darker: in more'
        ' combinations)</span><span><i style="outline:2px solid #d55e00"></i>asked for, and not'
        " trained</span></div>"
    )
    return f'<div class="maps">{"".join(drawn)}</div>{key}'


def _map(table: TableDiagnosis, pair: tuple[int, int], seen: np.ndarray, asked: np.ndarray) -> str:
    from markupsafe import escape

    first, second = (table.split.factors[f] for f in pair)
    rows, columns = seen.shape
    top, cells = np.log1p(max(int(seen.max()), 1)), []
    for r in range(rows):
        for c in range(columns):
            values = f"{table.split.values[pair[0]][r]}, {table.split.values[pair[1]][c]}"
            opacity = 0.08 if not seen[r, c] else 0.35 + 0.65 * np.log1p(seen[r, c]) / top
            colour = "#12659f" if seen[r, c] else "#98a2b2"
            wanted = bool(asked[r, c]) and not seen[r, c]
            edge = ' stroke="#d55e00" stroke-width="2" stroke-opacity="1"' if wanted else ""
            cells.append(
                f'<rect x="{c * _CELL + 1}" y="{r * _CELL + 19}" width="{_CELL - 2}" height='
                f'"{_CELL - 2}" rx="2" fill="{colour}" fill-opacity="{opacity:.2f}"{edge}><title>'
                f"{escape(values)}: {seen[r, c]}</title></rect>"
            )
    width, height = max(columns * _CELL, 120), rows * _CELL + 20
    name = f"{escape(first)} x {escape(second)}"
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="Trained pairs'
        f' of {name}"><text x="0" y="12">{name}</text>{"".join(cells)}</svg>'
    )
