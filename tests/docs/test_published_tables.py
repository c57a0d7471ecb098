"""Pages of studies show published results, and none that somebody typed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from recombine.lab import published
from recombine.lab.registry import load
from recombine.lab.study import in_words
from recombine.studies import STUDIES

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import published_tables  # noqa: E402


def page(name):
    return (DOCS / "studies" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_names_all_claims_of_its_study(name):
    text = published_tables.rendered(page(name), name)
    for claim in load(name).claims:
        assert claim.name in text


@pytest.mark.parametrize("name", published.names())
def test_verdicts_of_published_results_are_not_typed_by_hand(name):
    text = page(name)
    assert "<!-- claims -->" in text, "the claims of the page are to come from results/"
    assert not re.search(r"^\|.*\| *(holds|fails|undecided) *\|", text, re.MULTILINE)
    rendered = published_tables.rendered(text, name)
    for verdict in published.judged(load(name)):
        line = next(row for row in rendered.splitlines() if f"| `{verdict.claim}` |" in row)
        assert f"**{verdict.verdict}**" in line
        assert published_tables._cell(verdict.statement) in line


WITH_CHOSEN = [name for name in published.names() if published_tables.CHOSEN.search(page(name))]


def test_there_are_pages_with_tables_of_some_metrics():
    assert len(WITH_CHOSEN) >= 8


@pytest.mark.parametrize("name", WITH_CHOSEN)
def test_means_on_a_page_are_those_of_the_published_trials(name):
    found = published.published(name)
    for match in published_tables.CHOSEN.finditer(page(name)):
        field, metrics, where = match.groups("")
        header, _, *rows = published_tables.rendered(match[0], name).splitlines()
        assert header == f"| {field} | {metrics.replace('_', ' ').replace(', ', ' | ')} |"
        assert rows
        for row in rows:
            value, *means = row.strip("| ").split(" | ")
            others = where.removesuffix(", ...").split(", ") if where else []
            settings = [f"{field}={value}", *others]
            trials = [
                record.metrics
                for record in found.results.records
                if set(settings) <= set(in_words(record.condition).split(", "))
                and (where.endswith("...") or len(record.condition) == len(settings))
            ]
            for metric, mean in zip(metrics.split(", "), means, strict=False):
                expected = [m[metric] for m in trials if metric in m]
                assert not (expected and not mean)
                if expected:
                    assert float(mean.split()[0]) == pytest.approx(np.mean(expected), rel=1e-3)


def test_a_table_of_what_was_not_measured_is_a_mistake():
    for wrong in ("table K: errors", "table K: sharing; mask=rings", "table k: sharing"):
        with pytest.raises(ValueError, match="neural-race/zero-shot: no "):
            published_tables.rendered(f"<!-- {wrong} -->", "neural-race/zero-shot")


def test_studies_without_published_results_say_so():
    name = next(n for n in STUDIES if n not in published.names())
    assert "not run yet" in published_tables.rendered("<!-- claims -->", name)
    assert published_tables.rendered("<!-- numbers -->", name) == ""
