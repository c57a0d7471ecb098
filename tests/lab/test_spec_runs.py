"""Studies whose networks are specs, run, judged, reported and exported as users do it."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from recombine.lab import Missing, Store, run_study, write_report
from recombine.lab.claims import judge
from recombine.lab.outcome import Settings
from recombine.lab.registry import load
from recombine.lab.run import collect

STUDY = str(Path(__file__).parent / "spec_study.py")
study = load(STUDY)
module = sys.modules[study.config.__module__]

OWN = '''
from dataclasses import dataclass

@dataclass(frozen=True)
class Own:
    gain: float = 2.0
    """Factor."""

    def build(self, sizes, key):
        return sizes * self.gain

@dataclass(frozen=True)
class OwnScores:
    def build(self, sizes, key):
        return -1.0
'''


def recombine(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "recombine.cli", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"COLUMNS": "200"},
        timeout=120,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store in which all networks, one of a user's among them, have been run."""
    folder = tmp_path_factory.mktemp("specs")
    (folder / "own.py").write_text(OWN)
    done = recombine(
        "run", STUDY, "--store", "store", "--set", "model=router,lstm,own.py:Own",
        "--set", "model.scores=own.py:OwnScores", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "18 trials" in done.stdout
    return folder


@pytest.fixture
def results(folder):
    with Store.open(folder / "store") as store:
        yield collect(study, store.latest_settings(study.name), store)


WITH_OWN_PART = "router with own.py:OwnScores"


def test_networks_of_a_users_file_are_loaded_where_trials_run(results):
    assert results.metric("score", model="own.py:Own", direction="forward").tolist() == [20] * 3
    router = results.metric("score", model=WITH_OWN_PART, direction="backward")
    assert router.tolist() == [20 - 6] * 3


def test_running_again_skips_what_is_done_also_from_another_folder(folder):
    done = recombine(
        "run", STUDY, "--store", folder / "store",
        "--set", f"model.scores={folder}/own.py:OwnScores",
        "--set", f"model=router,lstm,{folder}/own.py:Own",
    )  # fmt: skip
    assert "18 trials, 18 of them done before" in done.stdout, done.stderr


def test_results_are_selected_by_name_by_equality_and_by_field(results):
    assert results.values("model") == ["lstm", "own.py:Own", WITH_OWN_PART]
    assert len(results.where(model="lstm").records) == 6
    assert len(results.where(model="own.py:Own").records) == 6
    assert len(results.where(model=module.Recurrent()).records) == 6
    assert len(results.where(**{"model.layers": 6}).records) == 6
    assert len(results.where(**{"model.gain": 2}).records) == 6
    assert results.values("model.layers") == [6]
    assert results.values("model.scores") == ["own.py:OwnScores"]
    others = ({"model": name} for name in ("LSTM", "own", "router"))
    for nothing in ({"model": module.Recurrent(9)}, {"model.layers": 5}, *others):
        with pytest.raises(Missing):
            results.where(**nothing)
    with pytest.raises(Missing, match="nosuch"):
        results.values("model.nosuch")


def test_seeds_are_counted_by_condition(results):
    assert results.seeds_by_condition() == [{0, 1, 2}] * 6


def test_a_claim_on_a_network_is_not_judged_on_one_with_another_part(folder):
    claims = json.loads(
        recombine(
            "claims", STUDY, "--load", folder / "own.py", "--store", folder / "store", "--json"
        ).stdout
    )["claims"]
    assert [c["verdict"] for c in claims] == ["undecided"]
    assert "router" in claims[0]["evidence"]["reason"]


def test_claims_find_networks_by_name(tmp_path):
    results = run_study(STUDY, store=tmp_path / "store", workers=1)
    (verdict,) = (judge(claim, study.name, results) for claim in study.claims)
    assert verdict.verdict == "holds"


def test_the_report_shows_specs_by_name(folder):
    own = ("--load", STUDY, "--load", folder / "own.py")
    index = recombine("report", *own, "--store", folder / "store", "--out", folder / "report")
    assert index.returncode == 0, index.stderr
    page = (folder / "report" / "studies" / "tests" / "specs.html").read_text()
    assert "own.py:Own" in page
    assert str(folder) not in page
    assert "&#39;spec&#39;" not in page
    assert "spec = " not in page
    for setting in ("model.scores", "model.layers", "model.gain", "How often the layer is applied"):
        assert setting in page
    assert "Could not be drawn" not in page


def test_export_shows_specs_by_name(folder):
    import polars

    file = folder / "results.csv"
    assert recombine("export", "--store", folder / "store", "--to", file).returncode == 0
    conditions = {json.loads(c)["model"] for c in polars.read_csv(file)["condition"]}
    assert conditions == {"router", "lstm", "own.py:Own"}


def test_a_store_whose_spec_file_is_gone_is_read_without_a_traceback(folder):
    (folder / "own.py").rename(folder / "gone.py")
    try:
        done = recombine("claims", "--load", STUDY, "--store", folder / "store")
        assert done.returncode == 0
        assert "left out" in done.stderr
        assert "Traceback" not in done.stderr
        out = folder / "report-without"
        named = ("--load", STUDY)
        done = recombine("report", *named, "--store", folder / "store", "--out", out)
        assert done.returncode == 1
        assert "no file" in (out / "index.html").read_text()
    finally:
        (folder / "gone.py").rename(folder / "own.py")


def test_a_store_in_which_networks_were_words_is_still_read(tmp_path):
    """Before networks had specs, `model` was a text, also where the user had set it."""
    run_study(STUDY, "smoke", store=tmp_path / "store", workers=1)
    database = sqlite3.connect(tmp_path / "store" / "store.sqlite")
    with database:
        for table in ("requests", "runs"):
            database.execute(f'UPDATE {table} SET overrides = \'{{"model":"Plain NDR"}}\'')
        rows = database.execute("SELECT id, config FROM trials").fetchall()
        for place, (trial, config) in enumerate(rows):
            old = json.dumps(json.loads(config) | {"model": "Plain NDR", "rate": place})
            database.execute("UPDATE trials SET config = ? WHERE id = ?", (old, trial))
            database.execute(
                "UPDATE requests SET condition = ?, config = ? WHERE trial = ?", (old, old, trial)
            )
    database.close()
    with Store.open(tmp_path / "store") as store:
        results = store.results(study.name, Settings("smoke", {"model": "Plain NDR"}))
        assert results.values("model") == ["Plain NDR"]
        assert len(results.where(model="Plain NDR").records) == 2
        with pytest.raises(Missing):
            results.where(model=module.Router())
        assert "no spec &#39;Plain NDR&#39;" in write_report(store, tmp_path / "out").read_text()
    for words in (("claims",), ("report", "--out", tmp_path / "o"), ("export", "--to", "x.csv")):
        done = recombine(*words, "--store", tmp_path / "store", cwd=tmp_path)
        assert done.returncode == (words[0] == "report"), done.stderr  # which cannot show it
        assert "Traceback" not in done.stderr


def test_python_takes_specs_and_their_names(tmp_path):
    store = tmp_path / "store"
    results = run_study(
        STUDY, store=store, seeds=1, workers=1, model=module.Router(layers=3), direction="forward"
    )
    assert results.values("model.layers") == [3]
    (done,) = results.records
    named = run_study(
        STUDY, store=store, seeds=1, workers=1, direction="forward", model="router",
        **{"model.layers": 3},
    )  # fmt: skip
    assert [r.id for r in named.records] == [done.id]
    several = run_study(
        STUDY, "smoke", store=store, workers=1, model=[module.Router(layers=3), module.Recurrent()]
    )
    assert several.values("model") == ["lstm", "router"]


def test_show_lists_the_fields_of_specs_and_what_follows_from_conditions():
    done = recombine("show", STUDY)
    assert done.returncode == 0, done.stderr
    for words in (
        "model = router, lstm; direction = forward, backward",
        "One of lstm, router, or FILE.py:NAME.",
        "model.scores.bias",
        "Where the bias of matches starts.",
        "preset laptop: changed settings",
        "model=router, direction=backward   model.layers=6, steps=20",
        "model=lstm, direction=forward      rate=0.5",
    ):
        assert words in done.stdout
    document = json.loads(recombine("show", STUDY, "--json").stdout)
    assert document["conditions"]["paper"][1] == {"model": "lstm", "model.width": 64}
    assert document["depends"]["laptop"][0] == {
        "condition": {"model": "router", "direction": "forward"},
        "settings": {"steps": 10, "model.layers": 6},
    }
    assert "smoke" not in document["depends"]
    model = next(s for s in document["settings"] if s["name"] == "model")
    assert model["choices"] == ["lstm", "router"]


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("model=ruoter", "did you mean 'router'"),
        ("model.layrs=3", "did you mean 'model.layers'"),
        ("model=nosuch.py:Own", "no file nosuch.py"),
        ("model=own.py:Wno", "did you mean 'Own'"),
        ("model=broken.py:Own", "broken.py, line 1: SyntaxError"),
        ("steps=1,2", "expected a whole number"),
    ],
)
def test_a_mistake_is_one_clear_line(assignment, message, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("x = (")
    done = recombine("run", STUDY, "--set", assignment, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "recombine-store").exists()
