"""The command line: exit codes, standard error, and some of it in processes of its own."""

import json
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import recombine

STUDY = str(Path(__file__).parent / "walk_study.py")


def process(*words):
    """A call as a user's."""
    return subprocess.run(
        [sys.executable, "-m", "recombine.cli", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in which the walk has been run at preset laptop."""
    folder = tmp_path_factory.mktemp("cli") / "store"
    done = process("run", STUDY, "--store", folder)
    assert done.returncode == 0, done.stderr
    assert "tests/walk" in done.stdout
    assert "1 holds, 1 fails" in done.stdout
    return folder


def mistake(done):
    """The one line that a user's mistake makes."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_a_run_ends_with_what_was_measured_its_claims_and_the_next_command(store):
    lines = recombine("run", STUDY, "--store", store).stdout.splitlines()
    measured = lines.index("tests/walk: measured at preset laptop, 3 seeds")
    assert lines[measured + 1].split() == ["metric", "rate=0.1", "rate=0.2"]
    assert lines[measured + 3].startswith("final")
    assert " ± " in lines[measured + 3]
    claims = lines.index("tests/walk  preset laptop, 3 seeds")
    assert [line.split() for line in lines[claims + 1 : claims + 2]] == [["holds", "small"]]
    assert measured < claims < lines.index("claims: 1 holds, 1 fails")
    assert lines[-1] == f"next: recombine report --store {store} --open"


def test_a_study_of_ones_own_needs_neither_claims_nor_figures_nor_other_presets(tmp_path):
    text = (
        "from dataclasses import dataclass\n"
        "from recombine.lab import Preset, Source, Study\n\n"
        "@dataclass(frozen=True)\nclass Config:\n    size: int = 2\n\n"
        "def trial(config, key, recorder):\n    recorder.metric('size', config.size)\n\n"
        "study = Study(name='mine/one', title='Mine', source=Source('Me', 'here'),\n"
        "    question='Is it?', config=Config, trial=trial,\n"
        "    presets={'quick': Preset(seeds=2)})\n"
    )
    (tmp_path / "mine.py").write_text(text)
    done = recombine("run", tmp_path / "mine.py", "--store", tmp_path / "store", "--workers", "1")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "mine/one: measured at preset quick, 2 seeds" in done.stdout
    assert any(line.split() == ["size", "2"] for line in done.stdout.splitlines())
    missing = recombine("run", tmp_path / "mine.py", "--preset", "laptop")
    assert mistake(missing) == "recombine: mine/one has no preset 'laptop': there are quick"
    assert recombine("claims", tmp_path / "mine.py", "--store", tmp_path / "store").stdout == ""


def test_claims_for_other_programs_are_rows_with_tabs(store):
    done = recombine("claims", STUDY, "--store", store)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:5] for row in rows] == [
        ["tests/walk", "small", "holds", "laptop", ""],
        ["tests/walk", "impossible", "fails", "laptop", ""],
    ]
    assert {len(row) for row in rows} == {7}


def test_claims_for_people_say_preset_and_settings(store, monkeypatch):
    monkeypatch.setattr("recombine.cli._claims.is_for_people", lambda: True)
    done = recombine("claims", STUDY, "--store", store, COLUMNS="80")
    assert done.stdout.splitlines()[0] == "tests/walk  preset laptop, 3 seeds"
    assert done.stdout.splitlines()[-1] == "claims: 1 holds, 1 fails"
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_report_is_opened_if_asked_for(store, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or False)
    out = tmp_path / "out"
    report = ("report", "--store", store, "--load", STUDY, "--out", out)
    assert recombine(*report).returncode == 0
    assert not opened
    done = recombine(*report, "--open")
    assert opened == [(out / "index.html").as_uri()]
    assert done.stderr == "recombine: there is no web browser to open the report in\n"


def test_claims_are_one_json_document(store):
    done = process("claims", "--store", store, "--json", "--load", STUDY)
    assert done.returncode == 0
    small, impossible = json.loads(done.stdout)["claims"]
    assert small["study"] == "tests/walk"
    assert small["claim"] == "small"
    assert small["verdict"] == "holds"
    assert small["statement"] == "The walk stays below 10."
    (evidence,) = (v for v in small["evidence"].values() if isinstance(v, dict))
    assert evidence["verdict"] == "holds"
    assert evidence["n"] == 6
    assert impossible["verdict"] == "fails"


def test_the_environment_names_the_store(store):
    done = recombine("claims", STUDY, "--json", RECOMBINE_STORE=str(store))
    assert len(json.loads(done.stdout)["claims"]) == 2


def test_a_failing_claim_is_an_error_only_if_asked(store):
    assert recombine("claims", STUDY, "--store", store).returncode == 0
    assert process("claims", STUDY, "--store", store, "--strict").returncode == 1


def test_results_of_several_settings_live_side_by_side(store, tmp_path):
    """No run hides another's: neither changed settings, nor smoke, nor one that failed."""
    ours = tmp_path / "store"
    shutil.copytree(store, ours)
    for words in (("--set", "rate=0.3"), ("--preset", "smoke")):
        assert recombine("run", STUDY, *words, "--store", ours).returncode == 0
    told = json.loads(recombine("claims", STUDY, "--store", ours, "--json").stdout)["claims"]
    assert [(c["claim"], c["preset"], c["overrides"]) for c in told] == [
        ("small", "laptop", {}), ("impossible", "laptop", {}),
        ("small", "laptop", {"rate": 0.3}), ("impossible", "laptop", {"rate": 0.3}),
    ]  # fmt: skip
    before = json.loads(recombine("claims", STUDY, "--store", store, "--json").stdout)["claims"]
    assert told[:2] == before
    out = tmp_path / "report"
    report = recombine("report", "--store", ours, "--load", STUDY, "--out", out)
    assert report.returncode == 0
    pages = [page.read_text() for page in (out / "studies").rglob("*.html")]
    assert len(pages) == 2
    assert sum("Run with changed settings" in page for page in pages) == 1
    assert "rate=0.3" in (out / "index.html").read_text()


def test_running_again_skips_what_is_done(store):
    done = recombine("run", STUDY, "--store", store)
    assert done.returncode == 0
    assert "6 trials, 6 of them done before" in done.stdout


def test_smoke_leaves_claims_undecided(tmp_path):
    recombine("run", STUDY, "--preset", "smoke", "--store", tmp_path)
    claims = json.loads(recombine("claims", STUDY, "--store", tmp_path, "--json").stdout)["claims"]
    assert {c["verdict"] for c in claims} == {"undecided"}


def test_a_failed_trial_is_exit_code_one(tmp_path):
    done = recombine("run", STUDY, "--preset", "smoke", "--set", "fault=raise", "--store", tmp_path)
    assert done.returncode == 1
    assert "asked to" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_export_is_one_row_per_measurement(store, tmp_path, suffix):
    import polars

    file = tmp_path / f"results.{suffix}"
    assert recombine("export", "--store", store, "--to", file).returncode == 0
    table = polars.read_parquet(file) if suffix == "parquet" else polars.read_csv(file)
    # six trials: two metrics, and a curve of 41 points
    assert len(table) == 6 * (2 + 41)
    assert set(table["name"]) == {"final", "sum", "loss"}
    assert list(tmp_path.iterdir()) == [file]


def test_studies_are_one_json_document():
    studies = json.loads(recombine("studies", "--json").stdout)["studies"]
    names = [s["name"] for s in studies]
    assert "neural-race/routing" in names
    for study in studies:
        assert {"name", "source", "question", "presets", "claims"} <= set(study)
        assert set(study["presets"]) == {"smoke", "laptop", "paper"}


def test_show_tells_all_about_a_study():
    done = recombine("show", "neural-race/routing")
    assert done.returncode == 0
    for word in ("Figure 4", "sigma_0", "decoupled-equals-theory", "4.56346"):
        assert word in done.stdout
    document = json.loads(recombine("show", "neural-race/routing", "--json").stdout)
    assert document["settings"][0]["name"] == "init"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "nosuch"), "no study 'nosuch'"),
        (("run", "neural-race/ruoting"), "did you mean 'neural-race/routing'"),
        (("run", "nueral-race"), "did you mean 'neural-race'"),
        (("run", "rutting"), "did you mean 'neural-race/routing'"),
        (("run", "support"), "may be hyperteacher/support, identification/support, preferences"),
        (("run", ""), "is empty"),
        (("studies", "xyzzy", "router"), "no study has 'xyzzy' and 'router' in its name"),
        (("run", STUDY, "--set", "nosuch=1"), "no setting 'nosuch'"),
        (("run", STUDY, "--set", "widht=1"), "did you mean 'width'"),
        (("run", STUDY, "--preset", "big"), "no preset 'big'"),
        (("run", STUDY, "--seeds", "0"), "at least one seed"),
        (("run", STUDY, "--seeds", "many"), "--seeds"),
        (("run", STUDY, "--seed-offset", "-1"), "seeds count from 0"),
        (("run", STUDY, "--seed-offset", "99999999999999999999"), "seeds count from 0"),
        (("run", STUDY, "--seeds", "2000000000"), "4,000,000,000 trials are more than"),
        (("run", STUDY, "--address", "auto"), "--address is for a cluster: add --engine ray"),
        (("run", STUDY, "--workers", "0"), "at least one worker"),
        (("run", STUDY, "--time-limit", "0"), "seconds above 0"),
        (("run", STUDY, "--engine", "cloud"), "no engine 'cloud'"),
        (("run", "nosuch.py"), "no file"),
        (("run",), "STUDY"),
        (("rnu",), "no command 'rnu': did you mean 'run'"),
        (("list",), "did you mean 'studies'"),
        (("xyzzy",), "there are studies, show, run"),
        (("data", "gte"), "did you mean 'get'"),
        (("show", "nosuch"), "no study 'nosuch'"),
        (("claims", "nosuch"), "no study 'nosuch'"),
    ],
)
def test_a_mistake_is_one_clear_line(words, message, tmp_path):
    line = mistake(recombine(*words, RECOMBINE_STORE=str(tmp_path / "store")))
    assert message in line
    assert not (tmp_path / "store").exists()


def test_a_mistake_is_all_that_a_process_says():
    assert mistake(process("show", "nosuch")).startswith("recombine: no study 'nosuch'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nosuch", "line 1: ModuleNotFoundError"),
        ("x = 1\nx = (", "line 2: SyntaxError"),
        ("x = 1", "has no study"),
    ],
)
def test_a_mistake_in_a_study_file_is_one_clear_line(text, message, tmp_path):
    (tmp_path / "mine.py").write_text(text)
    assert message in mistake(recombine("run", tmp_path / "mine.py"))


@pytest.mark.parametrize("command", [("claims",), ("report",)])
def test_reading_a_store_runs_no_code_that_lies_in_it(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, witness = tmp_path / "store", tmp_path / "witness"
    assert recombine("run", STUDY, "--preset", "smoke", "--store", folder).returncode == 0
    trap = folder / "arrays" / "x.py"
    trap.write_text(f"open({str(witness)!r}, 'w')\n" + Path(STUDY).read_text())
    with sqlite3.connect(folder / "store.sqlite") as database:
        database.execute("UPDATE runs SET reference = ?", (str(trap),))
    database.close()
    done = recombine(*command, "--store", folder)
    assert "files are data and are not run" in done.stderr
    assert not witness.exists()


@pytest.mark.parametrize("command", ["claims", "report"])
def test_a_file_that_only_the_store_names_is_not_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, witness = tmp_path / "store", tmp_path / "witness"
    assert recombine("run", STUDY, "--preset", "smoke", "--store", folder).returncode == 0
    trap = tmp_path / "elsewhere.py"
    trap.write_text(f"open({str(witness)!r}, 'w').close()\n" + Path(STUDY).read_text())
    with sqlite3.connect(folder / "store.sqlite") as database:
        database.execute("UPDATE runs SET reference = ?", (str(trap),))
    database.close()
    done = recombine(command, "--store", folder)
    assert f"named by the store alone, and not run: say --load {trap}" in done.stderr
    assert not witness.exists()
    assert recombine(command, "--store", folder, "--load", trap).returncode == 0
    assert witness.exists()


@pytest.mark.parametrize("command", [("claims",), ("report",), ("export", "--to", "x.csv")])
def test_reading_a_store_that_is_not_there_is_a_mistake(command, tmp_path):
    line = mistake(recombine(*command, "--store", tmp_path / "none"))
    assert "run a study first" in line


def test_a_store_that_is_a_file_is_a_mistake(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    assert "is a file" in mistake(recombine("run", STUDY, "--store", file))
    assert file.read_text() == "mine"


def test_a_store_that_cannot_be_written_is_a_mistake(tmp_path):
    (tmp_path / "file").write_text("mine")
    line = mistake(recombine("run", STUDY, "--store", tmp_path / "file" / "store"))
    assert "not writable" in line


def test_a_corrupted_store_is_a_mistake_and_stays_as_it_is(tmp_path):
    (tmp_path / "store.sqlite").write_bytes(b"this is no database" * 400)
    for command in (("run", STUDY), ("claims",), ("export", "--to", tmp_path / "x.csv")):
        assert "cannot be read" in mistake(recombine(*command, "--store", tmp_path))
    assert (tmp_path / "store.sqlite").read_bytes() == b"this is no database" * 400


def test_export_to_an_unknown_kind_of_file_is_a_mistake(store, tmp_path):
    line = mistake(recombine("export", "--store", store, "--to", tmp_path / "x.xlsx"))
    assert ".parquet or .csv" in line


def processor_seconds(*command):
    """What a command costs a processor, whatever else the machine is doing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_importing_and_help_are_fast():
    assert min(processor_seconds("-c", "import recombine") for _ in range(3)) < 0.3
    assert min(processor_seconds("-m", "recombine.cli", "--help") for _ in range(3)) < 0.5


def test_listing_studies_does_not_load_jax():
    code = (
        "import sys; from recombine.lab.registry import load, select;"
        "[load(name) for name in select([])]; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_report_without_a_study_that_cannot_be_shown_is_exit_code_one(tmp_path):
    file = tmp_path / "study.py"
    file.write_text(Path(STUDY).read_text())
    recombine("run", file, "--preset", "smoke", "--store", tmp_path / "store")
    report = ("report", "--store", tmp_path / "store", "--out", tmp_path / "out")
    assert recombine(*report).returncode == 0
    file.unlink()
    done = process(*report)  # this process still has the module
    assert done.returncode == 1
    assert done.stderr == f"recombine: not shown: {file}: no file {file}\n"
    assert (tmp_path / "out" / "index.html").exists()
