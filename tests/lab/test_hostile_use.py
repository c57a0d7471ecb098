"""Whatever a user's file holds, and wherever output goes: one clear line, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import recombine

from recombine.cli._streams import of_system

WALK = str(Path(__file__).parent / "walk_study.py")
LONG = "x" * 300

STUDY = """
from dataclasses import dataclass
import numpy as np
from recombine.lab import Claim, Preset, Source, Study, every_seed

@dataclass(frozen=True)
class Config:
    size: int = 2
    name: str = "a"

@dataclass(frozen=True)
class Bare:
    size: int

def trial(config, key, recorder):
    recorder.metric("[/size]", config.size)

def make(*conditions, **changes):
    preset = Preset(seeds=1, conditions=conditions or ({},), cost="[/k]")
    fields = dict(name="mine/one", title="Mine", source=Source("Me", "here"), question="Is it?",
                  config=Config, trial=trial, presets={"laptop": preset})
    return Study(**fields | changes)

"""


def mistake(done):
    """The one line that a user's mistake makes."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.splitlines()
    assert line.startswith("recombine: ")
    return line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study = make(config=Bare)", "mine/one: its config needs a default for size"),
        ("study = make(config=dict)", "the config must be a frozen dataclass"),
        ("study = make({'nosuch': 1})", "no setting 'nosuch': there are size, name"),
        ("study = make({'size': np.arange(2)})", "expected one value, got (0, 1)"),
        ("Preset(seeds=1, conditions=())", "a preset has at least one condition"),
        ("Preset(seeds=0)", "a preset has at least one seed, not 0"),
        ("study = make(presets={})", "mine/one has no preset"),
        ("study = make(presets={'laptop': None})", "preset laptop is None: write Preset"),
        ("study = make(trial=None)", "the trial is None: give a function"),
        ("study = make(name='mine/' + 'x' * 5000)", "at most 100 characters, not 5005"),
        ("study = make(name='')", "a text such as family/study, not ''"),
        ("study = make(name=3)", "a text such as family/study, not 3"),
        ("study = make(name='../../one')", "'../../one' cannot be the name of a study"),
        ("study = make(name='a\\nb')", "cannot be the name of a study"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_a_study_that_cannot_be_is_one_clear_line(text, message, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(STUDY + text)
    for words in (("run", file, "--store", tmp_path / "store"), ("show", file)):
        assert message in mistake(recombine(*words))
    assert not (tmp_path / "store").exists()


def test_markup_and_numbers_of_numpy_are_taken_as_they_are(tmp_path):
    file, store = tmp_path / "mine.py", tmp_path / "store"
    file.write_text(
        STUDY + "study = make({'size': np.int64(3), 'name': '[/v]'},\n"
        "             {'size': np.arange(5)[4], 'name': '[red]'}, name='[/x]/[red]y',\n"
        "    title='[/b]', question='[/x]?', source=Source('[/d]', '[/w]'), notes='[/n]',\n"
        "    claims=(Claim('[/c]', '[/s] {0}', '[/w]', every_seed('[/size]') < 10, seeds=1),))\n"
    )
    done = recombine("run", file, "--store", store, "--workers", "1")
    assert done.returncode == 0, (done.stdout, done.stderr)
    for word in ("[/x]/[red]y: measured", "name=[/v]", "[/size]", "[/c]", "[/s] 10"):
        assert word in done.stdout
    shown = recombine("show", file).stdout
    assert all(word in shown for word in ("[/b]", "[/k]", "[/d], [/w]", "size = 3, 4"))
    report = ("report", "--store", store, "--load", file, "--out", tmp_path / "out")
    assert recombine(*report).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", WALK, "--store", ""), "--store '': name a folder"),
        (("claims", "--store", ""), "--store '': name a folder"),
        (("run", WALK, "--store", "/"), "the root of the file system is no store"),
        (("claims", "--store", "//"), "the root of the file system is no store"),
        (("run", WALK, "--preset", "smoke", "--store", LONG), "name too long"),
        (("claims", "--store", LONG), "name too long"),
        (("run", f"{LONG}.py"), "name too long"),
        (("studies", "--store", LONG), "name too long"),
        (("export", "--to", "x.csv", "--store", LONG), "name too long"),
        (("show", LONG), "no study"),
        (("show", "[/x]"), "no study '[/x]'"),
        (("show", "a\udcff"), "no study"),
        (("run", WALK, "--set", "[/x]=1"), "no setting '[/x]'"),
    ],
)
def test_what_cannot_be_a_store_or_a_study_is_one_clear_line(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = mistake(recombine(*words))
    assert message in line.lower() if message.islower() else message in line
    assert list(tmp_path.iterdir()) == []


def test_long_names_of_files_are_shortened_in_errors():
    line = of_system(OSError(36, "File name too long", LONG))
    assert line == f"{LONG[:60]}...: file name too long: choose a shorter name"


def process(command, **environment):
    """The shell's exit code and what it says on standard error."""
    program = f"{sys.executable} -m recombine.cli"
    done = subprocess.run(
        ["bash", "-c", command.replace("recombine", program)],
        check=False, capture_output=True, text=True, timeout=120, env=os.environ | environment,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", ["studies neural-race", "show xor --json", "--help"])
def test_a_full_disk_is_one_clear_line(words):
    assert "no space left" in mistake(process(f"recombine {words} > /dev/full"))


def test_closed_output_is_one_clear_line():
    assert "standard output is closed" in mistake(process("recombine show xor >&-"))
    done = process("recombine show nosuch 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_a_reader_that_has_seen_enough_is_no_error():
    done = process('recombine show xor | head -n 1; exit "${PIPESTATUS[0]}"')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("neural-race/xor")


def test_a_terminal_of_few_characters_shows_what_it_can():
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = process("recombine show routing; recombine studies routing --json", **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u03c3\u2080 = 0.2" in done.stdout
    assert done.stdout.isascii()


def test_few_open_files_are_one_clear_line(tmp_path):
    run = f"recombine run {WALK} --preset smoke --store {tmp_path}"
    line = mistake(process(f"ulimit -n 9; {run}"))
    assert "too many open files: raise the limit" in line.lower()


@pytest.mark.parametrize("home", ["unset HOME", "export HOME=/dev/null/none"])
def test_nobody_needs_a_home(home, tmp_path):
    kept = {"XDG_CACHE_HOME": "", "RECOMBINE_DATA": ""}
    done = process(
        f"{home}; unset XDG_CACHE_HOME RECOMBINE_DATA; recombine data list && recombine run {WALK}"
        f" --preset smoke --workers 1 --store {tmp_path}",
        **kept,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
