"""`recombine diagnose`: can training data support new combinations, and what to add?"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import JsonOption
from ._print import print_json


def diagnose(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN", help="A table: .csv, .tsv, .parquet, .jsonl, .json or .txt."
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TEST]",
            help="What will be tested; without it, all other combinations are judged.",
        ),
    ] = None,
    factors: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The columns that are factors: a,b,c.")
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The columns of texts, as sequences of tokens."),
    ] = None,
    trees: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The columns of parse trees: (and (jump) (walk))."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column that is to be predicted.")
    ] = None,
    ngrams: Annotated[int, typer.Option(help="The tokens of the longest compounds.")] = 3,
    budget: Annotated[
        float | None,
        typer.Option(help="What to add for so much: a number of combinations, or a cost."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="colour=gold:5|FILE",
            help="What values or combinations cost on top of 1; may be repeated.",
        ),
    ] = None,
    impossible: Annotated[
        list[str] | None,
        typer.Option(
            metavar="colour=gold,size=big|FILE",
            help="Combinations that cannot be added; may be repeated.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as one HTML page, too.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every judged item to a .csv or .parquet file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether training data support new combinations, how hard they are, and what to add."""
    from recombine.lab.errors import UserError
    from recombine.splits import diagnose as diagnosed

    try:
        report = diagnosed(
            train,
            test,
            factors=_names(factors),
            texts=_names(texts),
            trees=_names(trees),
            target=target,
            ngrams=ngrams,
            budget=budget,
            costs=[rule for text in cost or [] for rule in _rules(text, priced=True)],
            impossible=[rule for text in impossible or [] for rule in _rules(text)],
        )
        if items is not None:
            _write_items(report, items)
    except ValueError as error:
        raise UserError(" ".join(str(error).split())) from None
    if html is not None:
        try:
            html.write_text(report.html(), encoding="utf-8")
        except OSError as error:
            raise UserError(f"{html} cannot be written: {error.strerror}") from None
    if as_json:
        print_json(report.to_dict())
        return
    if sys.stdout.isatty():
        from rich.console import Console

        Console(width=80, highlight=False).print(report)
    else:
        print(report)
    written = [str(path) for path in (html, items) if path is not None]
    if written:
        print(f"\nwritten: {', '.join(written)}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _rules(text: str, *, priced: bool = False) -> list[dict[str, Any]]:
    """Rules of an option: values of factors with a cost, or the rows of a file."""
    from recombine.splits import read_rules

    if "=" not in text:
        return [dict(rule) for rule in read_rules(text)]
    values, colon, price = text.rpartition(":") if priced else (text, "", "")
    if priced and not colon:
        raise ValueError(f"--cost {text}: say what it costs, such as {text}:5")
    rule: dict[str, Any] = {}
    for part in values.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{text}: {part!r} is no factor=value")
        rule[name.strip()] = value.strip()
    return [rule | ({"cost": price} if priced else {})]


def _write_items(report: Any, path: Path) -> None:
    frame = report.items()
    writers = {".csv": frame.write_csv, ".parquet": frame.write_parquet}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path} ends in neither .csv nor .parquet")
    try:
        writers[path.suffix.lower()](path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}") from None
