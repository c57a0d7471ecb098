"""What was measured, in tables."""

import io
import math

import pytest
from rich.console import Console

from recombine.lab.measured import measured, measured_tables
from recombine.lab.results import Record, Results


def results(conditions, seeds=3, metrics=("loss", "accuracy")):
    records = [
        Record(f"{number} {seed}", condition, condition, seed,
               dict.fromkeys(metrics, number + seed / 10), 0, 0, None, None)
        for number, condition in enumerate(conditions)
        for seed in range(seeds)
    ]  # fmt: skip
    return Results("family/study", "laptop", {}, tuple(records))


def drawn(found, width=80, most=40):
    console = Console(file=io.StringIO(), width=width)
    for part in measured_tables(found, width, most):
        console.print(part, highlight=False)
    return console.file.getvalue()


MODELS = [{"data": "digits", "model": name} for name in ("ndr", "lstm")]


def test_conditions_that_fit_are_columns_and_what_they_share_is_said_once():
    text = drawn(results(MODELS))
    assert text.splitlines()[0] == (
        "family/study: measured at preset laptop, 3 seeds (data=digits)"
    )
    assert text.splitlines()[1].split() == ["metric", "model=ndr", "model=lstm"]
    # 0.1 and 1.1, with Student's interval of three seeds: 4.3027 · 0.1 / √3
    assert math.isclose(4.302653 * 0.1 / math.sqrt(3), 0.2484, rel_tol=1e-3)
    assert "loss       0.10 ± 0.25   1.10 ± 0.25" in text


def test_many_conditions_are_rows_and_their_metrics_are_broken_into_tables():
    many = [{"K": k, "mask": mask} for mask in ("ring", "random") for k in range(6)]
    text = drawn(results(many, metrics=[f"metric_{i}" for i in range(8)]), most=100)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("K   mask") == 2
    for i in range(8):
        assert text.count(f"metric_{i}") == 1


def test_what_does_not_fit_is_counted():
    text = drawn(results(MODELS, metrics=[f"metric_{i}" for i in range(50)]), most=10)
    assert "… and 40 metrics more: `recombine export --to results.csv` writes all" in text
    many = [{"K": k} for k in range(30)]
    assert "… and 1 metric and 20 conditions more" in " ".join(
        drawn(results(many), width=30, most=10).split()
    )


def test_one_seed_has_no_interval_and_one_condition_needs_no_name():
    text = drawn(results([{}], seeds=1))
    assert "1 seed" in text
    assert "±" not in text
    assert "metric     mean" in text


def test_a_metric_that_not_all_report_is_a_dash():
    found = results(MODELS)
    first = found.records[0]
    partial = Results(
        "s", "laptop", {}, (Record(**vars(first) | {"metrics": {"extra": 1}}), *found.records[3:])
    )
    assert measured(partial).column("extra") == ["1", ""]
    assert "–" in drawn(partial)


def test_without_metrics_there_is_no_table():
    assert measured(results(MODELS, metrics=())) is None
    assert drawn(results(MODELS, metrics=())) == ""


@pytest.mark.parametrize("name", ["[/x]", "half \ud800", "[red]"])
def test_hostile_names_are_shown_as_they_are(name):
    text = drawn(results([{"model": name}, {"model": "b"}], metrics=(name,)))
    assert name.encode("utf-8", "backslashreplace").decode() in text
