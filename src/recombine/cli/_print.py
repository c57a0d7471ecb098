"""What commands print on: a console, JSON, or tab-separated text where output is no terminal."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def get_console(stderr: bool = False):
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # Rich itself would end the program with an error

    # Outside of a terminal there is no width to fit into; the usual 80 columns would cut tables.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 140
    return Terminal(stderr=stderr, width=width)


def is_for_people() -> bool:
    """Whether a listing is read by people; otherwise it goes to another program."""
    return sys.stdout.isatty()


def print_json(document: Any) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    is_unicode = encoding.lower().replace("-", "").startswith("utf")
    print(json.dumps(document, indent=2, ensure_ascii=not is_unicode))


def print_rows(rows: Iterable[Sequence[object]]) -> None:
    """Rows as tab-separated text, one per line."""
    for row in rows:
        print("\t".join(" ".join(str(cell).split()) for cell in row))


def exit_if_strict(strict: bool, verdicts: list[Any]) -> None:
    if strict and any(v.verdict == "fails" for v in verdicts):
        raise typer.Exit(1)
