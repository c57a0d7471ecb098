"""The content of one study's page: what was found at each of its presets and settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..claims import Missing, Verdict, judge
from ..numbers import Number, numbers
from ..outcome import Failure, Settings
from ..papers import Paper, papers_of
from ..published import Published, published
from ..reference import Reference
from ..registry import listed
from ..results import Results
from ..run import collect, conditions
from ..settings import canonical, described, from_plain, without_folders
from ..store import Store
from ..study import Claim, Figure, Study, in_words
from . import _plotly
from ._command import command
from ._measured import MeasuredRow, measured_figure, measured_rows
from ._text import Evidence, evidence, slug, statements, value
from ._thumbnail import thumbnail

VERDICTS = ("holds", "fails", "undecided")


@dataclass(frozen=True)
class Drawing:
    """A figure, or the reason why it could not be drawn."""

    figure: Figure
    json: str = ""
    table: str = ""
    """The figure's data as CSV."""
    height: int = 0
    thumbnail: str = ""
    note: str = ""
    """Why it could not be drawn."""
    explained: str = ""
    """What its lines, bars and bands mean."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    reason: str
    """Why it is undecided."""
    evidence: Evidence


@dataclass(frozen=True)
class Setting:
    """A field of the config, with the values of this run."""

    name: str
    meaning: str
    values: Sequence[Any]
    """More than one if conditions differ in the field."""
    default: Any
    overridden: bool


@dataclass(frozen=True)
class ConditionRow:
    """A condition, and how its trials ended."""

    condition: dict[str, Any]
    done: int
    failed: int


@dataclass(frozen=True)
class Sheet:
    """What was found in a study at one preset and settings."""

    settings: Settings
    results: Results
    claims: Sequence[Judged]
    drawings: Sequence[Drawing]
    numbers: Sequence[Number]
    failures: Sequence[Failure]
    configuration: Sequence[Setting]
    conditions: Sequence[ConditionRow]
    provenance: Sequence[dict[str, Any]]
    last_run: dict[str, Any]
    command: str
    """The command that makes these results."""
    measured: Sequence[MeasuredRow]
    is_published: bool = False
    """Whether these results come with the package."""
    is_outdated: bool = False
    """Whether the code has changed since they were published."""
    key: str = ""
    """A slug, unique within the page."""

    @property
    def label(self) -> str:
        """The preset, and what else distinguishes these results from others of the study."""
        changed = f", {self.changed}" if self.changed else ""
        return self.settings.preset + changed + (", published" if self.is_published else "")

    @property
    def changed(self) -> str:
        """The settings that the user has changed, in words."""
        return in_words(self.settings.overrides)

    @property
    def verdicts(self) -> dict[str, int]:
        return {w: sum(c.verdict.verdict == w for c in self.claims) for w in VERDICTS}

    @property
    def seconds(self) -> float:
        return sum(r.seconds for r in self.results.records)

    @property
    def compile_seconds(self) -> float:
        return sum(r.compile_seconds for r in self.results.records)


@dataclass(frozen=True)
class StudyPage:
    """The content of one study's page. There is at least one sheet; the first is shown first."""

    study: Study
    reference: str
    """What the study was loaded from: its name or a file."""
    sheets: Sequence[Sheet]

    @property
    def first(self) -> Sheet:
        return self.sheets[0]

    @property
    def verdicts(self) -> dict[str, int]:
        return self.first.verdicts

    @property
    def is_settled(self) -> bool:
        """Whether every claim holds, so that the title may say what the study shows."""
        counts = self.verdicts
        return counts["holds"] > 0 == counts["undecided"] + counts["fails"]

    @property
    def heading(self) -> str:
        """The title, or the question while the title would say what is not shown."""
        return self.study.title if self.is_settled else self.study.question

    @property
    def figures(self) -> list[Figure]:
        return [drawing.figure for drawing in self.first.drawings]

    @property
    def thumbnail(self) -> str:
        drawn = (d.thumbnail for sheet in self.sheets for d in sheet.drawings if d.thumbnail)
        return next(drawn, "")

    @property
    def compared(self) -> list[Sheet]:
        """The sheets that have numbers beside the paper's."""
        return [sheet for sheet in self.sheets if sheet.numbers]

    @property
    def beside(self) -> list[tuple[str, Reference, list[Number]]]:
        """The paper's numbers, each with those of the sheets in `compared`."""
        found = [{n.quantity: n for n in sheet.numbers} for sheet in self.compared]
        return [(n.quantity, n.paper, [one[n.quantity] for one in found])
                for n in self.compared[0].numbers]  # fmt: skip

    @property
    def rows(self) -> list[tuple[str, str, list[MeasuredRow | None]]]:
        """What was measured: condition, metric, and what each sheet has of it."""
        found = [{(r.condition, r.metric): r for r in sheet.measured} for sheet in self.sheets]
        keys = dict.fromkeys(key for one in found for key in one)
        return [(*key, [one.get(key) for one in found]) for key in keys]

    @property
    def papers(self) -> list[Paper]:
        return papers_of(self.study)

    @property
    def remarks(self) -> list[str]:
        """The notes on the paper's numbers, each once."""
        found = (n.paper.note for sheet in self.sheets for n in sheet.numbers if n.paper.note)
        return list(dict.fromkeys(found))


def gather_page(
    study: Study,
    reference: str,
    store: Store | None,
    with_published: bool,
    on_error: Callable[[Exception], None],
) -> StudyPage | None:
    """Everything that the page of a study shows; None if there is nothing.

    Results of one's own come first, then published ones, then those of preset smoke.

    **Arguments:**

    - `on_error`: told why results at some settings cannot be shown.
    """
    sheets = []
    if store is not None:
        for settings in store.every_settings(study.name):
            try:
                sheets.append(gather(study, reference, settings, store))
            except Exception as error:  # some settings that raise must not hide the others
                on_error(error)
    found = published(study.name) if with_published and reference in listed() else None
    if found:
        sheets.append(gather_published(study, found))
    sheets.sort(key=lambda sheet: (sheet.settings.preset == "smoke", sheet.is_published))
    if not sheets:
        return None
    keys: list[str] = []
    for sheet in sheets:
        key = base = slug(sheet.label)
        while key in keys:
            key = f"{base}-{len(keys) + 1}"
        keys.append(key)
    named = [replace(sheet, key=key) for sheet, key in zip(sheets, keys, strict=True)]
    return StudyPage(study, reference, named)


def called(reference: str) -> str:
    """How the command line calls a study: by its name, or by the name of its file."""
    return reference if reference in listed() else Path(reference).name


def gather(study: Study, reference: str, settings: Settings, store: Store) -> Sheet:
    """What is in the store of `study` at these settings."""
    results = collect(study, settings, store)
    planned = {t.key: t.code for t in conditions(study, settings)}
    failures = store.failures(study.name, settings, planned)
    return _sheet(
        study, reference, settings, results, failures=failures,
        provenance=store.provenance(study.name, settings), last_run=store.last_run(study.name),
    )  # fmt: skip


def gather_published(study: Study, found: Published) -> Sheet:
    """The results of `study` that come with the package."""
    settings = Settings(found.results.preset, {})
    sheet = _sheet(
        study, study.name, settings, found.results, failures=(),
        provenance=[found.provenance], last_run={"started": "", "workers": 0, "seconds": None},
    )  # fmt: skip
    return replace(sheet, is_published=True, is_outdated=not found.is_current)


def _sheet(
    study: Study, reference: str, settings: Settings, results: Results,
    failures: Sequence[Failure], provenance: Sequence[dict[str, Any]], last_run: dict[str, Any],
) -> Sheet:  # fmt: skip
    measured = measured_rows(results)
    drawings = [_drawing(figure, results) for figure in study.figures or [measured_figure(study)]]
    return Sheet(
        settings=settings,
        results=results,
        claims=[_judged(claim, study, results) for claim in study.claims],
        drawings=drawings,
        numbers=numbers(study.beside, results),
        failures=failures,
        configuration=_configuration(study, settings),
        conditions=_conditions(study, settings, results, failures),
        provenance=provenance,
        last_run=last_run,
        command=command(study, called(reference), settings, results),
        measured=measured,
    )  # fmt: skip


def _judged(claim: Claim, study: Study, results: Results) -> Judged:
    verdict = judge(claim, study.name, results)
    rest = dict(verdict.evidence)
    reason = str(rest.pop("reason", "")) if verdict.verdict == "undecided" else ""
    return Judged(claim, verdict, reason, evidence(statements(rest)))


def _drawing(figure: Figure, results: Results) -> Drawing:
    if not results.records:
        return Drawing(figure, note="Not drawn yet: no trial is finished.")
    try:
        drawn = figure.draw(results)
        return Drawing(
            figure,
            json=_plotly.to_json(drawn),
            table=_plotly.to_csv(drawn),
            height=round(drawn.layout.height or 450),
            thumbnail=thumbnail(drawn),
            explained=_plotly.explained(drawn),
        )
    except Missing as missing:
        return Drawing(figure, note=f"Not drawn yet: {missing}.")
    except Exception as error:  # one figure that raises must not hide the others
        return Drawing(figure, note=f"Could not be drawn: {told(error)}.")


def told(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".rstrip(". :")


def _configuration(study: Study, settings: Settings) -> list[Setting]:
    defaults = {setting.name: setting.default for setting in study.settings()}
    meanings: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {}
    for trial in conditions(study, settings):
        for found in described(from_plain(study.config, trial.config)):
            meanings[found.name] = found.meaning
            values.setdefault(found.name, {})[value(found.default)] = found.default
    return [
        Setting(name, meanings[name], list(values[name].values()), defaults.get(name),
                name in settings.overrides)
        for name in sorted(values, key=lambda name: list(defaults).index(name.partition(".")[0]))
    ]  # fmt: skip


def _conditions(
    study: Study, settings: Settings, results: Results, failures: Sequence[Failure]
) -> list[ConditionRow]:
    rows = []
    for trial in conditions(study, settings):
        condition = dict(trial.condition)
        done = sum(canonical(without_folders(r.config)) == trial.key for r in results.records)
        failed = sum(canonical(without_folders(f.config)) == trial.key for f in failures)
        rows.append(ConditionRow(condition, done, failed))
    return rows
