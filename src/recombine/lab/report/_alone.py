"""A page that is one file: its style, its figures and the library that draws them are inside."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from recombine import __version__

from ..figures._theme import DARK
from . import _plotly
from ._build import HERE, _embedded, _templates

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Shown(NamedTuple):
    """A figure of a page."""

    name: str
    title: str
    caption: str
    json: str
    height: int


def page_of_its_own(
    template: str, values: Mapping[str, Any], figures: "Mapping[str, tuple[str, str, go.Figure]]"
) -> str:
    """A template of the report, filled in.

    **Arguments:**

    - `template`: its file; it extends `alone.html.j2`.
    - `values`: what it names.
    - `figures`: by name, a title, a caption and a figure.
    """
    import plotly

    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    shown = [
        Shown(name, title, caption, _plotly.to_json(figure), round(figure.layout.height or 450))
        for name, (title, caption, figure) in figures.items()
    ]
    return (
        _templates()
        .get_template(template)
        .render(
            dict(values),
            figures=shown,
            version=__version__,
            written=datetime.now(UTC),
            style=_asset("report.css"),
            script=_asset("study.js"),
            plotly=_inside(library.read_text(encoding="utf-8")),
            dark=_embedded(DARK),
        )
    )


def _asset(name: str) -> Markup:
    return _inside((HERE / "assets" / name).read_text(encoding="utf-8"))


def _inside(text: str) -> Markup:
    """Text that cannot end the element of style or script that it stands in."""
    return Markup(text.replace("</script", "<\\/script"))
