"""Results of different settings in one store, and runs that are too large for one plan."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import recombine

from recombine.lab import Store, UserError
from recombine.lab.outcome import Outcome, Settings
from recombine.lab.run import MOST_TRIALS, plan

STUDY = str(Path(__file__).parent / "walk_study.py")
DONE = Outcome("done", "", {"final": 0.1, "sum": 1.0}, {}, None, 1, 1.0, 0.0, {})
FAILED = Outcome("failed", "asked to", {}, {}, None, 0, 1.0, 0.0, {})


def record(store, outcome, overrides=None, assignments=()):
    """A run of the study whose trials all ended with `outcome`, without running any."""
    (planned,) = plan([STUDY], assignments=assignments)
    changed = planned.trials[0].overrides | (overrides or {})
    store.begin_run("tests/walk", STUDY, Settings("laptop", changed), [0, 1, 2], 1)
    for trial in planned.trials:
        asked = replace(trial, overrides=changed)
        store.ask([asked])
        store.write(asked, outcome)


def test_a_later_run_whose_trials_all_failed_hides_no_results(tmp_path):
    with Store.create(tmp_path) as store:
        record(store, DONE)
        record(store, FAILED, assignments=["fault=raise"])
        assert store.all_settings("tests/walk") == [Settings("laptop", {})]
    told = json.loads(recombine("claims", STUDY, "--store", tmp_path, "--json").stdout)["claims"]
    assert {claim["evidence"].get("seeds") for claim in told} != {None}
    assert {json.dumps(claim["overrides"]) for claim in told} == {"{}"}


def test_a_stored_setting_that_the_study_no_longer_has_leaves_the_other_verdicts(tmp_path):
    with Store.create(tmp_path) as store:
        record(store, DONE)
        record(store, DONE, {"depth": 3})
    told = recombine("claims", STUDY, "--store", tmp_path, "--json")
    assert told.returncode == 0
    claims = json.loads(told.stdout)["claims"]
    assert claims
    assert all(claim["overrides"] == {} for claim in claims)
    (line,) = told.stderr.splitlines()
    assert line.startswith("recombine: left out: tests/walk")
    assert "'depth'" in line


@pytest.mark.parametrize("seeds", [1_000_000, 2_000_000_000])
def test_more_trials_than_one_run_may_have_are_refused_at_once_with_their_number(seeds):
    begun = time.process_time()
    with pytest.raises(UserError, match=rf"{2 * seeds:,} trials are more than the {MOST_TRIALS:,}"):
        plan([STUDY], seeds=seeds)
    assert time.process_time() - begun < 2
