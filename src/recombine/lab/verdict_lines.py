"""Verdicts for the terminal: claims of one study at one preset and settings in a group."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .claims import Verdict
from .study import in_words
from .words import count, printable, verdict_counts

VERDICT_STYLE = {"holds": "green", "fails": "bold red", "undecided": "yellow"}
MOST_STATEMENTS = 4
"""How many of the statements of a claim are shown with their numbers."""
DIGITS = 4


def verdict_groups(verdicts: Sequence[Verdict]) -> Iterator[Text | Table | Padding]:
    """Every claim with its verdict, its statement and the numbers behind it."""
    for group in _grouped(verdicts):
        first = group[0]
        head = Text(printable(first.study), style="bold")
        seeds = first.evidence.get("seeds")
        about = [where(first), count(seeds, "seed") if isinstance(seeds, int) else ""]
        head.append(f"  {', '.join(filter(None, about))}", style="dim")
        yield head
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for verdict in group:
            body = Text(printable(verdict.claim), style="bold")
            body.append(f"\n{printable(verdict.statement)}", style="not bold")
            for line in evidence_lines(verdict):
                body.append(f"\n{printable(line)}", style="dim not bold")
            table.add_row(Text(verdict.verdict, style=VERDICT_STYLE[verdict.verdict]), body)
        yield Padding(table, (0, 0, 1, 2), expand=False)


def where(verdict: Verdict) -> str:
    """The preset and the changed settings: `preset laptop, sigma_0=0.1`."""
    preset = f"preset {verdict.preset}" if verdict.preset else "not run"
    changed = in_words(verdict.overrides)
    return printable(", ".join(filter(None, (preset, changed))))


def summaries(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How many claims hold, fail and are undecided, at every preset and settings."""
    groups: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        groups.setdefault(where(verdict), Counter())[verdict.verdict] += 1
    for name, counts in groups.items():
        at = f" ({name})" if len(groups) > 1 or not name.startswith("preset laptop") else ""
        yield f"claims{at}: {', '.join(verdict_counts(counts).values())}"


def evidence_lines(verdict: Verdict) -> list[str]:
    """The numbers behind a verdict, a statement per line; those that decided it come first."""
    reason = verdict.evidence.get("reason")
    if reason:
        return [f"{str(reason)[0].upper()}{str(reason)[1:]}."]
    statements = {k: v for k, v in verdict.evidence.items() if isinstance(v, dict)}
    others = {k: v for k, v in verdict.evidence.items() if k != "seeds" and k not in statements}
    ordered = sorted(statements, key=lambda k: statements[k].get("verdict") != verdict.verdict)
    lines = [f"{name}: {_numbers(statements[name])}" for name in ordered[:MOST_STATEMENTS]]
    if rest := ordered[MOST_STATEMENTS:]:
        counts = Counter(str(statements[name].get("verdict", "")) for name in rest)
        words = ", ".join(verdict_counts(counts).values())
        lines.append(
            f"… and {count(len(rest), 'statement')} more" + (f": {words}" if words else "")
        )
    if others:
        lines.append(
            ", ".join(f"{name} {evidence_number(value)}" for name, value in others.items())
        )
    return lines


def _numbers(statement: dict[str, Any]) -> str:
    """`mean 0.93, at least 0.91, seeds needed: 12`; the verdict where it is another."""
    parts = []
    for name, value in statement.items():
        if name == "seeds needed":
            parts.append(f"{value} seeds needed")
        elif name not in ("n", "verdict"):
            parts.append(f"{name} {evidence_number(value)}")
    return ", ".join(parts)


def evidence_number(value: Any) -> str:
    """One number of the evidence, or several, in words."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(evidence_number, value))}]"
    if isinstance(value, dict):
        return " ".join(f"{k} {evidence_number(v)}" for k, v in value.items())
    return "–" if value is None else str(value)


def _grouped(verdicts: Sequence[Verdict]) -> Iterator[list[Verdict]]:
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.study, where(verdict)), []).append(verdict)
    yield from groups.values()
