import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from recombine.lab import Store, UserError
from recombine.lab.checkpoint import Damaged
from recombine.lab.claims import Verdict
from recombine.lab.outcome import Outcome, Settings
from recombine.lab.stored_files import write_arrays
from recombine.lab.study import Trial

LAPTOP = Settings("laptop", {})


def trial(seed=0):
    return Trial("family/study", "laptop", {"K": 1}, {}, {"K": 1}, seed)


def outcome(store, identity, status="done", **changes):
    arrays = write_arrays(store.folder, identity, {"a": np.arange(4.0)})
    curves = {"loss": (np.arange(3.0), np.array([0.1, 0.2, 1 / 3]))}
    fields = {
        "status": status, "reason": "", "metrics": {"error": 1 / 3}, "curves": curves,
        "arrays": arrays, "steps": 3, "seconds": 1.0, "compile_seconds": 0.5,
        "provenance": {"versions": {"jax": "0"}},
    }  # fmt: skip
    return Outcome(**fields | changes)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "store") as opened:
        yield opened


def test_what_is_written_is_read_bit_for_bit(store):
    store.write(trial(), outcome(store, trial().id))
    results = store.results("family/study", LAPTOP)
    assert results.metric("error")[0] == 1 / 3
    _, y = results.curve("loss")
    assert y[0].tolist() == [0.1, 0.2, 1 / 3]
    assert results.array("a")[0].tolist() == [0, 1, 2, 3]
    assert store.provenance("family/study", LAPTOP) == [{"versions": {"jax": "0"}}]


def test_failed_trials_are_recorded_and_not_finished(store):
    store.write(trial(), outcome(store, trial().id, "diverged", reason="NaN", metrics={}))
    assert store.finished([trial()]) == set()
    assert store.failures("family/study", LAPTOP) == [({"K": 1}, {"K": 1}, 0, "diverged", "NaN")]
    store.write(trial(), outcome(store, trial().id))
    assert store.finished([trial()]) == {trial().id}
    assert store.failures("family/study", LAPTOP) == []


def test_the_latest_settings_are_those_of_the_last_run(store):
    assert store.latest_settings("family/study") is None
    store.begin_run("family/study", "family/study", LAPTOP, [0], 2)
    store.begin_run("family/study", "family/study", Settings("smoke", {"K": 2}), [0], 2)
    assert store.latest_settings("family/study") == Settings("smoke", {"K": 2})
    store.write(trial(), outcome(store, trial().id))  # only the first run has got anywhere
    assert store.latest_settings("family/study") == LAPTOP
    assert store.references() == ["family/study"]


def test_a_damaged_array_file_is_detected(store):
    store.write(trial(), outcome(store, trial().id))
    file = next((store.folder / "arrays").iterdir())
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(Damaged):
        store.results("family/study", LAPTOP).array("a")


@pytest.mark.parametrize("damage", ["deleted", "shortened", "changed"])
def test_a_trial_whose_arrays_are_not_there_as_they_were_is_not_finished(store, damage):
    store.write(trial(), outcome(store, trial().id))
    assert store.finished([trial()]) == {trial().id}
    file = next((store.folder / "arrays").iterdir())
    whole = file.read_bytes()
    os.utime(file, ns=(1, 1))  # a copy: another time, the same content
    assert store.finished([trial()]) == {trial().id}
    if damage == "deleted":
        file.unlink()
    else:
        file.write_bytes(whole[:-1] if damage == "shortened" else whole[:-1] + b"?")
    assert store.finished([trial()]) == set()
    store.write(trial(), outcome(store, trial().id))
    assert store.finished([trial()]) == {trial().id}
    assert store.results("family/study", LAPTOP).array("a")[0].tolist() == [0, 1, 2, 3]


def write_before(store, table, write):
    """Have `write` done by another connection just before `store` reads `table`."""

    def look(statement):
        if f"FROM {table}" in statement and "IN (SELECT" not in statement:
            store._db.set_trace_callback(None)
            write()

    store._db.set_trace_callback(look)


def test_a_trial_that_is_written_in_the_middle_of_a_read_is_there_whole_or_not_at_all(store):
    store.write(trial(0), outcome(store, trial(0).id))
    with Store.create(store.folder) as writer:
        write_before(store, "metrics", lambda: writer.write(trial(1), outcome(store, trial(1).id)))
        for seeds in ([0], [0, 1]):  # as it was when the reading began; then as it is now
            results = store.results("family/study", LAPTOP)
            assert results.seeds == seeds
            assert all(r.metrics for r in results.records)


def test_an_export_beside_a_writer_has_curves_and_metrics_of_the_same_trials(store):
    store.write(trial(0), outcome(store, trial(0).id))
    with Store.create(store.folder) as writer:
        rows = store.measurements()
        first = next(rows)
        writer.write(trial(1), outcome(store, trial(1).id))
        assert {row["trial"] for row in (first, *rows)} == {trial(0).id}
    assert {row["trial"] for row in store.measurements()} == {trial(0).id, trial(1).id}


def test_what_is_read_in_a_snapshot_is_one_state(store):
    with Store.create(store.folder) as writer:
        with store.snapshot():
            assert store.finished([trial()]) == set()
            writer.write(trial(), outcome(store, trial().id))
            assert store.results("family/study", LAPTOP).records == ()
            assert list(store.measurements()) == []
        assert store.finished([trial()]) == {trial().id}


def test_verdicts_are_kept(store, tmp_path):
    store.write_verdicts([Verdict("s", "c", "It is.", "holds", {"n": 1}, "laptop", {})])
    database = sqlite3.connect(tmp_path / "store" / "store.sqlite")
    assert database.execute("SELECT claim, verdict FROM claims").fetchall() == [("c", "holds")]
    database.close()


def test_measurements_are_one_row_each(store):
    store.write(trial(), outcome(store, trial().id))
    rows = list(store.measurements())
    assert [r["kind"] for r in rows] == ["metric", "curve", "curve", "curve"]
    assert rows[-1]["x"] == 2.0
    assert rows[-1]["value"] == 1 / 3


def test_a_store_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    for how in (Store.create, Store.open):
        with pytest.raises(UserError, match="is a file"):
            how(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_store_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="not writable"):
        Store.create(tmp_path / "file" / "store")


def test_a_missing_store_is_not_made_by_reading(tmp_path):
    with pytest.raises(UserError, match="run a study first"):
        Store.open(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_corrupted_database_is_refused_and_left_alone(tmp_path, store):
    store.write(trial(), outcome(store, trial().id))
    store.close()
    file = tmp_path / "store" / "store.sqlite"
    broken = b"garbage!" * 512 + file.read_bytes()[4096:]
    file.write_bytes(broken)
    for how in (Store.create, Store.open):
        with pytest.raises(UserError, match="cannot be read"):
            how(tmp_path / "store")
    assert file.read_bytes() == broken


def test_a_store_of_another_format_is_refused(tmp_path, store):
    store.close()
    database = sqlite3.connect(tmp_path / "store" / "store.sqlite")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(UserError, match="format 99"):
        Store.create(tmp_path / "store")


def test_two_runs_do_not_write_to_one_store(store, tmp_path):
    with (
        store.lock(),
        Store.create(tmp_path / "store") as second,
        pytest.raises(UserError, match="another run"),
        second.lock(),
    ):
        raise AssertionError("both have the lock")


FORMER = """
DROP TABLE networks;
CREATE TABLE former (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, overrides TEXT NOT NULL,
    condition TEXT NOT NULL, config TEXT NOT NULL, seed INTEGER NOT NULL, code TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed', 'diverged')), reason TEXT,
    steps INTEGER, seconds REAL, compile_seconds REAL, finished TEXT NOT NULL,
    provenance INTEGER REFERENCES provenance (id)
);
INSERT INTO former SELECT t.id, study, preset, overrides, condition, t.config, t.seed, '0.1.0',
    status, reason, steps, seconds, compile_seconds, finished, provenance
    FROM trials t JOIN requests ON trial = t.id ORDER BY place;
DROP TABLE requests;
DROP TABLE trials;
ALTER TABLE runs DROP COLUMN looks;
ALTER TABLE former RENAME TO trials;
CREATE INDEX trials_by_study ON trials (study, preset, overrides, status);
ALTER TABLE arrays DROP COLUMN size;
ALTER TABLE arrays DROP COLUMN changed;
PRAGMA user_version = 1;
"""
"""What makes a store of the present format one of the first."""


def made_older(store):
    """Take away from a store what its first format does not have."""
    store.close()
    with sqlite3.connect(store.folder / "store.sqlite") as database:
        database.executescript(FORMER)
    database.close()


def test_a_store_of_an_earlier_format_is_read_and_left_as_it_is(store):
    store.write(trial(), outcome(store, trial().id))
    store.begin_run("family/study", "family/study", LAPTOP, [0], 2)
    made_older(store)
    before = (store.folder / "store.sqlite").read_bytes()
    with Store.open(store.folder) as older:
        results = older.results("family/study", LAPTOP)
        assert results.metric("error")[0] == 1 / 3
        np.testing.assert_array_equal(results.array("a")[0], np.arange(4.0))
        assert older.latest_settings("family/study") == LAPTOP
        assert older.looks("family/study", LAPTOP) == 1
        assert older.provenance("family/study", LAPTOP) == [{"versions": {"jax": "0"}}]
        assert len(list(older.measurements())) == 4
        assert older._db.execute("PRAGMA user_version").fetchone() == (1,)
    assert (store.folder / "store.sqlite").read_bytes() == before


def test_writing_to_a_store_of_an_earlier_format_keeps_what_is_done(store):
    lost, kept = trial(0), trial(1)
    for one in (lost, kept):
        store.write(one, outcome(store, one.id))
    made_older(store)
    (store.folder / f"arrays/{lost.id}.npz").unlink()
    with Store.create(store.folder) as newer:
        assert newer._db.execute("PRAGMA user_version").fetchone() == (2,)
        assert newer.finished([lost, kept]) == {kept.id}
        newer.write(lost, outcome(newer, lost.id))
        assert newer.finished([lost, kept]) == {lost.id, kept.id}
        assert newer.results("family/study", LAPTOP).seeds == [0, 1]
        newer.begin_run("family/study", "family/study", LAPTOP, [0], 2, looks=4)
        assert newer.looks("family/study", LAPTOP) == 4
    with Store.open(store.folder) as reopened:
        assert len(list(reopened.measurements())) == 8


def test_results_of_an_earlier_format_are_those_of_earlier_code(store):
    store.write(trial(), outcome(store, trial().id))
    made_older(store)
    now = replace(trial(), function="study:trial", code="now")
    with Store.create(store.folder) as newer:
        assert newer.finished([now]) == set()
        assert newer.earlier([now]) == {now.id: trial().id}
        results = newer.results("family/study", LAPTOP, {now.key: now.code})
        assert (len(results.records), results.earlier) == (1, 1)


def test_results_of_the_present_code_come_before_those_of_earlier_code(store):
    old, new = (replace(trial(), code=code) for code in ("old", "new"))
    store.write(old, outcome(store, old.id))
    codes = {new.key: "new"}
    found = store.results("family/study", LAPTOP, codes)
    assert ([r.id for r in found.records], found.earlier) == ([old.id], 1)
    store.write(new, outcome(store, new.id))
    found = store.results("family/study", LAPTOP, codes)
    assert ([r.id for r in found.records], found.earlier) == ([new.id], 0)


def test_results_of_earlier_code_can_be_asked_for_in_place_of_new_ones(store):
    old, new, other = (replace(trial(s), code=c) for s, c in ((0, "old"), (0, "new"), (1, "new")))
    for one in (old, other):
        store.write(one, outcome(store, one.id))
    found = store.results("family/study", LAPTOP, {new.key: "new"})
    assert (found.seeds, found.earlier) == ([1], 0)
    store.ask([new], store.earlier([new]))
    found = store.results("family/study", LAPTOP, {new.key: "new"})
    assert (found.seeds, found.earlier) == ([0, 1], 1)


def test_a_trial_that_two_studies_ask_for_is_there_once_and_belongs_to_both(store):
    one = trial()
    other = replace(one, study="family/other", preset="paper")
    store.write(replace(one, function="f"), outcome(store, replace(one, function="f").id))
    store.ask([replace(other, function="f")])
    for study, settings in (("family/study", LAPTOP), ("family/other", Settings("paper", {}))):
        assert store.results(study, settings).metric("error")[0] == 1 / 3
    assert store.first_asked_by([replace(other, function="f")]).popitem()[1] == "family/study"
    assert {row["study"] for row in store.measurements()} == {"family/study", "family/other"}
