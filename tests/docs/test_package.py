"""What a package says of itself: its description, its version, its notes."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import recombine

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import release_notes  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


def test_links_of_the_readme_lead_somewhere_in_the_repository():
    assert len(LINK.findall(README)) > 5
    for path in LINK.findall(README):
        assert (ROOT / path).exists(), path


def test_the_description_of_the_package_links_to_nothing_that_only_the_repository_has():
    text = README
    for one in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    assert not LINK.search(text)
    assert "![" not in text
    assert "Quick start, concepts, and a page per" in text
    assert "splits.support_report(trained" in text  # code stays as it is


def test_the_version_is_the_same_everywhere():
    version = PROJECT["project"]["version"]
    assert recombine.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_release_has_notes():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    notes = release_notes.notes(changelog, PROJECT["project"]["version"])
    assert notes.startswith("###")
    assert "\n## [" not in notes
    with pytest.raises(SystemExit, match="no section"):
        release_notes.notes(changelog, "9.9.9")


def test_the_package_is_typed():
    assert (ROOT / "src/recombine/py.typed").exists()
