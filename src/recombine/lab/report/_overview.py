"""The content of the first page: families of studies, those that have results and all others."""

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..registry import listed, load
from ..study import Study
from ._page import VERDICTS, StudyPage

MOST_OPEN = 2
"""With results of more families than these, all are folded."""


@dataclass
class Family:
    """A family of studies."""

    name: str
    about: str = ""
    """What it is about, in a sentence."""
    pages: list[tuple[StudyPage, str]] = field(default_factory=list)
    """Studies with results, and the addresses of their pages."""
    waiting: list[Study] = field(default_factory=list)
    """Studies without results."""

    @property
    def size(self) -> int:
        return len(self.pages) + len(self.waiting)

    @property
    def verdicts(self) -> dict[str, int]:
        return {word: sum(page.verdicts[word] for page, _ in self.pages) for word in VERDICTS}


def families(pages: Sequence[StudyPage], addresses: Sequence[str]) -> list[Family]:
    """Every family, those with results first, each with all of its registered studies."""
    found: dict[str, Family] = {}
    for page, address in zip(pages, addresses, strict=True):
        name = page.study.family
        found.setdefault(name, Family(name)).pages.append((page, address))
    shown = {page.reference for page in pages}
    for name in listed():
        if name not in shown and (study := _loaded(name)):
            found.setdefault(study.family, Family(study.family)).waiting.append(study)
    for family in found.values():
        family.about = about(family.name)
    return list(found.values())


def are_open(several: Iterable[Family]) -> set[str]:
    """The families that are shown unfolded: those with results, if they are few."""
    names = {family.name for family in several if family.pages}
    return names if len(names) <= MOST_OPEN else set()


def _loaded(name: str) -> Study | None:
    try:
        return load(name)
    except Exception:  # a study that does not load has nothing to show
        return None


def about(family: str) -> str:
    """The first line of the family's package."""
    modules = (m for name, m in listed().items() if name.startswith(f"{family}/"))
    package = next(modules, "").rpartition(".")[0]
    text = importlib.import_module(package).__doc__ if package else ""
    return (text or "").strip().partition("\n")[0]
