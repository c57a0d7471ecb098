"""What commands print on: a console, or JSON on standard output."""

import json
import os
import sys
from typing import Any

import typer


def get_console(stderr: bool = False):
    from rich.console import Console

    # Outside of a terminal there is no width to fit into; the usual 80 columns would cut tables.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 140
    return Console(stderr=stderr, width=width)


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


def print_summary(terminal: Any, verdicts: list[Any]) -> None:
    words = {"holds": "hold", "fails": "fail", "undecided": "undecided"}
    counts = {word: sum(v.verdict == word for v in verdicts) for word in words}
    text = ", ".join(f"{n} {w if n == 1 else words[w]}" for w, n in counts.items() if n)
    if text:
        terminal.print(f"claims: {text}", highlight=False)


def exit_if_strict(strict: bool, verdicts: list[Any]) -> None:
    if strict and any(v.verdict == "fails" for v in verdicts):
        raise typer.Exit(1)
