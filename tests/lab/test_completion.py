"""Tab completion."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from recombine.cli import main
from recombine.cli._completion import joined
from recombine.data import DATA_SETS
from recombine.lab.registry import families, listed


def suggested(line):
    """What bash is given for the last word of a line, as it takes the line apart."""
    words = [word for part in line.split(" ") for word in _at_equals(part)]
    environment = {
        "_RECOMBINE_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    out = io.StringIO()
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["recombine"]),
        contextlib.redirect_stdout(out),
        contextlib.suppress(SystemExit),
    ):
        main()
    return out.getvalue().split()


def _at_equals(word):
    return [part for part in re.split("(=)", word) if part] or [""]


def test_commands_are_completed():
    assert suggested("recombine s") == ["studies", "show"]
    assert suggested("recombine data g") == ["get"]


@pytest.mark.parametrize("command", ["run", "show", "claims"])
def test_studies_are_completed(command):
    assert suggested(f"recombine {command} ")[: len(families())] == families()
    of_race = [name for name in listed() if name.startswith("neural-race/")]
    assert suggested(f"recombine {command} neural-race/") == of_race
    assert suggested(f"recombine {command} neural") == ["neural-race", *of_race]
    assert suggested(f"recombine {command} zero") == ["zero-shot"]
    assert suggested(f"recombine {command} nosuch") == []


def test_presets_data_sets_and_engines_are_completed():
    assert suggested("recombine run xor --preset ") == ["smoke", "laptop", "paper"]
    assert suggested("recombine run --preset s") == ["smoke"]
    assert suggested("recombine run xor --preset=l") == ["laptop"]
    assert suggested("recombine run xor --engine r") == ["ray"]
    assert suggested("recombine data get ") == list(DATA_SETS)
    assert suggested("recombine data get enwik") == [n for n in DATA_SETS if n.startswith("enwik")]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("routing --set si", ["sigma_0=0.2"]),  # a single one comes with its default
        ("routing --set init=", ["random", "decoupled"]),
        ("routing --set init=d", ["decoupled"]),
        ("routing xor --set sigma", ["sigma_0=0.2"]),
        ("table-lookup --set model=relative-", ["relative-gate"]),
        ("table-lookup --set model=lstm --set model.u", ["model.units=200"]),
        ("table-lookup --set=model=relative-", ["relative-gate"]),
        ("nosuch --set si", []),
        ("support --set si", []),
        ("--set si", []),
    ],
)
def test_settings_and_their_values_are_completed(typed, found):
    assert suggested(f"recombine run {typed}") == found


def test_several_settings_are_completed_up_to_their_values():
    of_block = suggested("recombine run table-lookup --set model.block")
    assert "model.block=" in of_block
    assert all(name.startswith("model.block") and name.endswith("=") for name in of_block)


def test_words_around_an_equals_sign_are_one():
    words = ["recombine", "run", "--preset", "=", "s", "--set", "a", "=", "b", "x"]
    assert joined(words, 8) == (
        ["recombine", "run", "--preset=s", "--set", "a=b", "x"], 4,
    )  # fmt: skip
    assert joined(["recombine", "--set", "a", "="], 3) == (["recombine", "--set", "a="], 2)
    assert joined(["recombine", ""], 1) == (["recombine", ""], 1)


def test_a_completion_loads_no_jax_and_prints_nothing_else():
    code = (
        "import os, sys; from recombine.cli import main\n"
        "try: main()\nexcept SystemExit: pass\nassert 'jax' not in sys.modules"
    )
    environment = {"_RECOMBINE_COMPLETE": "complete_bash", "COMP_CWORD": "5"}
    words = ["recombine", "run", "table-lookup", "--set", "model", "=", "nd"]
    environment |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": "6"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == (["ndr"], "")


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes(tmp_path):
    """The script that the program prints, and bash's own way of taking a line apart."""
    program = Path(sys.executable).with_name("recombine")
    if not program.exists():
        pytest.skip("the program is not installed beside this Python")
    alone = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1"
    script = (
        f'PATH="{program.parent}:$PATH"\n'
        f'eval "$({alone} recombine --show-completion bash)"\n'
        "complete -p recombine >/dev/null || exit 1\n"
        'COMP_WORDS=(recombine run routing --set init "=" d); COMP_CWORD=6\n'
        '_recombine_completion recombine; echo "${COMPREPLY[*]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], check=False, capture_output=True, text=True
    )
    assert done.stdout == "decoupled\n", done.stderr
