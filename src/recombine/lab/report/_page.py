"""The content of one study's page, gathered from the study and the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..claims import Missing, Verdict, judge
from ..numbers import Number, numbers
from ..outcome import Failure, Settings
from ..results import Results
from ..run import collect, conditions
from ..settings import canonical, described, from_plain, without_folders
from ..store import Store
from ..study import Claim, Figure, Study, in_words
from . import _plotly
from ._text import Evidence, evidence, statements, value
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
class StudyPage:
    """The content of one study's page, at one preset and settings."""

    study: Study
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

    @property
    def changed(self) -> str:
        """The settings that the user has changed, in words."""
        return in_words(self.settings.overrides)

    @property
    def verdicts(self) -> dict[str, int]:
        return {w: sum(c.verdict.verdict == w for c in self.claims) for w in VERDICTS}

    @property
    def remarks(self) -> list[str]:
        """The notes on the paper's numbers, each once."""
        return list(dict.fromkeys(n.paper.note for n in self.numbers if n.paper.note))

    @property
    def seconds(self) -> float:
        return sum(r.seconds for r in self.results.records)

    @property
    def compile_seconds(self) -> float:
        return sum(r.compile_seconds for r in self.results.records)

    @property
    def thumbnail(self) -> str:
        return next((d.thumbnail for d in self.drawings if d.thumbnail), "")


def gather(study: Study, settings: Settings, store: Store) -> StudyPage:
    """Everything that the page of `study` shows at these settings."""
    results = collect(study, settings, store)
    planned = {t.key: t.code for t in conditions(study, settings)}
    failures = store.failures(study.name, settings, planned)
    return StudyPage(
        study=study,
        settings=settings,
        results=results,
        claims=[_judged(claim, study, results) for claim in study.claims],
        drawings=[_drawing(figure, results) for figure in study.figures],
        numbers=numbers(study.beside, results),
        failures=failures,
        configuration=_configuration(study, settings),
        conditions=_conditions(study, settings, results, failures),
        provenance=store.provenance(study.name, settings),
        last_run=store.last_run(study.name),
    )


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
