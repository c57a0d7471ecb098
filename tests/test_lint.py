"""The lint settings see undefined names, in spite of the strings that are shapes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOUND = """from jaxtyping import Array, Float


def double(
    x: Float[Array, " samples"], y: Float[Array, " batch *inputs"], z: Float[Array, "a b"]
) -> Float[Array, ""]:
    return 2 * (x.sum() + y.sum() + z.sum())
"""


def lint(code, path):
    """The exit code of ruff for a file with this code at `path`, and what it says."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--stdin-filename", path, "-"]
    done = subprocess.run(
        command, check=False, input=code, text=True, capture_output=True, cwd=ROOT
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("package", ["models", "learning", "studies/neural_race"])
def test_an_undefined_name_does_not_pass_lint(package):
    path = f"src/recombine/{package}/_planted.py"
    assert lint(SOUND, path)[0] == 0
    code, said = lint(SOUND.replace("x.sum()", "undefined.sum()"), path)
    assert code == 1
    assert "F821" in said
