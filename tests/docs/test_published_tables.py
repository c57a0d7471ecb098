"""Pages of studies show published results, and none that somebody typed."""

import re
import sys
from pathlib import Path

import pytest

from recombine.lab import published
from recombine.lab.registry import load
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


def test_studies_without_published_results_say_so():
    name = next(n for n in STUDIES if n not in published.names())
    assert "not run yet" in published_tables.rendered("<!-- claims -->", name)
    assert published_tables.rendered("<!-- numbers -->", name) == ""
