"""`recombine export`: writes results and networks to files."""

from pathlib import Path
from typing import Annotated

import typer

from ._options import DEFAULT_STORE, StoreOption


def export(
    to: Annotated[
        Path | None, typer.Option("--to", help="A .parquet or .csv file for all measurements.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the results of studies at preset laptop, as the package has them."
        ),
    ] = None,
    networks: Annotated[
        Path | None, typer.Option("--networks", help="A folder for all trained networks.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write measurements to one table, one row per measurement, or trained networks to a folder."""
    from recombine.lab.errors import UserError
    from recombine.lab.export import export_measurements, export_networks
    from recombine.lab.registry import listed
    from recombine.lab.store import Store
    from recombine.lab.words import count

    if to is None and results is None and networks is None:
        raise UserError("nothing to write: give --to FILE, --results DIR or --networks DIR")
    with Store.open(store) as opened:
        if to is not None:
            rows = export_measurements(opened, to)
            print(f"{rows} measurements: {to}")
        if results is not None:
            from recombine.lab.published import publish

            written = 0
            for path in publish(opened, results, list(listed())):
                written += 1
                print(path)
            print(f"{written} studies with whole results at preset laptop: {results}")
        if networks is not None:
            exported = count(export_networks(opened, networks), "network")
            print(f"{exported}: {networks / 'index.json'}")
