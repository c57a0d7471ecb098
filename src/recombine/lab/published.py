"""Published results: what studies gave at preset laptop, as data that comes with the package.

Of every study there is a JSON document with the metrics of all trials, the verdicts and where they
come from, and a file with those curves and arrays that figures, claims and comparisons read.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from .checkpoint import pack, unpack, write_atomically
from .claims import Verdict, judge
from .errors import UserError
from .numbers import Number, numbers
from .outcome import Settings
from .registry import listed, load
from .results import Record, Results
from .run import collect, conditions
from .settings import canonical
from .store import Store
from .study import Study

EXACT_NUMBERS = 100_000
"""Curves and arrays of one name with more numbers than these are kept in 32 bits."""


@cache
def folder() -> Path:
    """Where published results are: in the package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    installed = package / "_results"
    return installed if installed.is_dir() else package.parents[1] / "results"


@dataclass(frozen=True)
class Published:
    """What a study gave, and when."""

    results: Results
    verdicts: tuple[Verdict, ...]
    """As they were when the results were published."""
    code: str
    """The digest of the code that all conditions can reach."""
    provenance: dict[str, Any]
    seconds: float
    """Worker time of all trials."""

    @property
    def is_current(self) -> bool:
        """Whether the code of the study's trials is still the one that gave these results."""
        return self.code == _code(load(self.results.study), self.results.preset)


def names() -> list[str]:
    """The studies that have published results, in their order."""
    return [name for name in listed() if (folder() / f"{name}.json").is_file()]


def published(study: str) -> Published | None:
    """What a study gave, if that has been published."""
    path = folder() / f"{study}.json"
    if not path.is_file():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    curves = _Curves(path.with_suffix(".npz"), document["series"])
    cells = document["conditions"]
    records = tuple(
        Record(
            id=str(number),
            condition=cells[trial["condition"]]["condition"],
            config=cells[trial["condition"]]["config"],
            seed=trial["seed"],
            metrics=trial["metrics"],
            seconds=trial["seconds"],
            compile_seconds=0.0,
            read_curve=partial(curves.curve, number),
            read_array=partial(curves.array, number),
        )
        for number, trial in enumerate(document["trials"])
    )
    results = Results(study, document["preset"], {}, records)
    return Published(
        results,
        tuple(Verdict(study=study, preset=document["preset"], **v) for v in document["verdicts"]),
        document["code"],
        document["provenance"],
        document["seconds"],
    )


def published_verdicts(study: str) -> dict[str, str]:
    """The verdicts on a study's claims as they were published, by claim."""
    path = folder() / f"{study}.json"
    if not path.is_file():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    return {v["claim"]: v["verdict"] for v in document["verdicts"]}


def judged(study: Study) -> list[Verdict]:
    """The claims of a study, judged on its published results; none if there are none."""
    found = published(study.name)
    return [judge(claim, study.name, found.results) for claim in study.claims] if found else []


def published_numbers(study: Study) -> dict[str, Number]:
    """The published ones of the numbers beside the paper's, by quantity."""
    found = published(study.name)
    rows = numbers(study.beside, found.results) if found else []
    return {row.quantity: row for row in rows if row.seeds}


def publish(store: Store, to: Path, studies: Sequence[str]) -> Iterator[Path]:
    """Write what studies gave at preset laptop, with its seeds, under a folder, one by one.

    Studies, by registered names, of which results are missing or of earlier code are passed over.
    """
    for name in studies:
        study, settings = load(name), Settings("laptop", {})
        count = study.preset("laptop").seeds
        results = collect(study, settings, store)
        kept = tuple(r for r in results.records if r.seed < count)
        whole = len(kept) == count * len(conditions(study, settings))
        if not whole or results.failed or results.missing or results.earlier:
            continue
        yield _write(study, replace(results, records=kept), store.provenance(name, settings), to)


def _write(study: Study, results: Results, provenance: list[dict[str, Any]], to: Path) -> Path:
    read = _Read()
    watched = replace(results, records=tuple(map(read.watched, results.records)))
    verdicts = [judge(claim, study.name, watched) for claim in study.claims]
    numbers(study.beside, watched)
    for figure in study.figures:
        with suppress(Exception):  # a figure of preset paper alone
            figure.draw(watched)
    cells = {canonical(r.config): r for r in results.records}
    places = {config: place for place, config in enumerate(cells)}
    series, content = read.series({r.id: i for i, r in enumerate(results.records)})
    document = {
        "study": study.name,
        "preset": results.preset,
        "code": _code(study, results.preset),
        "provenance": _shared(provenance),
        "seconds": round(sum(r.seconds for r in results.records), 1),
        "verdicts": [
            {"claim": v.claim, "statement": v.statement, "verdict": v.verdict, "seeds": v.seeds,
             "evidence": v.evidence}
            for v in verdicts
        ],
        "conditions": [{"condition": r.condition, "config": r.config} for r in cells.values()],
        "trials": [
            {
                "condition": places[canonical(r.config)],
                "seed": r.seed,
                "seconds": round(r.seconds, 1),
                "metrics": r.metrics,
            }
            for r in results.records
        ],
        "series": series,
    }  # fmt: skip
    path = to.expanduser() / f"{study.name}.json"
    try:
        if content:
            write_atomically(path.with_suffix(".npz"), pack(content, compressed=True))
        write_atomically(path, (_lines(document) + "\n").encode())
    except OSError as error:
        raise UserError(f"{path}: it cannot be written ({error.strerror})") from None
    return path


def _lines(document: dict[str, Any]) -> str:
    """JSON with one line per trial, condition and the like, so that changes can be read."""

    def entry(value: Any) -> str:
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            return f"[\n  {rows}\n ]" if value else "[]"
        return json.dumps(value, ensure_ascii=False)

    rows = ",\n".join(f" {json.dumps(key)}: {entry(value)}" for key, value in document.items())
    return f"{{\n{rows}\n}}"


def _shared(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The provenance of all trials, and of what differs, all values."""
    keys = dict.fromkeys(key for one in found for key in one)
    values = {
        key: list({canonical(o.get(key)): o.get(key) for o in found}.values()) for key in keys
    }
    return {key: v[0] if len(v) == 1 else v for key, v in values.items()}


def _code(study: Study, preset: str) -> str:
    """One digest of the code of all conditions."""
    from hashlib import sha256

    codes = sorted({t.code for t in conditions(study, Settings(preset, {}))})
    return sha256(" ".join(codes).encode()).hexdigest()[:20]


@dataclass
class _Read:
    """Which curves and arrays are read, and what they hold."""

    found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    """By kind and name, then by trial."""

    def watched(self, record: Record) -> Record:
        """The record, whose curves and arrays are noted when they are read."""

        def curve(name: str) -> tuple[np.ndarray, np.ndarray]:
            return self.found["curve", name].setdefault(record.id, record.read_curve(name))

        def array(name: str) -> np.ndarray:
            return self.found["array", name].setdefault(record.id, record.read_array(name))

        return replace(record, read_curve=curve, read_array=array)

    def series(self, places: dict[str, int]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
        """An index of all that was read, and its arrays: those of one shape are stacked."""
        index: list[dict[str, Any]] = []
        content: dict[str, np.ndarray] = {}
        for (kind, name), by_trial in self.found.items():
            groups: dict[Any, list[str]] = defaultdict(list)
            for trial, value in by_trial.items():
                # Curves of one abscissa share it.
                same = value[0].tobytes() if kind == "curve" else (value.shape, value.dtype.str)
                groups[same].append(trial)
            for trials in groups.values():
                place = len(index)
                index.append({"kind": kind, "name": name, "trials": [places[t] for t in trials]})
                values = [by_trial[t] for t in trials]
                if kind == "curve":
                    content[f"{place}x"] = values[0][0]
                    values = [y for _, y in values]
                stacked = np.stack(values)
                if stacked.dtype == np.float64 and stacked.size > EXACT_NUMBERS:
                    stacked = stacked.astype(np.float32)
                content[f"{place}y"] = stacked
        return index, content


class _Curves:
    """Curves and arrays of published results, read when they are asked for."""

    def __init__(self, path: Path, series: list[dict[str, Any]]):
        self._path = path
        self._places = {
            (one["kind"], one["name"], trial): (place, row)
            for place, one in enumerate(series)
            for row, trial in enumerate(one["trials"])
        }

    def curve(self, trial: int, name: str) -> tuple[np.ndarray, np.ndarray]:
        place, row = self._find("curve", name, trial)
        return self._content[f"{place}x"], self._content[f"{place}y"][row].astype(float)

    def array(self, trial: int, name: str) -> np.ndarray:
        place, row = self._find("array", name, trial)
        return self._content[f"{place}y"][row]

    def _find(self, kind: str, name: str, trial: int) -> tuple[int, int]:
        if (kind, name, trial) not in self._places:
            raise KeyError(f"the {kind} {name!r} was not published")
        return self._places[kind, name, trial]

    @property
    def _content(self) -> dict[str, np.ndarray]:
        return _unpacked(self._path)


@cache
def _unpacked(path: Path) -> dict[str, np.ndarray]:
    return unpack(path.read_bytes())
