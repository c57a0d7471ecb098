"""Writes the report: pages, figures, data."""

import importlib.resources
import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from recombine import __version__

from ..errors import UserError
from ..figures._theme import DARK
from ..files import only
from ..registry import listed, load
from ..store import Store
from ..words import duration
from . import _text
from ._folder import refuse_foreign, replacing
from ._page import VERDICTS, Drawing, StudyPage, gather, told

HERE = importlib.resources.files(__package__ or "recombine.lab.report")


@dataclass(frozen=True)
class Unreadable:
    """A study in the store whose code is gone or no longer loads."""

    reference: str
    reason: str


def write_report(
    store: Store,
    out: str | Path,
    on_left_out: Callable[[str, str], None] = lambda reference, reason: None,
    files: Sequence[str | Path] = (),
) -> Path:
    """Write a site of everything in `store` to the folder `out`.

    An earlier report in that folder is replaced; a folder of anything else is refused.

    **Arguments:**

    - `store`: what the report shows, in the state in which it is now.
    - `out`: a folder.
    - `on_left_out`: told of every study that cannot be shown: what it was loaded from, and why.
    - `files`: Python files that may be run, with studies or specs that the store names; those that
        have been run before may stay.

    **Returns:**

    The path of its first page.
    """
    target = Path(out).resolve()
    refuse_foreign(target)
    with store.snapshot(), only(files):
        pages, unreadable = _gather(store)
    for study in unreadable:
        on_left_out(study.reference, study.reason)
    written = datetime.now(UTC)
    with replacing(target) as folder:
        _write_assets(folder / "assets")
        addresses = _addresses(pages)
        templates = _templates()
        shared = {"version": __version__, "written": written, "verdict_words": VERDICTS}
        for i, page in enumerate(pages):
            address = addresses[i]
            data = {d.figure.name: _write_data(folder, address, d) for d in page.drawings}
            around = {
                "previous": (pages[i - 1], addresses[i - 1]) if i else None,
                "following": (pages[i + 1], addresses[i + 1]) if i + 1 < len(pages) else None,
            }
            html = templates.get_template("study.html.j2").render(
                shared | around, page=page, data=data, root="../../", dark=_embedded(DARK)
            )
            _write(folder / f"studies/{address}.html", html)
        families: dict[str, list[tuple[StudyPage, str]]] = {}
        for page, address in zip(pages, addresses, strict=True):
            families.setdefault(page.study.family, []).append((page, address))
        html = templates.get_template("index.html.j2").render(
            shared, families=families, unreadable=unreadable, totals=_totals(pages), dark=DARK,
            root="",
        )  # fmt: skip
        _write(folder / "index.html", html)
        document = _document(pages, addresses, written)
        _write(folder / "data.json", json.dumps(document, indent=1, allow_nan=False, default=str))
    return Path(out) / "index.html"


def _gather(store: Store) -> tuple[list[StudyPage], list[Unreadable]]:
    pages, unreadable = [], []
    for reference in store.references():
        try:
            study = load(reference)
        except Exception as error:  # one study that raises must not hide the others
            unreadable.append(Unreadable(reference, _why(reference, error)))
            continue
        for settings in store.all_settings(study.name):
            try:
                pages.append(gather(study, settings, store))
            except Exception as error:  # nor one of its settings
                unreadable.append(Unreadable(reference, _why(reference, error)))
    if not pages and not unreadable:
        raise UserError(f"the store {store.folder} is empty: run a study first")
    pages.sort(key=_family_order(pages))
    return pages, unreadable


def _why(reference: str, error: Exception) -> str:
    if reference not in listed() and not reference.endswith(".py"):
        return "this version of recombine has no such study"
    return str(error) if isinstance(error, UserError) else told(error)


def _family_order(pages: Sequence[StudyPage]):
    """A sort key that groups studies by family and otherwise keeps their order."""
    order = list(dict.fromkeys(p.study.family for p in pages))
    return lambda page: order.index(page.study.family)


def _addresses(pages: Sequence[StudyPage]) -> list[str]:
    """One path per page, unique and safe as a file name: `family/study`."""
    addresses: list[str] = []
    for page in pages:
        family, _, name = page.study.name.partition("/")
        address = base = f"{_slug(family)}/{_slug(name or family)}"
        nth = 2
        while address in addresses:
            address, nth = f"{base}-{nth}", nth + 1
        addresses.append(address)
    return addresses


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "study"


def _write_data(folder: Path, address: str, drawing: Drawing) -> str:
    """Write a figure's data. Returns its path in the report's folder, empty without data."""
    if not drawing.json:
        return ""
    content, kind = (drawing.table, "csv") if drawing.table else (drawing.json, "json")
    path = f"data/{address}/{_slug(drawing.figure.name)}.{kind}"
    _write(folder / path, content)
    return path


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # What a study contains may be text that no file takes: half a surrogate pair.
    path.write_text(content, encoding="utf-8", errors="backslashreplace")


def _write_assets(folder: Path) -> None:
    import plotly

    folder.mkdir()
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    shutil.copyfile(library, folder / library.name)
    for name in ("report.css", "report.js"):
        _write(folder / name, (HERE / "assets" / name).read_text(encoding="utf-8"))


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(
            lambda name: (HERE / "templates" / name).read_text(encoding="utf-8")
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (_text.number, _text.value, _text.words, _text.inline, _text.linked,
                     _text.markdown, duration, _slug):  # fmt: skip
        environment.filters[function.__name__.lstrip("_")] = function
    environment.filters["embedded"] = Markup
    return environment


def _embedded(document: Any) -> Markup:
    return Markup(json.dumps(document))


def _totals(pages: Sequence[StudyPage]) -> dict[str, int]:
    return {word: sum(p.verdicts[word] for p in pages) for word in VERDICTS}


def _document(pages: Sequence[StudyPage], addresses: Sequence[str], written: datetime) -> Any:
    """All numbers of the pages as one document."""
    return _finite(
        {
            "recombine": __version__,
            "written": written.isoformat(timespec="seconds"),
            "claims": [vars(c.verdict) | {"where": c.claim.where} for p in pages for c in p.claims],
            "studies": [
                {
                    "study": p.study.name,
                    "title": p.study.title,
                    "page": f"studies/{address}.html",
                    "preset": p.settings.preset,
                    "overrides": p.settings.overrides,
                    "seeds": p.results.seeds,
                    "trials": len(p.results.records),
                    "earlier": p.results.earlier,
                    "failed": len(p.failures),
                    "seconds": p.seconds,
                    "verdicts": p.verdicts,
                    "numbers": [_number_document(n) for n in p.numbers],
                }
                for p, address in zip(pages, addresses, strict=True)
            ],
        }
    )


def _number_document(number: Any) -> dict[str, Any]:
    ours = {"mean": number.mean, "low": number.low, "high": number.high, "seeds": number.seeds}
    return {
        "quantity": number.quantity,
        "ours": ours if number.seeds else None,
        "paper": vars(number.paper),
    }


def _finite(thing: Any) -> Any:
    """`thing` with null for numbers that JSON does not have: infinities and NaN."""
    if isinstance(thing, dict):
        return {k: _finite(v) for k, v in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_finite(v) for v in thing]
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing
