"""Tables of any kind as data frames of Polars, with their missing values as null."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._factors import FactorTable
from ._read_table import columns_by_name, named_rows
from ._table_files import NO_VALUE, read_file

if TYPE_CHECKING:
    from polars import DataFrame, Series


def frame_of(table: Any, names: Sequence[str] | None = None) -> "DataFrame":
    """A table as a data frame.

    **Arguments:**

    - `table`: the path of a file, a data frame of pandas or Polars, dicts, columns by name, rows,
        an array, a `FactorTable`, or a list of texts.
    - `names`: the names of the columns of rows and arrays, by default `factor 0`, `factor 1`, ...
    """
    import polars

    if isinstance(table, (str, Path)):
        frame = read_file(Path(table), missing=NO_VALUE)
    elif isinstance(table, polars.LazyFrame):
        frame = table.collect()
    elif isinstance(table, polars.DataFrame):
        frame = table
    elif isinstance(table, FactorTable):
        frame = _of_columns(dict(zip(table.factors, zip(*table, strict=True), strict=True)))
    elif isinstance(table, np.ndarray) and table.ndim == 2:
        used = names or [f"factor {f}" for f in range(table.shape[1])]
        if len(used) != table.shape[1]:
            raise ValueError(
                f"the array has {table.shape[1]} columns: give as many names, not {list(used)}"
            )
        frame = polars.DataFrame(dict(zip(used, table.T, strict=True)))
    elif isinstance(table, (list, tuple)) and table and all(isinstance(t, str) for t in table):
        frame = polars.DataFrame({"text": list(table)})
    else:
        columns = columns_by_name(table)
        frame = _of_columns(named_rows(table, names) if columns is None else columns)
    if not frame.width or not frame.height:
        where = f"{table} has" if isinstance(table, (str, Path)) else "the table has"
        raise ValueError(f"{where} no rows; give at least one")
    return frame.select(_with_nulls(frame[name]) for name in frame.columns)


def _of_columns(columns: Mapping[str, Any]) -> "DataFrame":
    import polars

    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ValueError(f"columns must be equally long; these are not ({told})")
    return polars.DataFrame([_series(str(name), values) for name, values in columns.items()])


def _series(name: str, values: Any) -> "Series":
    """A column; values of several types, or of types that Polars does not have, as text."""
    import polars

    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        return polars.Series(name, values)
    plain = [None if value != value else value for value in values]  # NaN, which equals nothing
    kinds = {type(value) for value in plain if value is not None}
    if len(kinds) == 1 and kinds <= {str, int, float, bool, list}:
        try:
            return polars.Series(name, plain)
        except (TypeError, OverflowError, polars.exceptions.PolarsError):
            pass
    return polars.Series(name, [None if v is None else str(v) for v in plain], polars.String)


def _with_nulls(column: "Series") -> "Series":
    import polars

    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype == polars.String:
        stripped = column.str.strip_chars()
        return (
            polars.select(
                polars.when(stripped.is_in(list(NO_VALUE))).then(None).otherwise(stripped)
            )
            .to_series()
            .alias(column.name)
        )
    return column
