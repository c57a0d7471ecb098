"""Tables as users have them: rows, records, columns, data frames, and files of these."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import nearest
from ._table_files import read_file


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
        table = read_file(Path(table))
    columns = columns_by_name(table)
    return (None, _rows(table)) if columns is None else _of_columns(columns, factors)


def columns_by_name(table: Any) -> Mapping[str, Any] | None:
    """The columns of a data frame, of columns by name or of dicts; None of a table of rows."""
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas and Polars
        return {str(name): table[name].to_list() for name in table.columns}
    if isinstance(table, Mapping):
        return table
    items = _items(table)
    if items and all(isinstance(item, Mapping) for item in items):
        return _columns_of(items)
    return None


def named_rows(table: Any, names: Sequence[str] | None = None) -> dict[str, list[Hashable]]:
    """The columns of a table of rows, under names, by default `factor 0`, `factor 1`, ..."""
    rows = _rows(table)
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ValueError("every row must have one value of every factor")
    used = list(names or (f"factor {f}" for f in range(width)))
    if rows and (len(used) != width or len(set(used)) < width):
        raise ValueError(f"{width} columns need as many different names, not {used}")
    return {name: [row[f] for row in rows] for f, name in enumerate(used)} if rows else {}


def _items(table: Any) -> list:
    try:
        return _plain(table)
    except TypeError:
        raise ValueError(_not_understood(table)) from None


def _rows(table: Any) -> list[Row]:
    items = _items(table)
    for item in items:
        if isinstance(item, (str, bytes, Mapping, set, frozenset)) or not _is_sequence(item):
            raise ValueError(
                f"{item!r} is no row of a table: each is a tuple or list of values, or each a dict"
            )
    return [tuple(_plain(item)) for item in items]


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
        " pandas or Polars, or the path of a file (CSV, Parquet, JSON lines)"
    )
