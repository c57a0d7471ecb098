"""Prints what the changelog says of the version in pyproject.toml: the notes of a release."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading."""
    found = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section {version}")
    return found.group(1).strip()


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    print(notes((ROOT / "CHANGELOG.md").read_text(), project["version"]))
