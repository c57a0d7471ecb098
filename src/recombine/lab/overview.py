"""Every study in a line: what it asks, what it costs, and how its claims were judged last."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .published import published_verdicts
from .study import Study

if TYPE_CHECKING:
    from .store import Store

VERDICTS = ("holds", "fails", "undecided")


@dataclass(frozen=True)
class Overview:
    """A study in a line."""

    study: Study
    counts: dict[str, int]
    """How many claims have which verdict, as they were judged last."""
    judged: Literal["store", "published", ""]
    """Where the verdicts come from; nowhere if the study has never been run."""

    @property
    def cost(self) -> str:
        """The cost of the default preset, without the machine: `25 s`."""
        return short_cost(self.study.presets[self.study.default_preset].cost)


def short_cost(cost: str) -> str:
    """The time in what a preset says of its cost: `~10 min` of `about 10 min on two cores`."""
    if found := re.match(r"(about )?(\d[\d.]*|a) (s|min|h)(?:utes?|ours?)?\b", cost):
        about, number, unit = found.groups()
        return f"{'~' if about else ''}{number.replace('a', '1')} {unit}"
    words = {"shares": "shared", "minutes": "minutes", "hours": "hours"}
    return next((word for sign, word in words.items() if sign in cost), "")


def overview(studies: Sequence[Study], store: "Store | None") -> list[Overview]:
    """Every study in a line. Verdicts of `store` come before published ones."""
    ours = store.last_verdicts() if store is not None else {}

    def one(study: Study) -> Overview:
        places: tuple[tuple[Literal["store", "published"], Mapping[str, str]], ...] = (
            ("store", ours.get(study.name, {})), ("published", published_verdicts(study.name)),
        )  # fmt: skip
        for judged, verdicts in places:
            known = [verdicts[c.name] for c in study.claims if c.name in verdicts]
            if known:
                counts = Counter(known)
                return Overview(study, {w: counts[w] for w in VERDICTS}, judged)
        return Overview(study, dict.fromkeys(VERDICTS, 0), "")

    return [one(study) for study in studies]


def speaks_of(study: Study, word: str) -> bool:
    """Whether `word` is in a study's name, title, question or source."""
    texts = (study.name, study.title, study.question, study.source.document, study.source.where)
    return any(word.casefold() in text.casefold() for text in texts)
