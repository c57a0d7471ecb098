"""What belongs to a study beside its results: its source file, and its page in the docs."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ..registry import listed
from ._text import markdown

PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True)
class SourceFile:
    """The file that defines a study."""

    name: str
    """Its path from the top of the package, or the name of a user's file."""
    lines: tuple[str, ...]


def source_file(reference: str) -> SourceFile | None:
    """The file that assigns the study; None if it cannot be read."""
    module = sys.modules.get(listed().get(reference, ""))
    path = Path(module.__file__ or "") if module else Path(reference)
    try:
        lines = tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return None
    inside = path.is_relative_to(PACKAGE)
    return SourceFile(str(path.relative_to(PACKAGE.parent)) if inside else path.name, lines)


def docs_folder() -> Path:
    """Where the pages of studies are: in the package, or beside it in a source tree."""
    installed = PACKAGE / "_docs"
    return installed if installed.is_dir() else PACKAGE.parents[1] / "docs" / "studies"


def docs_page(study: str) -> Markup | None:
    """The page of a registered study in the docs, as HTML; None if there is none."""
    path = docs_folder() / f"{study}.md"
    if study not in listed() or not path.is_file():
        return None
    return markdown(_plain(path.read_text(encoding="utf-8")), sub=True)


def _plain(text: str) -> str:
    """A page of the docs in the Markdown that everything understands.

    Without its title, and without what only the docs have: pictures, tables that are made when they
    are built, and links to other pages, of which the words stay.
    """
    text = re.sub(r"^# .*\n", "", text, count=1)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)(\{[^}]*\})?", "", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\[[^\]]*\]", r"\1", text)
    text = re.sub(r"^!!! \w+( \"[^\"]*\")?\n", "", text, flags=re.MULTILINE)
    # A heading under which nothing is left goes, too.
    return re.sub(r"^#+ [^\n]*\n+(?=#|\Z)", "", text, flags=re.MULTILINE)
