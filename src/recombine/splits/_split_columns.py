"""Which columns of a split are factors, which are texts, and which are of no use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._errors import nearest

if TYPE_CHECKING:
    from polars import DataFrame, Series

_FEW_ROWS = 20
"""In so few rows a column with another value in every row may be a factor."""
_UNIQUE = 0.9
_MEASURED = 50
"""A column of numbers with a decimal point and more values than this is a measurement."""
_LOOKED_AT = 1000
_TOKENS = 2.5
"""Words per value, on average, from which on a column holds texts."""


@dataclass(frozen=True)
class SplitColumns:
    """The columns of a training table and a test table, by their use."""

    factors: tuple[str, ...]
    texts: tuple[str, ...]
    """Columns of texts, which are sequences of tokens."""
    target: str | None
    warnings: tuple[str, ...]
    """What is odd about a column, and what became of it."""


def split_columns(
    train: "DataFrame",
    test: "DataFrame | None",
    factors: Sequence[str] | None,
    texts: Sequence[str] | None,
    target: str | None,
) -> SplitColumns:
    """Choose the columns that are named, or else those that can be factors or texts."""
    warnings: list[str] = []
    named = [*(factors or ()), *(texts or ())]
    for name in [*named, *([target] if target else ())]:
        if name not in train.columns:
            raise ValueError(f"no column {name!r}: {nearest(name, train.columns)}")
    if twice := {name for name in named if named.count(name) > 1 or name == target}:
        raise ValueError(f"column {min(twice)!r} is named for two uses; name it once")
    shared = [name for name in train.columns if name != target]
    if test is not None:
        warnings += _one_sided(train, test, target)
        for name in named:
            if name not in test.columns:
                raise ValueError(f"the test has no column {name!r}: {nearest(name, test.columns)}")
        shared = [name for name in shared if name in test.columns]
        if not shared:
            raise ValueError(
                f"the tables share no column: training has {', '.join(train.columns)},"
                f" the test has {', '.join(test.columns)}"
            )
    chosen: list[str] = list(factors or ())
    sequences: list[str] = list(texts or ())
    for name in factors or ():
        if odd := _oddity(train, test, name):
            warnings.append(f"column {name!r} {odd}")
    if factors is None and texts is None:
        for name in shared:
            if is_text(train[name]):
                sequences.append(name)
            elif odd := _oddity(train, test, name):
                warnings.append(f"column {name!r} {odd}; left out")
            else:
                chosen.append(name)
    if len(chosen) == 1 and not sequences and factors is None:
        sequences, chosen = _short_texts(train, chosen)
    if len(chosen) < 2 and not sequences:
        told = "; ".join(warnings)
        raise ValueError(
            "combinations need two factors or more, or a column of texts; found"
            f" {', '.join(chosen) or 'none'}{f' ({told})' if told else ''}"
        )
    if len(chosen) == 1:
        warnings.append(f"column {chosen[0]!r} is the only factor, which has no combinations")
        chosen = []
    constant = [n for n in chosen if train[n].n_unique() == 1 and test is not None]
    warnings += [f"column {n!r} is constant in training and varies in the test" for n in constant
                 if factors is None]  # fmt: skip
    return SplitColumns(tuple(chosen), tuple(sequences), target, tuple(warnings))


def is_text(column: "Series") -> bool:
    """Whether a column holds texts: values of several words, mostly, or lists of tokens."""
    import polars

    if isinstance(column.dtype, polars.List):
        return True
    if column.dtype != polars.String:
        return False
    known = column.drop_nulls()
    looked = known.gather_every(max(1, len(known) // _LOOKED_AT))
    if not len(looked):
        return False
    words = float(looked.str.split(" ").list.len().mean() or 0)  # type: ignore[arg-type]
    many = len(looked) > _FEW_ROWS and looked.n_unique() > len(looked) / 2
    return words >= _TOKENS or (words >= 1.5 and many)


def _short_texts(train: "DataFrame", chosen: list[str]) -> tuple[list[str], list[str]]:
    """A single column of words, some of them more than one, is one of short texts."""
    import polars

    column = train[chosen[0]]
    several = column.dtype == polars.String and column.str.contains(" ").any()
    return (chosen, []) if several else ([], chosen)


def _one_sided(train: "DataFrame", test: "DataFrame", target: str | None) -> list[str]:
    sides = (("training", train, test), ("the test", test, train))
    return [
        f"column {name!r} is in {where} only; left out"
        for where, one, other in sides
        for name in one.columns
        if name not in other.columns and name != target
    ]


def _oddity(train: "DataFrame", test: "DataFrame | None", name: str) -> str | None:
    """What keeps a column from being a factor."""
    column = train[name]
    known = column.drop_nulls()
    distinct = known.n_unique()
    if not len(known):
        return "has no values in training"
    if distinct == 1 and (test is None or not set(test[name].drop_nulls()) - set(known.head(1))):
        return f"is constant ({known[0]})"
    if len(known) > _FEW_ROWS and distinct > _UNIQUE * len(known):
        return f"has {distinct} values in {len(known)} rows, like the numbers of rows"
    if distinct > _MEASURED and _has_decimals(known):
        return f"is a measurement with {distinct} values; put them into bins to make it a factor"
    return None


def _has_decimals(column: "Series") -> bool:
    import polars

    if column.dtype.is_float():
        return bool((column != column.round(0)).any())
    if column.dtype != polars.String:
        return False
    looked = column.head(_LOOKED_AT)
    numbers = looked.cast(polars.Float64, strict=False)
    return numbers.null_count() == 0 and bool(looked.str.contains(".", literal=True).any())
