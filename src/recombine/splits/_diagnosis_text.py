"""A diagnosis as a page in the terminal."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._diagnosis_sections import sections
from ._diagnosis_words import Grid, Section

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis

WIDTH = 80
_MARKS = {"holds": (" ok", "green"), "fails": ("NOT", "bold red"), "undecided": ("  !", "yellow")}


def as_text(diagnosis: "Diagnosis") -> str:
    """The page as plain text of 80 columns."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=WIDTH, no_color=True, highlight=False)
    console.print(diagnosis)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def parts(diagnosis: "Diagnosis") -> Iterator[Any]:
    """The page in pieces that a console prints."""
    from rich.text import Text

    yield Text(diagnosis.verdict, style="bold")
    for section in sections(diagnosis):
        yield from _section(section)


def _section(section: Section) -> Iterator[Any]:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    yield Text()
    yield Text(section.title, style="bold cyan")
    statements = Table.grid(padding=(0, 1))
    statements.add_column(width=3, no_wrap=True)
    statements.add_column()
    for one in section.statements:
        mark, style = _MARKS.get(one.mark, ("", ""))
        statements.add_row(Text(mark, style), Text(one.text))
        for line in one.more:
            statements.add_row("", Text(line, "dim"))
    if section.statements:
        yield statements
    for grid in section.grids:
        yield Padding(_grid(grid), (0, 0, 0, 4))
        if grid.left_out > 0:
            yield Text(f"     and {grid.left_out:,} more", "dim")


def _grid(grid: Grid) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for place, title in enumerate(grid.header):
        is_word = place in grid.words
        table.add_column(Text(title), justify="left" if is_word else "right")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table
