"""What is added to the site when it is built."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from recombine.lab.registry import families
from recombine.lab.report import with_formulas
from recombine.lab.report._text import markdown

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import built_pages  # noqa: E402

PAGES = sorted(DOCS.rglob("*.md"))


def test_the_home_page_lists_every_family_and_their_pages_exist():
    text = built_pages.on_page_markdown((DOCS / "index.md").read_text(), SimpleNamespace())
    for family in families():
        assert f"[`{family}`](studies/{family}/index.md)" in text
        assert (DOCS / "studies" / family / "index.md").is_file()
    assert "<!--" not in text


def test_the_page_of_papers_has_every_work():
    text = built_pages.on_page_markdown((DOCS / "papers.md").read_text(), SimpleNamespace())
    assert text.count("```bibtex") == text.count("https://") - text.count("url = ") > 4


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_formula_can_be_drawn(page):
    text = page.read_text()
    assert len(re.findall(r"^\$\$$", text, re.MULTILINE)) % 2 == 0
    drawn = with_formulas(text)
    assert "$$" not in drawn
    # What the converter does not know, it leaves as a command.
    assert not re.findall(r"<m[ion]>\\\w+", drawn)


def test_a_formula_keeps_its_number_and_the_text_around_it():
    html = str(markdown("before\n\n$$\n\\frac{a}{b} \\tag{13-14}\n$$\n\nafter"))
    assert "<p>before</p>" in html
    assert "<mfrac>" in html
    assert '<span class="eq-number">(13-14)</span>' in html
    assert "<p>after</p>" in html
