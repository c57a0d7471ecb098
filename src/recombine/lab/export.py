"""Export of results as one table in a file, and of trained networks."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from .checkpoint import Damaged, write_atomically
from .errors import UserError, nearest
from .networks import describe_network
from .scratch import scratch
from .store import Store

if TYPE_CHECKING:
    from polars import DataFrame

BATCH_ROWS = 50_000
"""How many rows are held in memory at a time."""


def export_measurements(store: Store, to: Path) -> int:
    """Write every measurement of `store` to `to` (Parquet or CSV). Returns the number of rows.

    The file is there as a whole or not at all, and all of it is from one state of the store.
    """
    import polars

    to = to.expanduser()
    if to.suffix not in WRITERS:
        raise UserError(
            f"--to {to}: the file ends in {' or '.join(WRITERS)}, {nearest(to.suffix, WRITERS)}"
        )
    if not to.parent.is_dir():
        raise UserError(f"--to {to}: there is no folder {to.parent}")
    rows = 0

    def counted() -> "Iterator[DataFrame]":
        nonlocal rows
        for batch in _batches(store):
            rows += len(batch)
            yield batch

    try:
        with scratch(to.parent, ".export-") as folder:
            file = folder / "whole"
            WRITERS[to.suffix](counted(), file)
            file.replace(to)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise UserError(f"--to {to}: it cannot be written ({_reason(error)})") from None
    return rows


def export_networks(store: Store, to: Path) -> int:
    """Write every kept network of `store` to the folder `to`, with an index. Returns how many.

    The index, `index.json`, says of every file whose it is and what was measured.
    """
    to = to.expanduser()
    index = []
    try:
        for study, network in store.networks():
            name = f"{study}/{network['trial']}.{network['name']}.npz"
            content = store.verified(network.pop("file"), network["sha256"])
            header = describe_network(content)
            made_of = {"spec": header["spec"], "sizes": header["sizes"]}
            write_atomically(to / name, content)
            index.append({"file": name, **network, **made_of})
        text = json.dumps({"networks": index}, indent=1, ensure_ascii=False)
        write_atomically(to / "index.json", text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UserError(f"--networks {to}: it cannot be written ({error.strerror})") from None
    except Damaged as error:
        raise UserError(str(error)) from None
    return len(index)


def _batches(store: Store) -> "Iterator[DataFrame]":
    """All measurements, some at a time; at least one table, which may be empty."""
    import polars

    schema = {
        "study": polars.String, "preset": polars.String, "overrides": polars.String,
        "condition": polars.String, "seed": polars.Int64, "trial": polars.String,
        "code": polars.String, "kind": polars.String, "name": polars.String,
        "x": polars.Float64, "value": polars.Float64,
    }  # fmt: skip
    rows = store.measurements()
    batch = list(islice(rows, BATCH_ROWS))
    yield polars.DataFrame(batch, schema=schema)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield polars.DataFrame(batch, schema=schema)


def _write_csv(batches: "Iterator[DataFrame]", file: Path) -> None:
    with open(file, "wb") as out:
        for i, batch in enumerate(batches):
            batch.write_csv(out, include_header=i == 0)


def _write_parquet(batches: "Iterator[DataFrame]", file: Path) -> None:
    """By way of one file per batch: Polars joins files without having all of them in memory."""
    import polars

    parts = []
    for i, batch in enumerate(batches):
        parts.append(file.with_name(f"{i}.parquet"))
        batch.write_parquet(parts[-1])
    polars.scan_parquet(parts).sink_parquet(file)


WRITERS: Mapping[str, "Callable[[Iterator[DataFrame], Path], None]"] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}


def _reason(error: Exception) -> str:
    """What the operating system says, of which Polars makes a part of a sentence of its own."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r"os error (\d+)", str(error))
    return os.strerror(int(number[1])) if number else str(error)
