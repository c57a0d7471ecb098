"""Seeds are added until claims are decided, and looking often costs what it must."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recombine.cli import app
from recombine.lab import Store
from recombine.lab.claims import Verdict
from recombine.lab.outcome import Settings
from recombine.lab.run import GROWTH, ROUNDS, more_seeds, plan

STUDY = str(Path(__file__).with_name("noisy_study.py"))


def verdict(word, seeds=None):
    return Verdict("tests/noisy", "above", "It is.", word, {}, seeds=seeds)


@pytest.mark.parametrize(
    ("verdicts", "count"),
    [
        ([verdict("holds"), verdict("fails")], None),
        ([verdict("undecided")], None),  # no number of seeds would help
        ([verdict("undecided", 2)], None),  # there are as many
        ([verdict("undecided", 5), verdict("undecided", 7)], 7),
        ([verdict("undecided", 1000)], GROWTH * 3),
    ],
)
def test_as_many_seeds_are_added_as_are_likely_to_decide(verdicts, count):
    (first,) = plan([STUDY], seed_offset=10)
    more = more_seeds(first, verdicts)
    if count is None:
        assert more is None
    else:
        assert [t.seed for t in more.trials] == list(range(10, 10 + count))
        assert {t.key for t in more.trials} == {first.trials[0].key}
        assert {t.id for t in first.trials} <= {t.id for t in more.trials}


def run(store, *words):
    done = CliRunner().invoke(app, ["run", STUDY, "--store", str(store), "--workers", "1", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_seeds_are_added_until_claims_are_decided(tmp_path):
    output = run(tmp_path, "--until-decided")
    assert "more seeds for 1 study" in output
    assert "2 hold" in output
    assert "gave up" not in output
    with Store.open(tmp_path) as store:
        results = store.results("tests/noisy", Settings("laptop", {}))
        assert len(results.seeds) > 3
        assert store.looks("tests/noisy", Settings("laptop", {})) == 1 + ROUNDS
    # Later verdicts have the wider intervals of a run that looked more than once.
    done = CliRunner().invoke(app, ["claims", STUDY, "--store", str(tmp_path), "--json"])
    above = json.loads(done.output)["claims"][0]
    (evidence,) = (v for k, v in above["evidence"].items() if k.startswith("a"))
    assert "98.8 % interval" in evidence


def test_what_stays_undecided_is_named(tmp_path):
    output = run(tmp_path, "--until-decided", "--set", "shift=0")
    assert "gave up: tests/noisy above is still undecided" in " ".join(output.split())


def test_a_plain_run_looks_once(tmp_path):
    run(tmp_path)
    with Store.open(tmp_path) as store:
        assert store.looks("tests/noisy", Settings("laptop", {})) == 1
        assert store.looks("tests/nosuch", Settings("laptop", {})) == 1
