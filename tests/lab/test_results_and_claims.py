"""Results select and stack trials; claims are judged on them, with their evidence."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from said import Says

from recombine.lab import confidence_interval, mean
from recombine.lab.claims import (
    Claim,
    Missing,
    judge,
)
from recombine.lab.results import Record, Results


def record(seed, **config):
    curve = (np.arange(3.0), np.arange(3.0) + seed)
    return Record(
        id=f"{seed}{config}",
        condition=config,
        config=config,
        seed=seed,
        metrics={"error": seed + config["K"]},
        seconds=1.0,
        compile_seconds=0.5,
        read_curve=lambda name: curve,
        read_array=lambda name: np.eye(2) * seed,
    )


@pytest.fixture
def results():
    records = tuple(record(s, K=k, gain=0.1 * k) for k in (1, 2) for s in (2, 0, 1))
    return Results("family/study", "laptop", {}, records)


def claim(holds=True, seeds=3):
    check = Says("holds" if holds else "fails", {"n": np.float64(2)})
    return Claim("c", "It is.", "figure 1", check, seeds)


def test_metrics_are_ordered_by_seed(results):
    assert results.metric("error", K=2).tolist() == [2, 3, 4]


def test_reals_are_selected_up_to_rounding(results):
    assert results.metric("error", gain=0.30000000000000004 - 0.1).tolist() == [2, 3, 4]


def test_curves_and_arrays_stack_over_seeds(results):
    x, y = results.curve("loss", K=1)
    assert x.shape == (3,)
    assert y[:, 0].tolist() == [0, 1, 2]
    assert results.array("state", K=1).shape == (3, 2, 2)


def test_curves_of_different_points_have_gaps():
    from dataclasses import replace

    points = {0: ([1, 2], [5, 6]), 1: ([1, 3, 2], [7, 9, 8])}
    records = tuple(
        replace(record(seed, K=1), read_curve=lambda _, found=found: tuple(map(np.array, found)))
        for seed, found in points.items()
    )
    x, y = Results("family/study", "laptop", {}, records).curve("loss")
    assert x.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(y, [[5, 6, np.nan], [7, 8, 9]])


def test_what_is_not_there_is_missing(results):
    with pytest.raises(Missing, match="K=9"):
        results.metric("error", K=9)
    with pytest.raises(Missing, match="accuracy"):
        results.metric("accuracy")


@pytest.mark.parametrize(("holds", "word"), [(True, "holds"), (False, "fails")])
def test_a_claim_is_judged_with_its_evidence(results, holds, word):
    verdict = judge(claim(holds), "family/study", results)
    assert verdict.verdict == word
    assert verdict.evidence == {"seeds": 3, "n": 2.0}


def test_a_claim_needs_its_seeds_in_every_condition(results):
    fewer = Results("s", "laptop", {}, results.records[1:])
    verdict = judge(claim(), "s", fewer)
    assert verdict.verdict == "undecided"
    assert "has 2 of the 3 seeds" in verdict.evidence["reason"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"preset": "smoke"}, "mechanics"),
        ({"failed": 1}, "1 trial failed"),
        ({"missing": 2}, "2 conditions"),
    ],
)
def test_wanting_results_leave_a_claim_undecided(results, changes, reason):
    verdict = judge(claim(), "s", Results(**vars(results) | changes))
    assert verdict.verdict == "undecided"
    assert reason in verdict.evidence["reason"]


def test_a_metric_that_some_trials_lack_is_missing(results):
    some = Results("s", "laptop", {}, (*results.records, record(3, K=1, gain=0.1)))
    del some.records[-1].metrics["error"]
    with pytest.raises(Missing, match="3 of 4"):
        some.metric("error", K=1)


def test_conditions_with_different_seeds_leave_a_claim_undecided(results):
    uneven = Results("s", "laptop", {}, (*results.records[:5], record(7, K=2, gain=0.2)))
    assert "different seeds" in judge(claim(), "s", uneven).evidence["reason"]


def test_a_claim_that_trips_over_results_is_undecided(results):
    broken = Claim("c", "It is.", "", mean(lambda r: np.zeros((2, 2))) > 0)
    verdict = judge(broken, "s", results)
    assert verdict.verdict == "undecided"
    assert "ValueError" in verdict.evidence["reason"]


def test_a_claim_whose_results_are_missing_is_undecided(results):
    wants = Claim("c", "It is.", "", mean("nosuch") > 0)
    assert judge(wants, "s", results).verdict == "undecided"


def test_whatever_the_evidence_the_verdict_can_be_written(results):
    evidence = {"mean": jnp.float32(0.5), "all": [jnp.arange(2)], "set": {1}}
    verdict = judge(Claim("c", "It is.", "nowhere", Says("fails", evidence)), "s", results)
    assert verdict.verdict == "fails"
    assert {"mean": 0.5, "all": [[0, 1]], "set": "{1}"}.items() <= verdict.evidence.items()
    json.dumps(verdict.evidence)


def test_what_is_no_statement_is_refused():
    with pytest.raises(TypeError, match=r"claim c: .* is no statement"):
        Claim("c", "It is.", "nowhere", lambda results: True)


def test_the_confidence_interval_is_students():
    mean, low, high = confidence_interval(np.array([1.0, 2.0, 3.0]))
    assert mean == 2
    # t(0.975, 2) = 4.302653, standard error 1/sqrt(3)
    assert high - mean == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert mean - low == pytest.approx(high - mean)


def test_a_single_value_has_an_interval_without_width():
    assert confidence_interval(np.array([0.5])) == (0.5, 0.5, 0.5)


def test_a_verdict_says_what_was_judged_and_on_which_results(results):
    changed = Results(**vars(results) | {"preset": "paper", "overrides": {"K": 1}})
    verdict = judge(claim(), "family/study", changed)
    assert (verdict.study, verdict.claim, verdict.statement) == ("family/study", "c", "It is.")
    assert (verdict.preset, verdict.overrides) == ("paper", {"K": 1})


def test_evidence_is_ready_for_json_with_a_readable_number_of_digits(results):
    evidence = {
        "number": np.float64(1 / 3),
        "undefined": float("nan"),
        "unbounded": np.inf,
        "sure": np.bool_(True),
        "count": np.int64(7),
        "pair": (np.float32(0.5), np.array([1, 2])),
        "by K": {1: 0.1234567},
        "word": "none",
    }
    told = Claim("c", "It is.", "figure 1", Says(evidence=evidence))
    found = judge(told, "s", results).evidence
    assert found == {
        "seeds": 3,
        "number": 0.333333,
        "undefined": None,
        "unbounded": None,
        "sure": True,
        "count": 7,
        "pair": [0.5, [1, 2]],
        "by K": {"1": 0.123457},
        "word": "none",
    }
    assert found["sure"] is True
    assert type(found["count"]) is int
    assert type(found["number"]) is float
