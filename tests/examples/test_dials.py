"""The worked example of CONTRIBUTING.md, run as a newcomer would."""

import json
import subprocess
import sys
from pathlib import Path

STUDY = Path(__file__).parents[2] / "examples" / "dials" / "dials_study.py"


def recombine(*words):
    command = [sys.executable, "-m", "recombine.cli", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_worked_example_runs_and_its_claim_holds(tmp_path):
    recombine("run", STUDY, "--store", tmp_path / "store")
    (claim,) = json.loads(recombine("claims", STUDY, "--store", tmp_path / "store", "--json"))[
        "claims"
    ]
    assert claim["verdict"] == "holds"
    recombine(
        "report", "--load", STUDY, "--store", tmp_path / "store", "--out", tmp_path / "report"
    )
    assert "Two dials" in (tmp_path / "report" / "index.html").read_text()
