"""Options that several commands have."""

import os
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


def _store(given: str | Path) -> Path:
    """The folder of a store; what cannot be meant is refused."""
    from recombine.lab.errors import UserError

    if not str(given).strip():
        raise UserError("--store '': name a folder")
    folder = Path(given).expanduser()
    if os.path.realpath(folder) == os.path.realpath("/"):
        raise UserError(f"--store {given}: the root of the file system is no store: name a folder")
    return folder


StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        metavar="DIR",
        envvar="RECOMBINE_STORE",
        help="The folder that holds results.",
        parser=_store,
    ),
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
