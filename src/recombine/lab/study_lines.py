"""Studies as lines for the terminal, in groups of one family."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from .overview import Overview
from .words import count, shortened, verdict_counts

GAP = 2
MARKS = {"holds": ("✓", "green"), "fails": ("✗", "bold red"), "undecided": ("?", "yellow")}
PLAIN_MARKS = {"holds": "h", "fails": "f", "undecided": "u"}
"""What is written where the terminal has no such signs."""
COST_WIDTH = len("~40 min")
WIDE = 140
"""From this width on, verdicts are words."""


def study_lines(rows: Sequence[Overview], width: int, encoding: str) -> Iterator[Text]:
    """One line per study under the name of its family, and a legend."""
    marks = _Marks(encoding, width >= WIDE)
    verdicts = max(len(marks.verdicts(row)) for row in rows)
    families: dict[str, list[Overview]] = {}
    for row in rows:
        families.setdefault(row.study.family, []).append(row)
    for family, members in families.items():
        documents = list(dict.fromkeys(row.study.source.document for row in members))
        head = Text(family, style="bold")
        head.append(f"  {'; '.join(documents)}", style="dim")
        head.truncate(width, overflow="ellipsis")
        yield head
        names = max(len(row.study.name) for row in members)
        room = width - names - COST_WIDTH - verdicts - 3 * GAP
        for row in members:
            yield _line(row, names, room, verdicts, marks)
        yield Text()
    yield Text(marks.legend(rows), style="dim")


def _line(row: Overview, names: int, room: int, verdicts: int, marks: "_Marks") -> Text:
    gap = " " * GAP
    question = shortened(row.study.question, max(room, 0), marks.ellipsis)
    line = Text(f"{row.study.name:<{names}}{gap}")
    line.append(f"{question:<{max(room, 0)}}{gap}", style="")
    line.append(f"{row.cost:>{COST_WIDTH}}{gap}", style="dim")
    text = marks.verdicts(row)
    line.append(" " * (verdicts - len(text)))
    line.append_text(text)
    return line


class _Marks:
    """How verdicts are written: in words, with signs, or with letters."""

    def __init__(self, encoding: str, in_words: bool):
        has_signs = _can_write("✓✗…", encoding)
        self._signs = {w: sign for w, (sign, _) in MARKS.items()} if has_signs else PLAIN_MARKS
        self._in_words = in_words
        self.ellipsis = "…" if has_signs else "..."

    def verdicts(self, row: Overview) -> Text:
        """How many claims have which verdict; of a study that was never run, how many it has."""
        if not row.judged:
            return Text(count(len(row.study.claims), "claim"), style="dim")
        faint = "dim " if row.judged == "published" else ""
        words = verdict_counts(row.counts)
        if not self._in_words:
            words = {word: f"{row.counts[word]}{self._signs[word]}" for word in words}
        parts = [Text(text, style=faint + MARKS[word][1]) for word, text in words.items()]
        return Text(", " if self._in_words else " ").join(parts)

    def legend(self, rows: Sequence[Overview]) -> str:
        signs = ", ".join(f"{sign} {word}" for word, sign in self._signs.items())
        parts = [] if self._in_words else [signs]
        if any(row.judged == "published" for row in rows):
            parts.append("faint: published")
        return "; ".join([*parts, "`recombine show STUDY`: in full"])


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
