"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from ._completion import complete_study

StudyNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STUDY...",
        help="Studies, families, any part of a name that means one, or Python files.",
        autocompletion=complete_study,
    ),
]
StoreOption = Annotated[
    Path,
    typer.Option("--store", envvar="RECOMBINE_STORE", help="The folder that holds results."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
LoadOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--load",
        metavar="FILE",
        help="A Python file that may be run, with a study or a network that the store names;"
        " may be repeated.",
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a claim fails.")]
DEFAULT_STORE = Path("recombine-store")
