"""`recombine data`, and studies that read data sets."""

import io
import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from hashlib import sha256

import pytest
from rich.console import Console

from recombine import cli
from recombine.data import DATA_SETS
from recombine.data._sets import DataSet, File
from recombine.data._sources import Client, Package, Web
from recombine.lab.data_progress import DataProgress
from recombine.lab.data_use import describe_data, require_data
from recombine.lab.registry import load


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("RECOMBINE_STORE", str(tmp_path / "store"))
    return tmp_path / "cache"


@pytest.fixture
def recombine(monkeypatch, capsys):
    """Call the program in this process."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["recombine", *words])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        return exit.value.code, *capsys.readouterr()

    return call


def mistake(done):
    code, _, err = done
    assert code == 2
    (line,) = err.splitlines()
    return line


def test_data_list_is_one_json_document(recombine, cache):
    code, out, err = recombine("data", "list", "--json")
    assert (code or 0, err) == (0, "")
    found = {one["name"]: one for one in json.loads(out)["data"]}
    assert set(found) == set(DATA_SETS)
    assert found["digits"]["cached"]
    assert not found["mnist"]["cached"]
    assert found["mnist"]["folder"] == str(cache / "mnist")
    assert found["mnist"]["bytes"] == 54_950_048
    assert found["mnist"]["licence"]
    uses = {use["study"]: use for use in found["mnist"]["studies"]}
    assert uses["neural-race/digits"] == {
        "study": "neural-race/digits", "set": "data=mnist", "presets": ["paper"],
    }  # fmt: skip
    uses = {use["study"]: use for use in found["cifar-10"]["studies"]}
    assert uses["modularity-scaling/images"]["presets"] == ["paper"]


def test_what_is_at_hand_is_one_data_set(recombine, tmp_path):
    code, _, err = recombine("data", "get", "enwik8", "mnist", "--from", str(tmp_path))
    assert code == 2
    assert "--from has the files of one data set, not of 2" in err
    code, _, err = recombine("data", "get", "enwik8", "--from", str(tmp_path / "nowhere"))
    assert code == 2
    assert "nowhere: there is no such file" in err


def test_data_list_says_where_it_is_or_how_to_get_it(recombine, monkeypatch):
    monkeypatch.setattr("recombine.cli._data.is_for_people", lambda: True)
    code, out, err = recombine("data", "list")
    assert (code or 0, err) == (0, "")
    for word in ("mnist", "55.0 MB", "MIT", "comes with the package", "--set data=cifar-10:"):
        assert word in out
    with_files = sum(bool(one.files) for one in DATA_SETS.values())
    assert out.count("not here: `recombine data get ") == with_files


def test_data_list_is_tab_separated_text_for_other_programs(recombine):
    _, out, _ = recombine("data", "list")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == list(DATA_SETS)
    assert {len(row) for row in rows} == {6}


def test_getting_data_does_not_load_jax(cache):
    code = (
        "import sys; from recombine import data;"
        "assert not data.is_cached('mnist'); data.get('digits'); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """A data set of one file, on a server and in packages; only the last of them is there."""
    with tarfile.open(tmp_path / "answers.tgz", "w:gz") as tar:
        (tmp_path / "answer").write_bytes(b"42")
        tar.add(tmp_path / "answer", "answers/answer")
    program = tmp_path / "client"
    program.write_text(f"#!/bin/sh\ncp {tmp_path}/answers.tgz .\n")
    program.chmod(0o755)
    monkeypatch.setenv("no_proxy", "*")
    sources = (
        Web("http://127.0.0.1:9/", ("answer",)),
        Package(Client("No", "no-such-client", (), ".tgz"), "answers"),
        Package(Client("Made-up", str(program), (), ".tgz"), "answers"),
    )
    files = (File("answer", 2, sha256(b"42").hexdigest()),)
    one = DataSet("made-up", "an answer", "none", files, sources)
    monkeypatch.setitem(DATA_SETS, "made-up", one)
    return one


def test_data_get_says_what_is_where_and_from_where(recombine, made_up, cache):
    code, out, err = recombine("data", "get", "digits", "made-up")
    assert (code or 0, err) == (0, "")
    digits, no_server, passed_over, got = out.splitlines()
    assert digits == "digits: comes with the package"
    assert no_server == "made-up: passed over 127.0.0.1: no connection (Connection refused)"
    assert passed_over == "made-up: passed over No package answers: no-such-client is not installed"
    assert got.startswith(f"made-up: 0.0 MB in {cache / 'made-up'}, from Made-up package answers")
    assert (cache / "made-up" / "answer").read_bytes() == b"42"
    assert recombine("data", "get", "made-up")[1] == f"made-up: 0.0 MB in {cache / 'made-up'}\n"


def test_data_that_no_source_has_is_one_clear_line(recombine, made_up, monkeypatch, cache):
    monkeypatch.setitem(DATA_SETS, "made-up", replace(made_up, sources=made_up.sources[:2]))
    line = mistake(recombine("data", "get", "made-up"))
    assert "No package answers: no-such-client is not installed. By hand: place answer of" in line


def test_a_terminal_sees_what_is_being_got():
    console = Console(force_terminal=True, width=120, file=io.StringIO())
    with DataProgress("made-up", console) as progress:
        progress("poem.gz", 0, 1000)
        progress("poem.gz", 500, 1000)
        progress("npm package [answers]", 0, None)
    assert "made-up: npm package [answers]" in console.file.getvalue()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("data", "get", "mnst"), "no data set 'mnst': did you mean 'mnist'?"),
        (("data", "get", "digits", "cifar"), "did you mean 'cifar-10'?"),
        (("data", "get"), "NAME"),
        (("data", "gte"), "did you mean 'get'"),
        (("run", "neural-race/digits", "--preset", "paper"), "`recombine data get mnist`"),
        (
            ("run", "modularity-scaling/images", "--preset", "smoke", "--set", "data=cifar-10"),
            "`recombine data get cifar-10`",
        ),
        (("run", "neural-race/digits", "--set", "data=mnits"), "did you mean 'mnist'"),
    ],
)
def test_a_mistake_is_one_clear_line_before_anything_is_done(recombine, tmp_path, words, message):
    assert message in mistake(recombine(*words))
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "cache").exists()


def test_a_setting_called_data_that_names_no_data_set_needs_none():
    require_data(load("neural-race/context").trials("smoke"))
    found = {one["name"]: one for one in describe_data()}
    names = [use["study"] for one in found.values() for use in one["studies"]]
    assert "neural-race/context" not in names
