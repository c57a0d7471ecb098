"""A split as arrays of numbers: which value of every factor each row has."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from ._additive_effects import _keys
from ._set_counts import Items, SetCounts, factor_sets

if TYPE_CHECKING:
    from polars import DataFrame, Series


@dataclass(frozen=True, eq=False)
class EncodedSplit:
    """The rows of a training and a test table as numbers of values.

    ```python
    >>> rows = np.array([[0, 0], [0, 1], [0, 1]])
    >>> EncodedSplit(("colour", "shape"), (("red",), ("disc", "ring")), rows).trained
    array([[0, 0],
           [0, 1]])
    ```
    """

    factors: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """The values of every factor in training and test, in the order in which they appear."""
    train: Int[np.ndarray, "_ factors"]
    test: Int[np.ndarray, "_ factors"] | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values every factor has."""
        return tuple(len(values) for values in self.values)

    @property
    def trained(self) -> Items:
        """The distinct trained combinations."""
        return self._distinct_train[0]

    @property
    def trained_rows(self) -> Int[np.ndarray, " items"]:
        """How many rows each of `trained` has."""
        return self._distinct_train[1]

    @property
    def tested(self) -> Items:
        """The distinct tested combinations."""
        return self._distinct_test[0]

    @property
    def tested_rows(self) -> Int[np.ndarray, " items"]:
        """How many rows each of `tested` has."""
        return self._distinct_test[1]

    @cached_property
    def _distinct_train(self) -> tuple[Items, Int[np.ndarray, " items"]]:
        return distinct(self.train)

    @cached_property
    def _distinct_test(self) -> tuple[Items, Int[np.ndarray, " items"]]:
        return distinct(self.train[:0] if self.test is None else self.test)

    @cached_property
    def trained_pairs(self) -> dict[tuple[int, ...], SetCounts]:
        """How many trained combinations have each pair of values, by the numbers of two factors."""
        sets = factor_sets(len(self.factors), 2)
        return {pair: SetCounts(self.trained, pair, self.sizes) for pair in sets}

    def named(self, item: Sequence[int]) -> dict[str, Any]:
        """The values of a combination, by factor."""
        pairs = zip(self.factors, self.values, item, strict=True)
        return {name: values[number] for name, values, number in pairs}


def distinct(rows: Items) -> tuple[Items, Int[np.ndarray, " items"]]:
    """Different rows, and how often each occurs, in the order in which they appear."""
    if not len(rows):
        return rows, np.zeros(0, np.int64)
    _, first, counts = np.unique(_keys(rows), return_index=True, return_counts=True)
    order = np.argsort(first)
    return np.asfortranarray(rows[first[order]]), counts[order]


def are_among(items: Items, others: Items) -> np.ndarray:
    """Whether each of some combinations is one of others."""
    if not len(items) or not len(others):
        return np.zeros(len(items), bool)
    keys = _keys(np.concatenate([items, others]))
    asked, known = keys[: len(items)], np.sort(keys[len(items) :])
    return known[np.searchsorted(known, asked).clip(max=len(known) - 1)] == asked


def encoded_split(
    train: "DataFrame", test: "DataFrame | None", factors: Sequence[str]
) -> tuple[EncodedSplit, list[str]]:
    """Encode the rows of two data frames that have a value of every factor.

    **Returns:**

    The split, and a warning for every column in which rows lack a value.
    """
    warnings: list[str] = []
    parts = {"training": train.select(factors)}
    if test is not None:
        parts["the test"] = test.select(factors)
    for where, frame in parts.items():
        for name in factors:
            if missing := frame[name].null_count():
                warnings.append(
                    f"column {name!r} has no value in {missing} of {frame.height} rows of {where};"
                    " these are left out"
                )
        parts[where] = frame.drop_nulls()
        if not parts[where].height:
            raise ValueError(f"no row of {where} has a value of every factor: {warnings[-1]}")
    columns = [encode([frame[name] for frame in parts.values()]) for name in factors]
    # Columns are looked at more often than rows, so each lies in one piece.
    rows = [np.asfortranarray(np.stack([c[1][n] for c in columns], 1)) for n in range(len(parts))]
    values = tuple(c[0] for c in columns)
    return EncodedSplit(tuple(factors), values, rows[0], rows[1] if len(rows) > 1 else None), (
        warnings
    )


def encode(columns: "Sequence[Series]") -> tuple[tuple[Any, ...], list[Int[np.ndarray, " rows"]]]:
    """The values of columns taken together, in the order in which they appear, and their numbers.

    Columns of different types are compared as text.
    """
    import polars

    if len({column.dtype for column in columns}) > 1:
        columns = [column.cast(polars.String) for column in columns]
    values = polars.concat([c.alias("value") for c in columns]).unique(maintain_order=True)
    numbered = polars.DataFrame({"value": values, "number": np.arange(len(values))})
    frames = (column.alias("value").to_frame() for column in columns)
    joined = (f.join(numbered, on="value", how="left", maintain_order="left") for f in frames)
    return tuple(values.to_list()), [j["number"].to_numpy().astype(np.int64) for j in joined]
