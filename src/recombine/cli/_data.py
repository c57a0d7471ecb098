"""`recombine data`: real data sets."""

from pathlib import Path
from typing import Annotated

import typer

from ._completion import complete_data
from ._options import JsonOption
from ._print import get_console, is_for_people, print_json, print_rows


def list_data(as_json: JsonOption = False) -> None:
    """List every data set: title, size, licence, whether it is cached, which studies read it.

    Where output is no terminal, these are the columns, with tabs between.
    """
    from recombine.lab.data_use import describe_data

    found = describe_data()
    if as_json:
        print_json({"data": found})
        return
    if not is_for_people():
        print_rows(
            (one["name"], one["title"], one["bytes"], one["licence"],
             "cached" if one["cached"] else "", " ".join(use["study"] for use in one["studies"]))
            for one in found
        )  # fmt: skip
        return
    from recombine.lab.tables import data_table

    get_console().print(data_table(found), highlight=False)


def get_data(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Data sets.", autocompletion=complete_data),
    ],
    given: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A file, archive or folder to take it from."),
    ] = None,
) -> None:
    """Download data sets into the cache and verify them; cached ones are not downloaded again."""
    import time

    from recombine.data import data_set, get
    from recombine.lab.data_progress import DataProgress

    chosen = [data_set(name) for name in names]  # all are refused if one is misspelt
    if given is not None and len(chosen) != 1:
        from recombine.lab.errors import UserError

        raise UserError(f"--from has the files of one data set, not of {len(chosen)}")
    console = get_console(stderr=True)
    for one in chosen:
        started = time.monotonic()
        with DataProgress(one.name, console) as progress:
            got = get(one.name, progress, given=given)
        for reason in got.passed_over:
            print(f"{one.name}: passed over {reason}")
        took = f", from {got.source} in {time.monotonic() - started:.1f} s" if got.source else ""
        place = f"{one.megabytes} in {got.folder}" if one.files else "comes with the package"
        print(f"{one.name}: {place}{took}")
