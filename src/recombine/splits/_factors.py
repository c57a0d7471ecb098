"""Tables of combinations: each row has one value of every factor, such as ("red", "square").

The values play the part of modules: a table becomes a code with a layer for every factor and one
value active in each.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Bool, Int

from ._read_table import NoColumn, read_table

Combination = tuple[Hashable, ...]
Value = tuple[str, Hashable]
"""A factor's name and one of its values."""
Table = (
    Sequence[Sequence[Hashable]]
    | np.ndarray
    | Sequence[Mapping[str, Hashable]]
    | Mapping[str, Sequence[Hashable] | np.ndarray]
    | Any
    | str
    | Path
)
"""Rows of values; an array; records, as of `csv.DictReader`; columns by the names of their factors;
a data frame of pandas or Polars; or the path of a CSV or Parquet file."""


@dataclass(frozen=True)
class FactorTable:
    """Distinct combinations of the values of named factors."""

    factors: tuple[str, ...]
    combinations: tuple[Combination, ...]
    """Each with one value of every factor, in the order of the factors."""
    values: tuple[tuple[Hashable, ...], ...]
    """The values of every factor, in the order in which they appear."""

    @classmethod
    def of(
        cls, table: "Table | FactorTable", factors: Sequence[str] | None = None
    ) -> "FactorTable":
        """A table of rows or columns; rows that occur again count once.

        ```python
        >>> table = FactorTable.of({"colour": ["red", "blue"], "shape": ["disc", "disc"]})
        >>> table.values
        (('red', 'blue'), ('disc',))
        >>> table.codes[1].astype(int)
        array([[0, 1],
               [1, 0]])
        ```

        **Arguments:**

        - `table`: rows, a two-dimensional array, dicts, columns by name, a data frame, or the path
            of a CSV file (whose values are text) or Parquet file. Values may be anything hashable.
        - `factors`: of a table with named columns, those that are factors; by default all. Of
            another table, the names of its columns, by default `factor 0`, `factor 1`, ...
        """
        if isinstance(table, FactorTable):
            return table
        names, rows = rows_of(table, factors)
        distinct = tuple(dict.fromkeys(rows))
        values = tuple(tuple(dict.fromkeys(column)) for column in zip(*distinct, strict=True))
        return cls(names, distinct, values)

    @property
    def codes(self) -> Bool[np.ndarray, "combinations factors values"]:
        """One-hot codes: which value of every factor a combination has.

        Factors with fewer values than others are padded with values that never occur.
        """
        return np.asarray(self.numbers[..., None] == np.arange(max(map(len, self.values))))

    @cached_property
    def numbers(self) -> Int[np.ndarray, "combinations factors"]:
        """The place of every value among the values of its factor."""
        return self.numbers_of(self.combinations)

    def numbers_of(
        self, combinations: Sequence[Combination]
    ) -> Int[np.ndarray, "combinations factors"]:
        """The numbers of other combinations of the same values."""
        numbers = np.zeros((len(combinations), len(self.factors)), np.int64)
        for f, values in enumerate(self.values):
            number = {value: v for v, value in enumerate(values)}
            numbers[:, f] = [number[row[f]] for row in combinations]
        return numbers

    def combination(self, numbers: Sequence[int]) -> Combination:
        """The combination that has these numbers."""
        return tuple(values[v] for values, v in zip(self.values, numbers, strict=True))

    def of_codes(
        self, codes: Bool[ArrayLike, "combinations factors values"]
    ) -> tuple[Combination, ...]:
        """The combinations that codes stand for, such as those that a split holds out."""
        return tuple(map(self.combination, np.argmax(np.asarray(codes, bool), axis=-1).tolist()))

    def find(self, factor: str, value: Hashable) -> tuple[int, int]:
        """The layer and module of the codes that stand for a value."""
        if factor not in self.factors:
            raise ValueError(f"there is no factor {factor!r}; there are {list(self.factors)}")
        f = self.factors.index(factor)
        if value not in self.values[f]:
            raise ValueError(f"{factor} is never {value!r}; it is one of {list(self.values[f])}")
        return f, self.values[f].index(value)

    def __len__(self) -> int:
        return len(self.combinations)

    def __iter__(self) -> Iterator[Combination]:
        return iter(self.combinations)


def rows_of(
    table: Table | FactorTable, factors: Sequence[str] | None = None
) -> tuple[tuple[str, ...], list[Combination]]:
    """The names of a table's factors, and all its rows."""
    if isinstance(table, FactorTable):
        return table.factors, list(table)
    found, rows = read_table(table, factors)
    if not rows:
        raise ValueError("the table has no combinations; give at least one")
    width = len(rows[0])
    if any(len(row) != width for row in rows) or not width:
        raise ValueError("every combination must have one value of every factor")
    names = found or tuple(factors or (f"factor {f}" for f in range(width)))
    if len(names) != width or len(set(names)) < width:
        raise ValueError(f"{width} factors need as many different names, not {list(names)}")
    return names, rows


def rows_with(table: Table | FactorTable, factors: tuple[str, ...]) -> list[Combination]:
    """All rows of a table that has the same factors as another, in that one's order."""
    try:
        names, rows = rows_of(table, factors)
    except NoColumn as error:
        raise ValueError(f"the tables have different factors: {error}") from None
    if names != factors:
        raise ValueError(f"the tables have different factors: {list(factors)} and {list(names)}")
    return rows
