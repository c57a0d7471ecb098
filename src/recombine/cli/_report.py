"""`recombine report`: writes a site of results."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._options import DEFAULT_STORE, LoadOption, StoreOption


def report(
    store: StoreOption = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="The folder for the site.")] = Path("recombine-report"),
    files: LoadOption = None,
    with_published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Also show the results that come with the package; then no store is needed.",
        ),
    ] = False,
    open_it: Annotated[
        bool, typer.Option("--open", help="Then open the site in a web browser.")
    ] = False,
) -> None:
    """Write a self-contained HTML site of everything in the store, with interactive figures."""
    from contextlib import nullcontext

    from recombine.lab.report import write_report
    from recombine.lab.store import Store

    left_out: list[str] = []

    def note(reference: str, reason: str) -> None:
        left_out.append(reference)
        print(f"recombine: not shown: {reference}: {reason}", file=sys.stderr)

    absent = with_published and store == DEFAULT_STORE and not store.exists()
    with nullcontext() if absent else Store.open(store) as opened:
        index = write_report(opened, out, note, files or [], published=with_published)
    print(f"report: {index}")
    if open_it:
        show_page(index)
    if left_out:
        raise typer.Exit(1)


def show_page(page: Path) -> None:
    """Open a page in the user's web browser; say so where there is none."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print("recombine: there is no web browser to open the report in", file=sys.stderr)
