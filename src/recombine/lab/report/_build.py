"""Writes the report: pages, figures, data."""

import importlib.resources
import json
import math
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
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
from ..published import names as published_names
from ..registry import listed, load
from ..rounding import interval as rounded
from ..store import Store
from ..words import duration
from . import _text
from ._folder import refuse_foreign, replacing
from ._measured import metrics_csv
from ._overview import are_open, families
from ._page import VERDICTS, Drawing, StudyPage, gather_page, told
from ._reading import docs_page, source_file

ASSETS = ("report.css", "report.js", "overview.js", "study.js")
HERE = importlib.resources.files(__package__ or "recombine.lab.report")


@dataclass(frozen=True)
class Unreadable:
    """A study in the store whose code is gone or no longer loads."""

    reference: str
    reason: str


def write_report(
    store: Store | None,
    out: str | Path,
    on_left_out: Callable[[str, str], None] = lambda reference, reason: None,
    files: Sequence[str | Path] = (),
    *,
    published: bool = False,
    docs: str = "",
) -> Path:
    """Write a site of everything in `store` to the folder `out`.

    An earlier report in that folder is replaced; a folder of anything else is refused.

    **Arguments:**

    - `store`: what the report shows, in the state in which it is now.
    - `out`: a folder.
    - `on_left_out`: told of every study that cannot be shown: what it was loaded from, and why.
    - `files`: Python files that may be run, with studies or specs that the store names; those that
        have been run before may stay.
    - `published`: whether to show the results that come with the package, too; then there need be
        no store.
    - `docs`: where the pages of the docs are, seen from `out`; by default the report has its own.

    **Returns:**

    The path of its first page.
    """
    target = Path(out).resolve()
    refuse_foreign(target)
    with store.snapshot() if store else nullcontext(), only(files):
        pages, unreadable = _gather(store, published)
        metrics = {
            (page.study.name, sheet.key): metrics_csv(sheet.results)
            for page in pages
            for sheet in page.sheets
        }
    for study in unreadable:
        on_left_out(study.reference, study.reason)
    with replacing(target) as folder:
        _Site(folder, pages, unreadable, metrics, docs).write()
    return Path(out) / "index.html"


class _Site:
    """The pages of a report, and the files that they link to."""

    def __init__(
        self,
        folder: Path,
        pages: Sequence[StudyPage],
        unreadable: Sequence[Unreadable],
        metrics: dict[tuple[str, str], str],
        docs: str,
    ):
        self.folder, self.pages, self.unreadable = folder, pages, unreadable
        self.metrics, self.docs = metrics, docs
        self.addresses = _addresses(pages)
        self.families = families(pages, self.addresses)
        self.written = datetime.now(UTC)
        self.templates = _templates()
        self.shared = {"version": __version__, "written": self.written, "dark": DARK}

    def write(self) -> None:
        _write_assets(self.folder / "assets")
        for i in range(len(self.pages)):
            self._write_study(i)
        self._render(
            "index.html", "index.html.j2", families=self.families, unreadable=self.unreadable,
            totals=_totals(self.pages), open=are_open(self.families),
            presets=list(dict.fromkeys(s.settings.preset for p in self.pages for s in p.sheets)),
        )  # fmt: skip
        document = _document(self.pages, self.addresses, self.written)
        text = json.dumps(document, indent=1, allow_nan=False, default=str)
        _write(self.folder / "data.json", text)

    def _write_study(self, i: int) -> None:
        page, address = self.pages[i], self.addresses[i]
        data = {
            (sheet.key, d.figure.name): self._write_data(address, sheet.key, d)
            for sheet in page.sheets
            for d in sheet.drawings
        }
        tables = {}
        for sheet in page.sheets:
            tables[sheet.key] = f"data/{address}/{sheet.key}/metrics.csv"
            _write(self.folder / tables[sheet.key], self.metrics[page.study.name, sheet.key])
        around = {
            "previous": (self.pages[i - 1], self.addresses[i - 1]) if i else None,
            "following": (self.pages[i + 1], self.addresses[i + 1])
            if i + 1 < len(self.pages)
            else None,
        }
        self._render(
            f"studies/{address}.html", "study.html.j2", page=page, data=data, tables=tables,
            source=self._write_source(page, address), docs=self._write_docs(page, address),
            **around,
        )  # fmt: skip

    def _write_data(self, address: str, key: str, drawing: Drawing) -> str:
        """Write a figure's data. Returns its path in the report's folder, empty without data."""
        if not drawing.json:
            return ""
        content, kind = (drawing.table, "csv") if drawing.table else (drawing.json, "json")
        path = f"data/{address}/{key}/{_text.slug(drawing.figure.name)}.{kind}"
        _write(self.folder / path, content)
        return path

    def _write_source(self, page: StudyPage, address: str) -> tuple[str, str] | None:
        """Write the study's source file as a page. Returns its name and its path."""
        file = source_file(page.reference)
        if file is None:
            return None
        path = f"studies/{address}.source.html"
        self._render(path, "source.html.j2", page=page, file=file, back=Path(address).name)
        return file.name, path

    def _write_docs(self, page: StudyPage, address: str) -> str:
        """Where the study's page in the docs is, seen from its page here; empty if it has none."""
        text = docs_page(page.reference)
        if text is None:
            return ""
        if self.docs:
            return f"../../{self.docs}/{page.reference}.html"
        path = f"studies/{address}.docs.html"
        self._render(path, "docs.html.j2", page=page, text=text, back=Path(address).name)
        return f"../../{path}"

    def _render(self, path: str, template: str, **content: Any) -> None:
        root = "../" * path.count("/")
        html = self.templates.get_template(template).render(self.shared | content, root=root)
        _write(self.folder / path, html)


def _gather(store: Store | None, with_published: bool) -> tuple[list[StudyPage], list[Unreadable]]:
    pages: list[StudyPage] = []
    unreadable: list[Unreadable] = []
    references = store.references() if store else []
    if with_published:
        references += [name for name in published_names() if name not in references]
    for reference in references:

        def note(error: Exception, reference: str = reference) -> None:
            unreadable.append(Unreadable(reference, _why(reference, error)))

        try:
            page = gather_page(load(reference), reference, store, with_published, note)
        except Exception as error:  # one study that raises must not hide the others
            note(error)
            continue
        if page is not None:
            pages.append(page)
    if not pages and not unreadable:
        where = f"the store {store.folder} is empty" if store else "no results were published"
        raise UserError(f"{where}: run a study first")
    pages.sort(key=_order(references))
    return pages, unreadable


def _why(reference: str, error: Exception) -> str:
    if reference not in listed() and not reference.endswith(".py"):
        return "this version of recombine has no such study"
    return str(error) if isinstance(error, UserError) else told(error)


def _order(references: Sequence[str]) -> Callable[[StudyPage], tuple[int, int]]:
    """Studies as the package lists them; then, by family, those of files as they were run."""
    places = {name: place for place, name in enumerate(dict.fromkeys([*listed(), *references]))}
    first: dict[str, int] = {}
    for name, place in places.items():
        first.setdefault(name.partition("/")[0], place)
    return lambda page: (
        first.get(page.study.family, len(places)),
        places.get(page.reference, len(places)),
    )


def _addresses(pages: Sequence[StudyPage]) -> list[str]:
    """One path per page, unique and safe as a file name: `family/study`."""
    addresses: list[str] = []
    for page in pages:
        family, _, name = page.study.name.partition("/")
        address = base = f"{_text.slug(family)}/{_text.slug(name or family)}"
        nth = 2
        while address in addresses:
            address, nth = f"{base}-{nth}", nth + 1
        addresses.append(address)
    return addresses


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # What a study contains may be text that no file takes: half a surrogate pair.
    path.write_text(content, encoding="utf-8", errors="backslashreplace")


def _write_assets(folder: Path) -> None:
    import plotly

    folder.mkdir()
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    shutil.copyfile(library, folder / library.name)
    for name in ASSETS:
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
                     _text.markdown, _text.slug, duration):  # fmt: skip
        environment.filters[function.__name__] = function
    environment.filters["embedded"] = Markup
    environment.filters["json"] = _embedded
    environment.filters["rounded"] = rounded
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
            "claims": [
                vars(c.verdict) | {"where": c.claim.where, "published": s.is_published}
                for p in pages
                for s in p.sheets
                for c in s.claims
            ],
            "studies": [
                {
                    "study": p.study.name,
                    "title": p.study.title,
                    "page": f"studies/{address}.html",
                    "preset": s.settings.preset,
                    "overrides": s.settings.overrides,
                    "published": s.is_published,
                    "command": s.command,
                    "seeds": s.results.seeds,
                    "trials": len(s.results.records),
                    "earlier": s.results.earlier,
                    "failed": len(s.failures),
                    "seconds": s.seconds,
                    "verdicts": s.verdicts,
                    "numbers": [_number_document(n) for n in s.numbers],
                    "metrics": [vars(row) for row in s.measured],
                }
                for p, address in zip(pages, addresses, strict=True)
                for s in p.sheets
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
