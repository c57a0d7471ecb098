"""The tables of a store, and how those of earlier formats become them."""

import json
import sqlite3
from pathlib import Path

from .errors import UserError
from .settings import canonical, without_folders

VERSION = 2
READABLE = (1, VERSION)
"""Formats that can be read. Writing to the first brings it up to date."""
TABLES = """
CREATE TABLE provenance (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL UNIQUE
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, study TEXT NOT NULL, reference TEXT NOT NULL, preset TEXT NOT NULL,
    overrides TEXT NOT NULL, seeds TEXT NOT NULL, workers INTEGER NOT NULL,
    started TEXT NOT NULL, seconds REAL, looks INTEGER NOT NULL DEFAULT 1
);
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
)
"""
TRIALS = """
CREATE TABLE {prefix}trials (
    id TEXT PRIMARY KEY, function TEXT NOT NULL, code TEXT NOT NULL, config TEXT NOT NULL,
    seed INTEGER NOT NULL, recipe TEXT NOT NULL, needs TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'diverged')), reason TEXT,
    steps INTEGER, seconds REAL, compile_seconds REAL, finished TEXT NOT NULL,
    provenance INTEGER REFERENCES provenance (id)
);
CREATE TABLE {prefix}requests (
    place INTEGER PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, overrides TEXT NOT NULL,
    condition TEXT NOT NULL, config TEXT NOT NULL, seed INTEGER NOT NULL, code TEXT NOT NULL,
    trial TEXT NOT NULL, is_earlier INTEGER NOT NULL, is_needed INTEGER NOT NULL,
    UNIQUE (study, preset, overrides, config, seed, code, is_needed)
)
"""
"""Trials belong to nobody; requests say who asked for them, or needed them for what they asked for.
A request names the code that there was when it was made, and the trial that answers it, which may
be of earlier code."""
NETWORKS = """
CREATE TABLE networks (
    trial TEXT NOT NULL REFERENCES trials (id), name TEXT NOT NULL, file TEXT NOT NULL,
    sha256 TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL,
    PRIMARY KEY (trial, name)
);
CREATE INDEX requests_by_trial ON requests (trial)
"""
OLD_TRIALS = (
    "SELECT id, '' AS function, code, config, seed, '' AS recipe, '' AS needs, status, reason,"
    " steps, seconds, compile_seconds, finished, provenance FROM main.trials"
)
OLD_REQUESTS = (
    "SELECT rowid AS place, study, preset, overrides, condition, without_folders(config) AS config,"
    " seed, code, id AS trial, 0 AS is_earlier, 0 AS is_needed FROM main.trials"
)
"""Trials and requests of format 1, as they are now: trials belonged to the study that had asked for
them."""
NO_NETWORKS = (
    "SELECT '' AS trial, '' AS name, '' AS file, '' AS sha256, 0 AS size, 0 AS changed WHERE 0"
)


def tables(database: sqlite3.Connection) -> list[str]:
    """The names of the tables that there are."""
    return [r[0] for r in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def version_of(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


def check_version(database: sqlite3.Connection, folder: Path) -> None:
    """Refuse a format that is not known."""
    if (version := version_of(database)) not in READABLE:
        raise UserError(
            f"the store {folder} has format {version}, this version of recombine reads"
            f" {' and '.join(map(str, READABLE))}: choose another with --store"
        )


def create(database: sqlite3.Connection) -> None:
    """Make the tables of a new store."""
    _run(database, TABLES, TRIALS.format(prefix=""), NETWORKS)
    database.execute(f"PRAGMA user_version = {VERSION}")


def bring_up_to_date(database: sqlite3.Connection, folder: Path) -> None:
    """Give a store of an earlier format the tables of this one; call it in a transaction."""
    if version_of(database) != 1:
        return
    _add_sizes(database, folder)
    _add_function(database)
    _run(database, TRIALS.format(prefix="new_"))
    database.execute(f"INSERT INTO new_trials {OLD_TRIALS} ORDER BY rowid")
    # An edited study had other trials of the same condition: the last one counts.
    database.execute(f"INSERT OR REPLACE INTO new_requests {OLD_REQUESTS} ORDER BY place")
    for table in ("trials", "requests"):
        database.execute(f"DROP TABLE IF EXISTS main.{table}")
        database.execute(f"ALTER TABLE new_{table} RENAME TO {table}")
    _run(database, NETWORKS)
    database.execute("ALTER TABLE runs ADD COLUMN looks INTEGER NOT NULL DEFAULT 1")
    database.execute(f"PRAGMA user_version = {VERSION}")


def show_as_new(database: sqlite3.Connection) -> None:
    """Let a store of an earlier format be read as one of this; nothing is written to it."""
    if version_of(database) != 1:
        return
    _add_function(database)
    for name, rows in {
        "trials": OLD_TRIALS,
        "requests": OLD_REQUESTS,
        "networks": NO_NETWORKS,
        "runs": "SELECT *, 1 AS looks FROM main.runs",
    }.items():
        database.execute(f"CREATE TEMP VIEW {name} AS {rows}")


def _run(database: sqlite3.Connection, *scripts: str) -> None:
    for script in scripts:
        for statement in script.split(";"):
            database.execute(statement)


def _add_function(database: sqlite3.Connection) -> None:
    def key(config: str) -> str:
        return canonical(without_folders(json.loads(config)))

    database.create_function("without_folders", 1, key, deterministic=True)


def _add_sizes(database: sqlite3.Connection, folder: Path) -> None:
    """Give a store of format 1 the sizes of files of arrays."""
    for column in ("size", "changed"):
        database.execute(f"ALTER TABLE arrays ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    for trial, file in database.execute("SELECT trial, file FROM arrays").fetchall():
        path = folder / file
        size = path.stat().st_size if path.is_file() else 0
        # No file changed at time 0: its checksum is looked at when it is next asked for.
        database.execute("UPDATE arrays SET size = ? WHERE trial = ?", (size, trial))
