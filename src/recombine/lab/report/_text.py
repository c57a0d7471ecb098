"""Numbers, evidence and notes as text for a page."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..specs import shown
from ._formulas import with_formulas

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

DIGITS = 6
"""Significant digits of a number."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SUBSCRIPT = re.compile(r"(?<![\w<&])([A-Za-zα-ωΑ-Ω])_([^\W_]{1,3})(?!\w)")
"""A symbol of one letter with a short index: `X_1`, `M_hat`."""
WEB_ADDRESS = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:)\]]")


def number(value: float, digits: int = DIGITS) -> str:
    """A number as people write it: `0.0123`, `1.2×10⁻⁷`."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "not a number")
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return text.replace("-", "−")


def value(thing: Any) -> str:
    """A setting or a piece of evidence in words."""
    if thing is None:
        return "–"
    if isinstance(thing, bool):
        return "yes" if thing else "no"
    if isinstance(thing, float):
        return number(thing)
    if isinstance(thing, int):
        return str(thing).replace("-", "−")
    if isinstance(thing, (list, tuple)):
        return ", ".join(map(value, thing)) if thing else "none"
    if isinstance(thing, dict) and "spec" not in thing:
        return ", ".join(f"{k} = {value(v)}" for k, v in thing.items()) if thing else "none"
    return str(shown(thing))


def slug(text: str) -> str:
    """Text as a part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "study"


def words(key: str) -> str:
    """An identifier as words: `_` becomes a space."""
    return key.replace("_", " ")


@dataclass(frozen=True)
class Evidence:
    """How to lay out a piece of evidence: as `text`, as `pairs`, or as a table of `rows`."""

    text: str = ""
    pairs: Sequence[tuple[str, "Evidence"]] = ()
    header: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[str]]] = ()
    labelled: bool = False
    """Whether the rows of the table have names."""


def evidence(thing: Any) -> Evidence:
    """Plain values as text, records with the same fields as a table, all else as nested pairs."""
    if isinstance(thing, dict) and thing:
        if _is_table(thing.values()):
            header = list(next(iter(thing.values())))
            rows = [(words(k), [value(v[h]) for h in header]) for k, v in thing.items()]
            return Evidence(header=[words(h) for h in header], rows=rows, labelled=True)
        return Evidence(pairs=[(words(k), evidence(v)) for k, v in thing.items()])
    if isinstance(thing, (list, tuple)) and thing:
        if _is_table(thing):
            header = list(thing[0])
            rows = [("", [value(v[h]) for h in header]) for v in thing]
            return Evidence(header=[words(h) for h in header], rows=rows)
        if all(isinstance(v, (list, tuple)) and not _holds_records(v) for v in thing):
            return Evidence(rows=[("", [value(v) for v in row]) for row in thing])
        if _holds_records(thing):
            return Evidence(pairs=[(str(i + 1), evidence(v)) for i, v in enumerate(thing)])
    return Evidence(text=value(thing))


def statements(evidence: dict[str, Any]) -> dict[str, Any]:
    """Evidence in which the statements of a claim are records with the same fields."""
    found = {k: v for k, v in evidence.items() if isinstance(v, dict) and "verdict" in v}
    waits = any("seeds needed" in v for v in found.values())
    rows = {}
    for name, one in found.items():
        number, *_ = one.values()
        interval = next((v for k, v in one.items() if k.endswith("interval")), "")
        if isinstance(interval, dict):
            interval = "; ".join(f"{side} {value(limit)}" for side, limit in interval.items())
        elif interval:
            interval = " to ".join(map(value, interval))
        row = {"found": number, "interval": interval, "n": one.get("n", ""), "": one["verdict"]}
        rows[name] = row | ({"seeds needed": one.get("seeds needed", "")} if waits else {})
    rest = {k: v for k, v in evidence.items() if k not in found and k != "seeds"}
    return rows if not rest else rest | ({"statements": rows} if rows else {})


def _is_table(things: Any) -> bool:
    """Whether these are records with the same fields and plain values."""
    things = list(things)
    return (
        all(isinstance(t, dict) and t for t in things)
        and len({tuple(t) for t in things}) == 1
        and all(_is_short(v) for t in things for v in t.values())
    )


def _is_short(thing: Any) -> bool:
    """Whether `thing` fits into a table's cell: a value, or a range."""
    if isinstance(thing, (list, tuple)):
        return len(thing) <= 2 and not _holds_records(thing)
    return not isinstance(thing, dict)


def _holds_records(things: Any) -> bool:
    return any(isinstance(t, (dict, list, tuple)) for t in things)


SMALL = re.compile(r"&lt;(/?su[bp]|br)&gt;")


def markdown(text: str, sub: bool = False) -> Markup:
    """A study's notes as HTML. Headings rank below the page's own; pictures and HTML stay text.

    **Arguments:**

    - `sub`: whether tags of subscripts, superscripts and line breaks are tags.
    """
    formulas: list[str] = []

    def put(html: str) -> str:
        formulas.append(html)
        return f"formula-{len(formulas) - 1}-here"

    parser = _markdown()
    tokens = parser.parse(with_formulas(text, put))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
    html = parser.renderer.render(tokens, parser.options, {})
    for place, drawn in enumerate(formulas):
        html = html.replace(f"<p>formula-{place}-here</p>", drawn, 1)
    return Markup(SMALL.sub(r"<\1>", html) if sub else html)


def inline(text: str) -> Markup:
    """A line of text as HTML, with `code` and the indices of symbols, as in X_1, as all markup."""
    html = _code_only().renderInline(text)
    parts = re.split(r"(<code>.*?</code>)", html)
    parts[::2] = [with_subscripts(part) for part in parts[::2]]
    return Markup("".join(parts))


def with_subscripts(text: str) -> str:
    """Text in which `X_1` is an X with a subscript."""
    return SUBSCRIPT.sub(r"\1<sub>\2</sub>", text)


def linked(text: str) -> Markup:
    """Text with its web addresses as links."""
    parts, last = [], 0
    for found in WEB_ADDRESS.finditer(text):
        address = escape(found.group())
        parts += [escape(text[last : found.start()]), f'<a href="{address}">{address}</a>']
        last = found.end()
    return Markup("".join([*parts, escape(text[last:])]))


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@cache
def _code_only() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"html": False}).enable("backticks")
