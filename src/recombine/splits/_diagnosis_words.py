"""What a diagnosis is told in: sections of statements and small tables, for any kind of page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._item_support import SUPPORT_KINDS
from ._table_diagnosis import TableDiagnosis
from ._text_diagnosis import TextDiagnosis

Mark = Literal["holds", "fails", "undecided", ""]

SHOWN = 6
"""So many rows or values are shown of a longer list."""


@dataclass(frozen=True)
class Statement:
    """A line of a section."""

    mark: Mark
    """Whether what it says is as it should be."""
    text: str
    more: tuple[str, ...] = ()
    """Lines below it."""


@dataclass(frozen=True)
class Grid:
    """A small table; all columns but those in `words` hold numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)
    left_out: int = 0
    """How many rows are not shown."""


@dataclass(frozen=True)
class Section:
    """A question and its answer."""

    name: str
    title: str
    statements: tuple[Statement, ...] = ()
    grids: tuple[Grid, ...] = ()
    picture: str = ""
    """What an HTML page draws here: `kinds`, `difficulty` or `pairs`."""
    of: TableDiagnosis | TextDiagnosis | None = None

    @property
    def short(self) -> str:
        """The title without its question."""
        first, _, rest = self.title.partition(": ")
        return first if rest.endswith(("?", ")")) else self.title


def divergence_section(name: str, rows: Sequence[tuple[str, ...]]) -> Section:
    return Section(
        name,
        "Divergence: how far is the test from training? (0 to 1)",
        (),
        (Grid(("compounds", "atoms, D_A", "compounds, D_C"), tuple(rows)),),
    )


def difficulty_section(judged: TableDiagnosis | TextDiagnosis, name: str = "difficulty") -> Section:
    new = np.flatnonzero(judged.kinds > 0)
    difficulty = judged.difficulty[new]
    quantiles = np.quantile(difficulty, [0, 0.5, 1])
    order = new[np.argsort(-difficulty, kind="stable")]
    hardest = [
        (_item(judged, int(n)), SUPPORT_KINDS[judged.kinds[n]], f"{judged.difficulty[n]:.2f}")
        for n in order[:4].tolist()
    ]
    easiest = [
        (_item(judged, int(n)), SUPPORT_KINDS[judged.kinds[n]], f"{judged.difficulty[n]:.2f}")
        for n in order[:3:-1][:2][::-1].tolist()
    ]
    lines = (
        Statement(
            "",
            f"mean {judged.mean_difficulty:.2f}, from {quantiles[0]:.2f} over {quantiles[1]:.2f}"
            f" (median) to {quantiles[2]:.2f}; 0: nothing is left open, 1: nothing is known",
        ),
    )
    return Section(
        name,
        "Difficulty: how hard will it be?",
        lines,
        (
            Grid(
                ("hardest and easiest", "support", "difficulty"),
                (*hardest, *easiest),
                (0, 1),
                left_out=len(new) - len(hardest) - len(easiest),
            ),
        ),
        "difficulty",
        judged,
    )


def _item(judged: TableDiagnosis | TextDiagnosis, n: int) -> str:
    if isinstance(judged, TextDiagnosis):
        return quoted(judged.texts[n])
    return ", ".join(map(str, judged.split.named(judged.items[n].tolist()).values()))


def quoted(text: str) -> str:
    return f"'{text if len(text) <= 44 else text[:41] + '...'}'"


def percent(share: float) -> str:
    if 0 < share < 0.005:
        return "under 1%"
    if 0.995 <= share < 1:
        return "over 99%"
    return f"{share:.0%}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown_list(things: Iterable[Any], between: str = ", ") -> str:
    listed = list(map(str, things))
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return between.join(listed[:SHOWN]) + more
