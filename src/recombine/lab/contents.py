"""All that a store has measured and kept, row by row."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import numpy as np


def measurements(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """See `Store.measurements`."""
    names = ("study", "preset", "overrides", "condition", "seed", "trial", "code")
    asked = (
        "FROM (SELECT study, preset, overrides, min(condition) AS condition, trial"
        " FROM requests GROUP BY study, preset, overrides, trial) r"
        " JOIN trials t ON t.id = r.trial"
    )
    head = "SELECT r.study, r.preset, r.overrides, r.condition, t.seed, t.id, t.code, m.name"
    order = "WHERE t.status = 'done' ORDER BY r.study, t.id, r.preset, r.overrides, m.name"
    for *whose, name, value in database.execute(
        f"{head}, m.value {asked} JOIN metrics m ON m.trial = t.id {order}"
    ):
        row = dict(zip(names, whose, strict=True))
        yield row | {"kind": "metric", "name": name, "x": None, "value": value}
    for *whose, name, x, y in database.execute(
        f"{head}, m.x, m.y {asked} JOIN curves m ON m.trial = t.id {order}"
    ):
        row = dict(zip(names, whose, strict=True)) | {"kind": "curve", "name": name}
        for xi, yi in zip(np.frombuffer(x, "<f8"), np.frombuffer(y, "<f8"), strict=True):
            yield row | {"x": float(xi), "value": float(yi)}


def networks(database: sqlite3.Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    """See `Store.networks`."""
    for trial, name, file, checksum, seed, code in database.execute(
        "SELECT n.trial, n.name, n.file, n.sha256, t.seed, t.code FROM networks n"
        " JOIN trials t ON t.id = n.trial WHERE t.status = 'done' ORDER BY t.rowid, n.name"
    ).fetchall():
        asked = database.execute(
            "SELECT study, preset, overrides, condition FROM requests WHERE trial = ?"
            " ORDER BY place",
            (trial,),
        ).fetchall()
        metrics = database.execute(
            "SELECT name, value FROM metrics WHERE trial = ? ORDER BY name", (trial,)
        )
        yield asked[0][0] if asked else "unasked", {
            "trial": trial, "name": name, "file": file, "sha256": checksum, "seed": seed,
            "code": code, "metrics": dict(metrics.fetchall()),
            "asked_by": [
                {"study": s, "preset": p, "overrides": json.loads(o),
                 "condition": json.loads(c)}
                for s, p, o, c in asked
            ],
        }  # fmt: skip
