"""Who has asked a store for which trials, and with which settings."""

import json
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from .outcome import Settings
from .settings import canonical


class Requested(NamedTuple):
    """A trial, and how a study asked for it."""

    place: int
    trial: str
    condition: str
    key: str
    seed: int
    asked_code: str
    config: str
    code: str
    status: str
    reason: str
    seconds: float
    compile_seconds: float
    needs: str
    is_earlier: int


def chosen(study: str, settings: Settings) -> tuple[str, str, str]:
    """A study and its settings, as the tables have them."""
    return study, settings.preset, canonical(settings.overrides)


def requested(
    database: sqlite3.Connection, study: str, settings: Settings, codes: Mapping[str, str] | None
) -> list[Requested]:
    """The trials that count, in the order in which they were asked for; see `Store.results`."""
    found = database.execute(
        "SELECT r.place, r.trial, r.condition, r.config, r.seed, r.code, t.config, t.code,"
        " t.status, t.reason, t.seconds, t.compile_seconds, t.needs, r.is_earlier"
        " FROM requests r JOIN trials t ON t.id = r.trial"
        " WHERE study = ? AND preset = ? AND overrides = ? AND NOT is_needed"
        " ORDER BY t.finished, r.place",
        chosen(study, settings),
    )
    rows = list(map(Requested._make, found))
    if codes is not None:
        rows = [row for row in rows if row.key in codes]
        present = [row for row in rows if row.asked_code == codes[row.key]]
        rows = present or rows
    last = {(row.key, row.seed): row for row in rows}
    return sorted(last.values())


def settings_asked_for(database: sqlite3.Connection, study: str) -> list[Settings]:
    """See `Store.settings`."""
    rows = database.execute(
        "SELECT preset, overrides FROM requests WHERE study = ? AND NOT is_needed"
        " GROUP BY preset, overrides ORDER BY max(place)",
        (study,),
    )
    return [Settings(preset, json.loads(overrides)) for preset, overrides in rows]


def settings_with_results(database: sqlite3.Connection, study: str) -> list[Settings]:
    """See `Store.every_settings`."""
    rows = database.execute(
        "SELECT preset, overrides FROM runs r WHERE study = ? AND EXISTS (SELECT 1"
        " FROM requests q JOIN trials t ON t.id = q.trial WHERE q.study = r.study"
        " AND q.preset = r.preset AND q.overrides = r.overrides AND t.status = 'done')"
        " GROUP BY preset, overrides ORDER BY overrides != '{}', max(id) DESC",
        (study,),
    ).fetchall()
    found = [Settings(preset, json.loads(overrides)) for preset, overrides in rows]
    latest = None if found else latest_settings(database, study)
    return found or ([latest] if latest else [])


def latest_settings(database: sqlite3.Connection, study: str) -> Settings | None:
    """See `Store.latest_settings`."""
    row = database.execute(
        "SELECT preset, overrides, EXISTS (SELECT 1 FROM requests q JOIN trials ON id = q.trial"
        " WHERE q.study = r.study AND q.preset = r.preset AND q.overrides = r.overrides)"
        " AS started FROM runs r WHERE study = ? ORDER BY started DESC, id DESC LIMIT 1",
        (study,),
    ).fetchone()
    return Settings(row[0], json.loads(row[1])) if row else None
