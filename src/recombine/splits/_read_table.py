"""Tables as users have them: rows, records, columns, data frames, and files of these."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import nearest


class NoColumn(ValueError):
    """A table lacks a column."""


Row = tuple[Hashable, ...]


def read_table(
    table: Any, factors: Sequence[str] | None = None
) -> tuple[tuple[str, ...] | None, list[Row]]:
    """The names of a table's columns, if it has names, and its rows.

    Of named columns, only those that `factors` names are read, in this order.
    """
    if isinstance(table, (str, Path)):
        table = _read_file(Path(table))
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas and Polars
        table = {str(name): table[name].to_list() for name in table.columns}
    if isinstance(table, Mapping):
        return _of_columns(table, factors)
    try:
        items = _plain(table)
    except TypeError:
        raise ValueError(_not_understood(table)) from None
    if items and all(isinstance(item, Mapping) for item in items):
        return _of_columns(_columns_of(items), factors)
    for item in items:
        if isinstance(item, (str, bytes, Mapping, set, frozenset)) or not _is_sequence(item):
            raise ValueError(
                f"{item!r} is no row of a table: each is a tuple or list of values, or each a dict"
            )
    return None, [tuple(_plain(item)) for item in items]


def _read_file(path: Path) -> Any:
    import polars

    # Everything in a CSV is text: else 1 and "1" could be different values in two files.
    readers = {
        ".csv": lambda: polars.read_csv(path, infer_schema=False),
        ".parquet": lambda: polars.read_parquet(path),
    }
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path} is no table: its name ends in {' or '.join(readers)}")
    try:
        return readers[path.suffix.lower()]()
    except (OSError, polars.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} cannot be read: {reason}") from None


def _columns_of(records: Sequence[Mapping[str, Hashable]]) -> dict[str, list[Hashable]]:
    names = list(records[0])
    for number, record in enumerate(records):
        if set(record) != set(names):
            raise ValueError(
                f"row {number} has the columns {list(record)}, the first row has {names}"
            )
    return {name: [record[name] for record in records] for name in names}


def _of_columns(
    table: Mapping[str, Any], factors: Sequence[str] | None
) -> tuple[tuple[str, ...], list[Row]]:
    chosen = tuple(factors or table)
    for name in chosen:
        if name not in table:
            raise NoColumn(f"no column {name!r}: {nearest(str(name), map(str, table))}")
        if isinstance(table[name], (str, bytes)) or not _is_sequence(table[name]):
            raise ValueError(f"column {name!r} is {table[name]!r}, no sequence of values")
    columns = [_plain(table[name]) for name in chosen]
    if len({len(column) for column in columns}) > 1:
        sizes = ", ".join(f"{n}: {len(c)}" for n, c in zip(chosen, columns, strict=True))
        raise ValueError(f"columns must be equally long; these are not ({sizes})")
    for name, column in zip(chosen, columns, strict=True):
        for number, value in enumerate(column):
            if value is None or value != value:  # NaN, which equals nothing
                raise ValueError(f"row {number} has no value in the column {name!r}")
    return chosen, list(zip(*columns, strict=True))


def _is_sequence(thing: Any) -> bool:
    return isinstance(thing, (Sequence, np.ndarray)) or hasattr(thing, "to_list")


def _plain(column: Any) -> list:
    """NumPy's numbers and words as Python's, which are hashable and read better."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _not_understood(table: Any) -> str:
    return (
        f"{type(table).__name__} is no table: give rows, dicts, columns by name, a data frame of"
        " pandas or Polars, or the path of a CSV or Parquet file"
    )
