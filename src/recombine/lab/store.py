"""The store: one SQLite database for measurements, with arrays as files beside it."""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .checkpoint import Damaged, pack, unpack, write_atomically
from .claims import Verdict
from .errors import UserError
from .results import Record, Results
from .settings import canonical
from .study import Trial

SCHEMA_VERSION = 2
READABLE = (1, SCHEMA_VERSION)
"""Formats that can be read. Writing to an older one brings it up to date."""
SCHEMA = """
CREATE TABLE provenance (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL UNIQUE
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, study TEXT NOT NULL, reference TEXT NOT NULL, preset TEXT NOT NULL,
    overrides TEXT NOT NULL, seeds TEXT NOT NULL, workers INTEGER NOT NULL,
    started TEXT NOT NULL, seconds REAL
);
CREATE TABLE trials (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, overrides TEXT NOT NULL,
    condition TEXT NOT NULL, config TEXT NOT NULL, seed INTEGER NOT NULL, code TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'diverged')), reason TEXT,
    steps INTEGER, seconds REAL, compile_seconds REAL, finished TEXT NOT NULL,
    provenance INTEGER REFERENCES provenance (id)
);
CREATE INDEX trials_by_study ON trials (study, preset, overrides, status);
CREATE TABLE metrics (
    trial TEXT NOT NULL REFERENCES trials (id), name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (trial, name)
) WITHOUT ROWID;
CREATE TABLE curves (
    trial TEXT NOT NULL REFERENCES trials (id), name TEXT NOT NULL,
    x BLOB NOT NULL, y BLOB NOT NULL, PRIMARY KEY (trial, name)
);
CREATE TABLE arrays (
    trial TEXT PRIMARY KEY REFERENCES trials (id), file TEXT NOT NULL, sha256 TEXT NOT NULL,
    size INTEGER NOT NULL, changed INTEGER NOT NULL, names TEXT NOT NULL
);
CREATE TABLE claims (
    study TEXT NOT NULL, preset TEXT NOT NULL, overrides TEXT NOT NULL, claim TEXT NOT NULL,
    verdict TEXT NOT NULL, evidence TEXT NOT NULL, judged TEXT NOT NULL,
    PRIMARY KEY (study, preset, overrides, claim)
);
"""


class ArrayFile(NamedTuple):
    """The file that holds a trial's arrays, as it was written."""

    file: str
    """Its path, relative to the store."""
    sha256: str
    size: int
    changed: int
    """When it was written, in nanoseconds: a file with another time is read to be verified."""
    names: tuple[str, ...]

    def is_whole(self, folder: Path) -> bool:
        """Whether the file is in the store `folder` as it was written."""
        path = folder / self.file
        try:
            found = path.stat()
            if found.st_size != self.size:
                return False
            return found.st_mtime_ns == self.changed or _sha256(path) == self.sha256
        except OSError:
            return False


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Outcome:
    """How a trial ended, with its measurements."""

    status: str
    """`done`, `failed` or `diverged`."""
    reason: str
    """Why the trial did not finish; empty if it did."""
    metrics: dict[str, float]
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    arrays: ArrayFile | None
    steps: int
    seconds: float
    compile_seconds: float
    provenance: dict[str, Any]


class Failure(NamedTuple):
    """A trial that did not finish."""

    condition: dict[str, Any]
    config: dict[str, Any]
    seed: int
    status: str
    reason: str


@dataclass(frozen=True)
class Settings:
    """The preset and overrides that trials of one result set share."""

    preset: str
    overrides: dict[str, Any]


def write_arrays(folder: Path, trial: str, arrays: dict[str, np.ndarray]) -> ArrayFile:
    """Write a trial's arrays under the store `folder`."""
    content = pack(arrays)
    file = f"arrays/{trial}.npz"
    write_atomically(folder / file, content)
    changed = (folder / file).stat().st_mtime_ns
    return ArrayFile(file, sha256(content).hexdigest(), len(content), changed, tuple(arrays))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """A folder of results. Open it with [`recombine.lab.Store.open`][] or `.create`."""

    def __init__(self, folder: Path, database: sqlite3.Connection):
        self.folder = folder
        self._db = database

    @classmethod
    def create(cls, folder: str | Path) -> "Store":
        """Open the store at `folder` for writing; create it if necessary."""
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise UserError(f"the store {folder} is a file: name a folder with --store")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # SQLite reports a read-only folder only at the first write, so try one here.
            write_atomically(folder / ".writable", b"")
            (folder / ".writable").unlink(missing_ok=True)
        except OSError as error:
            raise UserError(
                f"the store {folder} is not writable ({error.strerror}):"
                " choose another with --store"
            ) from None
        with _clear_errors(folder):
            database = sqlite3.connect(folder / "store.sqlite", timeout=30)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("integrity check failed")
            with database:
                database.execute("BEGIN IMMEDIATE")
                if not _tables(database):
                    for statement in SCHEMA.split(";"):
                        database.execute(statement)
                    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                _bring_up_to_date(database, folder)
            _check_version(database, folder)
        return cls(folder, database)

    @classmethod
    def open(cls, folder: str | Path) -> "Store":
        """Open the store at `folder` for reading."""
        folder = Path(folder)
        file = folder / "store.sqlite"
        if folder.exists() and not folder.is_dir():
            raise UserError(f"the store {folder} is a file: name a folder with --store")
        if not file.exists():
            raise UserError(f"no store at {folder}: run a study first, or name one with --store")
        with _clear_errors(folder):
            # A database with a write-ahead log can be read only in a writable folder.
            readable = os.access(folder, os.W_OK) or (folder / "store.sqlite-wal").exists()
            mode = "mode=rw" if readable else "mode=ro&immutable=1"
            uri = f"{file.resolve().as_uri()}?{mode}"
            database = sqlite3.connect(uri, uri=True, timeout=30)
            _tables(database)
            _check_version(database, folder)
        return cls(folder, database)

    def close(self) -> None:
        self._db.close()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """A lock held while trials run: two runs on one store would do the same work twice."""
        with open(self.folder / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(
                    f"another run is writing to {self.folder}: wait for it,"
                    " or choose another with --store"
                ) from None
            yield

    # Writing

    def begin_run(
        self, study: str, reference: str, settings: Settings, seeds: Sequence[int], workers: int
    ) -> int:
        """Record that a run of `study`, loaded from `reference`, has begun with these settings."""
        with self._db:
            cursor = self._db.execute(
                "INSERT INTO runs (study, reference, preset, overrides, seeds, workers, started)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (study, reference, settings.preset, canonical(settings.overrides),
                 canonical(list(seeds)), workers, now()),
            )  # fmt: skip
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, run: int, seconds: float) -> None:
        with self._db:
            self._db.execute("UPDATE runs SET seconds = ? WHERE id = ?", (seconds, run))

    def write(self, trial: Trial, outcome: Outcome) -> None:
        """Record how `trial` ended, in one transaction."""
        with self._db:
            document = canonical(outcome.provenance)
            self._db.execute("INSERT OR IGNORE INTO provenance (document) VALUES (?)", (document,))
            for table in ("metrics", "curves", "arrays"):
                self._db.execute(f"DELETE FROM {table} WHERE trial = ?", (trial.id,))
            self._db.execute(
                "INSERT OR REPLACE INTO trials VALUES"
                " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                " (SELECT id FROM provenance WHERE document = ?))",
                (trial.id, trial.study, trial.preset, canonical(trial.overrides),
                 canonical(trial.condition), canonical(trial.config), trial.seed, trial.code,
                 outcome.status, outcome.reason, outcome.steps, outcome.seconds,
                 outcome.compile_seconds, now(), document),
            )  # fmt: skip
            self._db.executemany(
                "INSERT INTO metrics VALUES (?, ?, ?)",
                [(trial.id, name, value) for name, value in outcome.metrics.items()],
            )
            self._db.executemany(
                "INSERT INTO curves VALUES (?, ?, ?, ?)",
                [
                    (trial.id, name, x.astype("<f8").tobytes(), y.astype("<f8").tobytes())
                    for name, (x, y) in outcome.curves.items()
                ],
            )
            if outcome.arrays is not None:
                *place, names = outcome.arrays
                self._db.execute(
                    "INSERT INTO arrays (trial, file, sha256, size, changed, names)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (trial.id, *place, canonical(list(names))),
                )

    def write_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (v.study, v.preset, canonical(v.overrides), v.claim, v.verdict,
                     canonical(v.evidence), now())
                    for v in verdicts
                ],
            )  # fmt: skip

    # Reading

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read within is one state of the store, whatever is written to it meanwhile.

        A read inside of another belongs to the state of the outer one.
        """
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.rollback()

    def finished(self, trials: Sequence[Trial]) -> set[str]:
        """The identities of those `trials` that are done, and whose arrays are as they were."""
        asked = {t.id for t in trials}
        rows = self._db.execute(
            "SELECT id, file, sha256, size, changed FROM trials LEFT JOIN arrays ON trial = id"
            " WHERE status = 'done'"
        ).fetchall()

        def whole(file: str | None, sha256: str, size: int, changed: int) -> bool:
            return file is None or ArrayFile(file, sha256, size, changed, ()).is_whole(self.folder)

        return {trial for trial, *place in rows if trial in asked and whole(*place)}

    def references(self) -> list[str]:
        """Where each study was last loaded from, in the order of their first runs."""
        rows = self._db.execute(
            "SELECT reference, max(id) FROM runs GROUP BY study ORDER BY min(id)"
        )
        return [row[0] for row in rows]

    def latest_settings(self, study: str) -> Settings | None:
        """The preset and overrides of the last run of `study`, if possible one with results."""
        row = self._db.execute(
            "SELECT preset, overrides, EXISTS (SELECT 1 FROM trials t WHERE t.study = r.study"
            " AND t.preset = r.preset AND t.overrides = r.overrides) AS started"
            " FROM runs r WHERE study = ? ORDER BY started DESC, id DESC LIMIT 1",
            (study,),
        ).fetchone()
        return Settings(row[0], json.loads(row[1])) if row else None

    def results(self, study: str, settings: Settings, code: str = "") -> Results:
        """Every finished trial of `study` with this code and these settings, over all seeds."""
        where = "study = ? AND preset = ? AND overrides = ? AND code = ?"
        chosen = (study, settings.preset, canonical(settings.overrides), code)
        metrics: dict[str, dict[str, float]] = {}
        with self.snapshot():
            for trial, name, value in self._db.execute(
                "SELECT trial, name, value FROM metrics"
                f" WHERE trial IN (SELECT id FROM trials WHERE {where})", chosen
            ):  # fmt: skip
                metrics.setdefault(trial, {})[name] = value
            records = [
                Record(
                    id=row[0],
                    condition=json.loads(row[1]),
                    config=json.loads(row[2]),
                    seed=row[3],
                    metrics=metrics.get(row[0], {}),
                    seconds=row[4],
                    compile_seconds=row[5],
                    read_curve=partial(self._curve, row[0]),
                    read_array=partial(self._array, row[0]),
                )
                for row in self._db.execute(
                    "SELECT id, condition, config, seed, seconds, compile_seconds FROM trials"
                    f" WHERE {where} AND status = 'done' ORDER BY rowid", chosen
                )
            ]  # fmt: skip
        return Results(study, settings.preset, settings.overrides, tuple(records))

    def failures(self, study: str, settings: Settings, code: str = "") -> list[Failure]:
        """Every trial with this code and these settings that did not finish."""
        rows = self._db.execute(
            "SELECT condition, config, seed, status, reason FROM trials"
            " WHERE study = ? AND preset = ? AND overrides = ? AND code = ? AND status != 'done'",
            (study, settings.preset, canonical(settings.overrides), code),
        )
        return [Failure(json.loads(c), json.loads(f), *rest) for c, f, *rest in rows]

    def provenance(self, study: str, settings: Settings) -> list[dict[str, Any]]:
        """The distinct versions and machines behind a study's trials."""
        rows = self._db.execute(
            "SELECT DISTINCT document FROM provenance JOIN trials"
            " ON trials.provenance = provenance.id"
            " WHERE study = ? AND preset = ? AND overrides = ?",
            (study, settings.preset, canonical(settings.overrides)),
        )
        return [json.loads(row[0]) for row in rows]

    def last_run(self, study: str) -> dict[str, Any]:
        """Start, number of workers and seconds of the last run of `study`."""
        row = self._db.execute(
            "SELECT started, workers, seconds FROM runs WHERE study = ? ORDER BY id DESC LIMIT 1",
            (study,),
        ).fetchone()
        return dict(zip(("started", "workers", "seconds"), row or ("", 0, None), strict=True))

    def measurements(self) -> Iterator[dict[str, Any]]:
        """One row per measurement: every metric, and every point of every curve."""
        columns = "t.study, t.preset, t.overrides, t.condition, t.seed, t.id"
        names = ("study", "preset", "overrides", "condition", "seed", "trial")
        with self.snapshot():
            for *head, name, value in self._db.execute(
                f"SELECT {columns}, m.name, m.value FROM metrics m JOIN trials t ON t.id = m.trial"
                " WHERE t.status = 'done' ORDER BY t.study, t.id, m.name"
            ):
                row = dict(zip(names, head, strict=True))
                yield row | {"kind": "metric", "name": name, "x": None, "value": value}
            for *head, name, x, y in self._db.execute(
                f"SELECT {columns}, c.name, c.x, c.y FROM curves c JOIN trials t ON t.id = c.trial"
                " WHERE t.status = 'done' ORDER BY t.study, t.id, c.name"
            ):
                row = dict(zip(names, head, strict=True)) | {"kind": "curve", "name": name}
                for xi, yi in zip(np.frombuffer(x, "<f8"), np.frombuffer(y, "<f8"), strict=True):
                    yield row | {"x": float(xi), "value": float(yi)}

    def _curve(self, trial: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        row = self._db.execute(
            "SELECT x, y FROM curves WHERE trial = ? AND name = ?", (trial, name)
        ).fetchone()
        if row is None:
            raise KeyError(f"trial {trial} has no curve {name!r}")
        return np.frombuffer(row[0], "<f8"), np.frombuffer(row[1], "<f8")

    def _array(self, trial: str, name: str) -> np.ndarray:
        row = self._db.execute(
            "SELECT file, sha256 FROM arrays WHERE trial = ?", (trial,)
        ).fetchone()
        if row is None:
            raise KeyError(f"trial {trial} has no arrays")
        content = (self.folder / row[0]).read_bytes()
        if sha256(content).hexdigest() != row[1]:
            raise Damaged(
                f"{self.folder / row[0]} does not match its checksum:"
                " delete it and run the study again"
            )
        return unpack(content)[name]


def _tables(database: sqlite3.Connection) -> list[str]:
    return [r[0] for r in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _check_version(database: sqlite3.Connection, folder: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in READABLE:
        raise UserError(
            f"the store {folder} has format {version}, this version of recombine reads"
            f" {' and '.join(map(str, READABLE))}: choose another with --store"
        )


def _bring_up_to_date(database: sqlite3.Connection, folder: Path) -> None:
    """Give a store of format 1 what format 2 has: the sizes of files of arrays."""
    if database.execute("PRAGMA user_version").fetchone() != (1,):
        return
    for column in ("size", "changed"):
        database.execute(f"ALTER TABLE arrays ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    for trial, file in database.execute("SELECT trial, file FROM arrays").fetchall():
        path = folder / file
        size = path.stat().st_size if path.is_file() else 0
        # No file changed at time 0: its checksum is looked at when it is next asked for.
        database.execute("UPDATE arrays SET size = ? WHERE trial = ?", (size, trial))
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(
            f"the store {folder} cannot be read ({error}): restore store.sqlite from a copy,"
            " or choose another with --store"
        ) from None
