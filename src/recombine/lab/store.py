"""The store: one SQLite database for measurements, with arrays as files beside it."""

import fcntl
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .checkpoint import Damaged, unpack, write_atomically
from .claims import Verdict
from .contents import measurements, networks
from .errors import UserError
from .finished import earlier, whole
from .networks import Kept, unpack_network
from .outcome import Failure, Outcome, Settings
from .requests import (
    chosen,
    latest_settings,
    requested,
    settings_asked_for,
    settings_with_results,
)
from .results import Record, Results
from .schema import bring_up_to_date, check_version, create, show_as_new, tables
from .settings import canonical
from .stored_files import ArrayFile
from .study import Trial

ASK_AGAIN = (
    "DO UPDATE SET condition = excluded.condition, trial = excluded.trial,"
    " is_earlier = excluded.is_earlier"
)
"""What becomes of a request that was made before: the last one counts."""


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
                if not tables(database):
                    create(database)
                bring_up_to_date(database, folder)
            check_version(database, folder)
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
            tables(database)
            check_version(database, folder)
            show_as_new(database)
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

    def checkpoints(self, trial: str) -> Path:
        """The folder of a trial's checkpoints."""
        return self.folder / "checkpoints" / trial

    # Writing

    def begin_run(
        self, study: str, reference: str, settings: Settings, seeds: Sequence[int], workers: int,
        looks: int = 1,
    ) -> int:  # fmt: skip
        """Record that a run of `study`, loaded from `reference`, has begun with these settings.

        **Arguments:**

        - `looks`: how often its results may be looked at before there are seeds enough.
        """
        with self._db:
            cursor = self._db.execute(
                "INSERT INTO runs (study, reference, preset, overrides, seeds, workers, started,"
                " looks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (study, reference, settings.preset, canonical(settings.overrides),
                 canonical(list(seeds)), workers, now(), looks),
            )  # fmt: skip
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, run: int, seconds: float) -> None:
        with self._db:
            self._db.execute("UPDATE runs SET seconds = ? WHERE id = ?", (seconds, run))

    def ask(self, trials: Iterable[Trial], instead: Mapping[str, str] | None = None) -> None:
        """Record who asks for which trials, done or not.

        **Arguments:**

        - `instead`: identities of trials of earlier code, by those in whose place they are used.
        """
        with self._db:
            for trial in trials:
                self._ask(trial, (instead or {}).get(trial.id, trial.id))

    def _ask(self, trial: Trial, used: str, conflict: str = ASK_AGAIN) -> None:
        self._db.execute(
            "INSERT INTO requests (study, preset, overrides, condition, config, seed, code, trial,"
            f" is_earlier, is_needed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT {conflict}",
            (trial.study, trial.preset, canonical(trial.overrides), canonical(trial.condition),
             trial.key, trial.seed, trial.code, used, used != trial.id,
             trial.asked_by is not None),
        )  # fmt: skip

    def write(self, trial: Trial, outcome: Outcome) -> None:
        """Record how `trial` ended, and that it was asked for, in one transaction."""
        with self._db:
            document = canonical(outcome.provenance)
            self._db.execute("INSERT OR IGNORE INTO provenance (document) VALUES (?)", (document,))
            for table in ("metrics", "curves", "arrays", "networks"):
                self._db.execute(f"DELETE FROM {table} WHERE trial = ?", (trial.id,))
            self._db.execute(
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                " (SELECT id FROM provenance WHERE document = ?))",
                (trial.id, trial.function, trial.code, canonical(trial.config), trial.seed,
                 trial.recipe, trial.needs, outcome.status, outcome.reason, outcome.steps,
                 outcome.seconds, outcome.compile_seconds, now(), document),
            )  # fmt: skip
            self._ask(trial, trial.id, "DO NOTHING")
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
            self._db.executemany(
                "INSERT INTO networks VALUES (?, ?, ?, ?, ?, ?)",
                [(trial.id, *names, *place) for *place, names in outcome.networks],
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

    def done(self, identities: Iterable[str]) -> set[str]:
        """Those of some identities whose trials are done."""
        rows = self._db.execute("SELECT id FROM trials WHERE status = 'done'")
        return {row[0] for row in rows} & set(identities)

    def finished(self, trials: Iterable[Trial]) -> set[str]:
        """The identities of those `trials` that are done, and whose files are as they were."""
        return whole(self._db, self.folder, {t.id for t in trials})

    def why_not(self, trial: str) -> str:
        """How a trial ended that did not finish."""
        row = self._db.execute(
            "SELECT status, reason FROM trials WHERE id = ?", (trial,)
        ).fetchone()
        return f"{row[0]}: {row[1]}" if row else "it was not run"

    def kept(self, trial: str) -> dict[str, ArrayFile]:
        """The networks that a trial has kept, or the one whose network it looks at, by name."""
        rows = self._db.execute(
            "SELECT n.name, n.file, n.sha256, n.size, n.changed FROM trials t"
            " JOIN networks n ON n.trial IN (t.id, t.needs) WHERE t.id = ? ORDER BY n.name",
            (trial,),
        )
        return {name: ArrayFile._make((*place, (name,))) for name, *place in rows}

    def settings(self, study: str) -> list[Settings]:
        """The settings with which a study has asked for trials, the last ones last."""
        return settings_asked_for(self._db, study)

    def references(self) -> list[str]:
        """Where each study was last loaded from, in the order of their first runs."""
        rows = self._db.execute(
            "SELECT reference, max(id) FROM runs GROUP BY study ORDER BY min(id)"
        )
        return [row[0] for row in rows]

    def earlier(self, trials: Iterable[Trial]) -> dict[str, str]:
        """Trials that are done and whole, and differ from `trials` in their code alone.

        **Returns:** the identity of the last of them, by that of the trial that it could replace.
        """
        return earlier(self._db, self.folder, trials)

    def first_asked_by(self, trials: Iterable[Trial]) -> dict[str, str]:
        """The study that first asked for each of those `trials` that are known."""
        asked = {t.id for t in trials}
        rows = self._db.execute("SELECT trial, study FROM requests ORDER BY place DESC")
        return {trial: study for trial, study in rows if trial in asked}

    def last_verdicts(self) -> dict[str, dict[str, str]]:
        """The verdicts on the claims of every study as they were last judged, by claim.

        Those without changed settings come before others, and those of preset smoke last.
        """
        rows = self._db.execute(
            "SELECT study, preset, overrides, claim, verdict FROM claims ORDER BY"
            " preset = 'smoke', overrides != '{}', judged DESC"
        )
        found: dict[str, dict[str, str]] = {}
        chosen: dict[str, tuple[str, str]] = {}
        for study, preset, overrides, claim, verdict in rows:
            if chosen.setdefault(study, (preset, overrides)) == (preset, overrides):
                found.setdefault(study, {})[claim] = verdict
        return found

    def looks(self, study: str, settings: Settings) -> int:
        """How often results of `study` with these settings may have been looked at."""
        row = self._db.execute(
            "SELECT max(looks) FROM runs WHERE study = ? AND preset = ? AND overrides = ?",
            chosen(study, settings),
        ).fetchone()
        return row[0] or 1

    def all_settings(self, study: str) -> list[Settings]:
        """Those of `every_settings` that are worth judging: preset smoke counts only where there
        is no other."""
        found = self.every_settings(study)
        return [one for one in found if one.preset != "smoke"] or found

    def every_settings(self, study: str) -> list[Settings]:
        """Every preset and overrides with finished trials of `study`, those without overrides
        first, then by their last runs; if no trial is finished, those of the last run."""
        return settings_with_results(self._db, study)

    def latest_settings(self, study: str) -> Settings | None:
        """The preset and overrides of the last run of `study`, if possible one with results."""
        return latest_settings(self._db, study)

    def results(
        self, study: str, settings: Settings, codes: Mapping[str, str] | None = None
    ) -> Results:
        """Every finished trial that `study` asked for with these settings, over all seeds.

        **Arguments:**

        - `codes`: the present code of every condition, by its `Trial.key`. Trials of earlier code
            are there only if none of the present code is, or if they were asked for in its place.
            By default the last trial of every condition and seed.
        """
        metrics: dict[str, dict[str, float]] = {}
        with self.snapshot():
            rows = [r for r in requested(self._db, study, settings, codes) if r.status == "done"]
            for trial, name, value in self._db.execute(
                "SELECT m.trial, m.name, m.value FROM metrics m JOIN requests r"
                " ON r.trial = m.trial WHERE study = ? AND preset = ? AND overrides = ?",
                chosen(study, settings),
            ):
                metrics.setdefault(trial, {})[name] = value
        records = tuple(
            Record(
                id=row.trial,
                condition=json.loads(row.condition),
                config=json.loads(row.config),
                seed=row.seed,
                metrics=metrics.get(row.needs, {}) | metrics.get(row.trial, {}),
                seconds=row.seconds,
                compile_seconds=row.compile_seconds,
                read_curve=partial(self._curve, row.trial),
                read_array=partial(self._array, row.trial),
            )
            for row in rows
        )
        earlier = sum(row.is_earlier or row.code != codes[row.key] for row in rows) if codes else 0
        return Results(study, settings.preset, settings.overrides, records, earlier=earlier)

    def failures(
        self, study: str, settings: Settings, codes: Mapping[str, str] | None = None
    ) -> list[Failure]:
        """Every trial that did not finish, of those that `results` looks at."""
        return [
            Failure(json.loads(r.condition), json.loads(r.config), r.seed, r.status, r.reason)
            for r in requested(self._db, study, settings, codes)
            if r.status != "done"
        ]

    def provenance(self, study: str, settings: Settings) -> list[dict[str, Any]]:
        """The distinct versions and machines behind a study's trials."""
        rows = self._db.execute(
            "SELECT DISTINCT document FROM provenance p JOIN trials t ON t.provenance = p.id"
            " JOIN requests r ON r.trial = t.id"
            " WHERE study = ? AND preset = ? AND overrides = ?",
            chosen(study, settings),
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
        """One row per measurement: every metric, and every point of every curve.

        Measurements of a trial that several studies ask for are there once for each of them.
        """
        with self.snapshot():
            yield from measurements(self._db)

    def _curve(self, trial: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        for x, y in self._db.execute(
            "SELECT x, y FROM trials t JOIN curves c ON c.trial IN (t.id, t.needs)"
            " WHERE t.id = ? AND c.name = ? ORDER BY c.trial = t.id DESC",
            (trial, name),
        ):
            return np.frombuffer(x, "<f8"), np.frombuffer(y, "<f8")
        raise KeyError(f"trial {trial} has no curve {name!r}")

    def _array(self, trial: str, name: str) -> np.ndarray:
        for file, checksum, names in self._db.execute(
            "SELECT file, sha256, names FROM trials t JOIN arrays a ON a.trial IN (t.id, t.needs)"
            " WHERE t.id = ? ORDER BY a.trial = t.id DESC",
            (trial,),
        ):
            if name in json.loads(names):
                return unpack(self.verified(file, checksum))[name]
        raise KeyError(f"trial {trial} has no array {name!r}")

    def network(self, file: ArrayFile, files: Collection[str | Path] = ()) -> Kept:
        """A network that was kept.

        **Arguments:**

        - `files`: Python files that may be loaded for the specs that are written in them.
        """
        return unpack_network(self.verified(file.file, file.sha256), files)

    def networks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every kept network: the study that first asked for it, and what there is to say of it."""
        with self.snapshot():
            yield from networks(self._db)

    def verified(self, file: str, checksum: str) -> bytes:
        """The content of a file of the store."""
        content = (self.folder / file).read_bytes()
        if sha256(content).hexdigest() != checksum:
            raise Damaged(
                f"{self.folder / file} does not match its checksum:"
                " delete it and run the study again"
            )
        return content


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(
            f"the store {folder} cannot be read ({error}): restore store.sqlite from a copy,"
            " or choose another with --store"
        ) from None
