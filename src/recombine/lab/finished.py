"""Which trials of a store are done, and whose results could stand in for others'."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from .stored_files import ArrayFile
from .study import Trial


def whole(database: sqlite3.Connection, folder: Path, among: set[str] | None = None) -> set[str]:
    """The identities of trials that are done, and whose files are as they were."""
    done = {row[0] for row in database.execute("SELECT id FROM trials WHERE status = 'done'")}
    done = done if among is None else done & among
    files = database.execute(
        "SELECT trial, file, sha256, size, changed FROM arrays"
        " UNION ALL SELECT trial, file, sha256, size, changed FROM networks"
    ).fetchall()
    return done - {
        trial
        for trial, *place in files
        if trial in done and not ArrayFile._make((*place, ())).is_whole(folder)
    }


def earlier(database: sqlite3.Connection, folder: Path, trials: Iterable[Trial]) -> dict[str, str]:
    """See `Store.earlier`."""
    by_recipe: dict[str, list[str]] = {}
    by_request: dict[tuple[str, str, int], list[str]] = {}
    rows = database.execute(
        "SELECT t.id, t.recipe, r.study, r.config, r.seed FROM trials t"
        " JOIN requests r ON r.trial = t.id WHERE t.status = 'done' ORDER BY t.finished"
    )
    for one, recipe, study, config, seed in rows:
        if recipe:
            by_recipe.setdefault(recipe, []).append(one)
        else:  # trials of the first formats do not say which function they called
            by_request.setdefault((study, config, seed), []).append(one)
    usable = whole(database, folder)
    found = {}
    for trial in trials:
        others = by_request.get((trial.study, trial.key, trial.seed), [])
        others = others + by_recipe.get(trial.recipe, [])
        if others := [one for one in others if one != trial.id and one in usable]:
            found[trial.id] = others[-1]
    return found
