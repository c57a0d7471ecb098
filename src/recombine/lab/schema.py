"""The tables of a store, and how those of earlier formats become them."""

import json
import sqlite3
from pathlib import Path

from .errors import UserError
from .settings import canonical, without_folders

VERSION = 3
READABLE = (1, 2, VERSION)
"""Formats that can be read. Writing to an earlier one brings it up to date."""
TABLES = """
CREATE TABLE provenance (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL UNIQUE
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, study TEXT NOT NULL, reference TEXT NOT NULL, preset TEXT NOT NULL,
    overrides TEXT NOT NULL, seeds TEXT NOT NULL, workers INTEGER NOT NULL,
    started TEXT NOT NULL, seconds REAL
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
NEW_TABLES = """
CREATE TABLE {prefix}trials (
    id TEXT PRIMARY KEY, function TEXT NOT NULL, code TEXT NOT NULL, config TEXT NOT NULL,
    seed INTEGER NOT NULL, recipe TEXT NOT NULL, needs TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'diverged')), reason TEXT,
    steps INTEGER, seconds REAL, compile_seconds REAL, finished TEXT NOT NULL,
    provenance INTEGER REFERENCES provenance (id)
);
CREATE TABLE requests (
    place INTEGER PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, overrides TEXT NOT NULL,
    condition TEXT NOT NULL, config TEXT NOT NULL, seed INTEGER NOT NULL, code TEXT NOT NULL,
    trial TEXT NOT NULL, is_earlier INTEGER NOT NULL, is_needed INTEGER NOT NULL,
    UNIQUE (study, preset, overrides, config, seed, code, is_needed)
);
CREATE INDEX requests_by_trial ON requests (trial);
CREATE TABLE networks (
    trial TEXT NOT NULL REFERENCES trials (id), name TEXT NOT NULL, file TEXT NOT NULL,
    sha256 TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL,
    PRIMARY KEY (trial, name)
)
"""
"""What format 3 has: trials that belong to nobody, and who asked for them, or needed them for what
they asked for. A request names the code that there was when it was made, and the trial that answers
it, which may be of earlier code."""
OLD_TRIALS = (
    "SELECT id, '' AS function, code, config, seed, '' AS recipe, '' AS needs,"
    " status, reason, steps, seconds, compile_seconds,"
    " finished, provenance FROM main.trials"
)
NO_NETWORKS = (
    "SELECT '' AS trial, '' AS name, '' AS file, '' AS sha256, 0 AS size, 0 AS changed WHERE 0"
)
OLD_REQUESTS = (
    "SELECT rowid AS place, study, preset, overrides, condition, without_folders(config) AS config,"
    " seed, code, id AS trial, 0 AS is_earlier, 0 AS is_needed FROM main.trials"
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
            f" {', '.join(map(str, READABLE[:-1]))} and {READABLE[-1]}: choose another with --store"
        )


def create(database: sqlite3.Connection) -> None:
    """Make the tables of a new store."""
    for statement in (*TABLES.split(";"), *NEW_TABLES.format(prefix="").split(";")):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")


def bring_up_to_date(database: sqlite3.Connection, folder: Path) -> None:
    """Give a store of an earlier format the tables of this one; call it in a transaction."""
    version = version_of(database)
    if version not in READABLE or version == VERSION:
        return
    if version == 1:
        _add_sizes(database, folder)
    _add_function(database)
    for statement in NEW_TABLES.format(prefix="new_").split(";"):
        database.execute(statement)
    database.execute(f"INSERT INTO new_trials {OLD_TRIALS} ORDER BY rowid")
    # A trial was asked for once, but a study that was edited has others of the same condition.
    database.execute(f"INSERT OR REPLACE INTO requests {OLD_REQUESTS} ORDER BY finished")
    database.execute("DROP TABLE main.trials")
    database.execute("ALTER TABLE new_trials RENAME TO trials")
    database.execute(f"PRAGMA user_version = {VERSION}")


def show_as_new(database: sqlite3.Connection) -> None:
    """Let a store of an earlier format be read as one of this; nothing is written to it."""
    version = version_of(database)
    if version == VERSION:
        return
    _add_function(database)
    database.execute(f"CREATE TEMP VIEW requests AS {OLD_REQUESTS}")
    database.execute(f"CREATE TEMP VIEW trials AS {OLD_TRIALS}")
    database.execute(f"CREATE TEMP VIEW networks AS {NO_NETWORKS}")


def _add_function(database: sqlite3.Connection) -> None:
    def key(config: str) -> str:
        return canonical(without_folders(json.loads(config)))

    database.create_function("without_folders", 1, key, deterministic=True)


def _add_sizes(database: sqlite3.Connection, folder: Path) -> None:
    """Give a store of format 1 what format 2 has: the sizes of files of arrays."""
    for column in ("size", "changed"):
        database.execute(f"ALTER TABLE arrays ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    for trial, file in database.execute("SELECT trial, file FROM arrays").fetchall():
        path = folder / file
        size = path.stat().st_size if path.is_file() else 0
        # No file changed at time 0: its checksum is looked at when it is next asked for.
        database.execute("UPDATE arrays SET size = ? WHERE trial = ?", (size, trial))
