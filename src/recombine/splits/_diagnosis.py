"""Can training data support new combinations? Everything that the tables alone can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._addition_plan import plan_additions
from ._encoded_split import EncodedSplit, encode, encoded_split
from ._factor_information import factor_information, target_information
from ._frames import frame_of
from ._item_rules import ItemRules, Rules
from ._item_support import SUPPORT_KINDS
from ._split_columns import SplitColumns, is_text, split_columns
from ._table_diagnosis import TableDiagnosis, asked_items
from ._text_diagnosis import TextDiagnosis, text_diagnosis

if TYPE_CHECKING:
    from polars import DataFrame

_BINS = 10
_MANY = 1000
_PLANNED = 20_000
"""So many combinations are planned for at most."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What training offers for a test: printable, as a dictionary, and as an HTML page."""

    columns: SplitColumns
    train_rows: int
    test_rows: int | None
    """How many rows the test has; None without a test."""
    identical_rows: int
    """How many rows of the test are in training as well, with all columns that both have."""
    warnings: tuple[str, ...]
    table: TableDiagnosis | None
    """Of the factors; None if there are none."""
    texts: tuple[TextDiagnosis, ...]
    """Of every column of texts."""
    target_text: TextDiagnosis | None
    """Of the target, if it is a column of texts, such as the actions of a command."""
    budget: float | int | None
    titles: tuple[str, str | None]
    """What training and test are called."""

    @cached_property
    def verdict(self) -> str:
        """The answer in one sentence or two."""
        from ._diagnosis_sections import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything in the report, of plain values, ready for JSON."""
        from ._diagnosis_document import document

        return document(self)

    def html(self) -> str:
        """The report as one page that needs nothing else."""
        from ._diagnosis_page import page

        return page(self)

    def items(self) -> "DataFrame":
        """Every combination that was judged: its values, its rows, its kind of support and its
        predicted difficulty. Texts, if there are no factors."""
        import polars

        if self.table is not None:
            table = self.table
            chosen: dict[str, Any] = {
                name: [table.split.values[f][v] for v in table.items[:, f].tolist()]
                for f, name in enumerate(table.split.factors)
            }
            judged: TableDiagnosis | TextDiagnosis = table
        else:
            judged = self.texts[0]
            chosen = {judged.column: list(judged.texts)}
        added = {
            "rows": judged.rows,
            "support": [SUPPORT_KINDS[k] for k in judged.kinds.tolist()],
            "difficulty": judged.difficulty,
        }
        return polars.DataFrame({**chosen, **added}, strict=False)

    def __str__(self) -> str:
        from ._diagnosis_text import as_text

        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from ._diagnosis_text import parts

        yield from parts(self)


def diagnose(
    train: Any,
    test: Any = None,
    *,
    factors: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    trees: Sequence[str] | None = None,
    target: str | None = None,
    ngrams: int = 3,
    budget: float | int | None = None,
    costs: Rules = (),
    impossible: Rules = (),
) -> Diagnosis:
    """Find out whether training data support new combinations, and what to add.

    ```python
    >>> train = [("red", "disc"), ("red", "ring"), ("blue", "disc"), ("green", "star")]
    >>> report = diagnose(train, [("blue", "ring"), ("green", "disc")])
    >>> report.table.kind_counts["supported"], report.table.supported_share
    (1, 0.5)
    >>> [tuple(addition.values.values()) for addition in report.table.plan.additions]
    [('red', 'star')]
    ```

    **Arguments:**

    - `train`: the training data: the path of a CSV, TSV, Parquet, JSON lines or text file, a data
        frame of pandas or Polars, dicts, columns by name, rows, an array, or a list of texts.
    - `test`: what will be tested, with the same columns; if None, all other combinations of the
        trained values are judged.
    - `factors`: the columns that are factors; by default all that can be. Of rows and arrays, the
        names of their columns.
    - `texts`: the columns of texts, which are sequences of tokens; by default found.
    - `trees`: columns of parse trees, such as `(and (jump) (walk twice))`.
    - `target`: the column that is to be predicted.
    - `ngrams`: the tokens of the longest n-grams that count as compounds.
    - `budget`: how much may be spent on additions: their number, unless there are costs. By default
        additions are planned until all that is asked for is supported.
    - `costs`: what combinations cost, such as `[{"colour": "gold", "cost": 5}]`, or a file with one
        rule per row. A combination costs 1, and what the rules for its values say on top; a rule
        that names a value of every factor is the cost of that combination.
    - `impossible`: combinations that cannot be had, such as `[{"colour": "gold", "size": "big"}]`,
        or a file.
    """
    if ngrams < 2:
        raise ValueError(f"n-grams have two tokens or more, not {ngrams}")
    if budget is not None and not 0 <= budget < np.inf:
        raise ValueError(f"a budget is a number from 0 on, not {budget:g}")
    frame, names = frame_of(train, factors), factors
    asked = None if test is None else frame_of(test, factors)
    chosen = split_columns(
        frame, asked, names, [*(texts or ()), *(trees or ())] if texts or trees else None, target
    )
    warnings = list(chosen.warnings)
    found, of_target, targets = [], None, None
    if target is not None and is_text(frame[target]):
        tested = None if asked is None or target not in asked.columns else asked[target]
        of_target, odd = text_diagnosis(frame[target], tested, longest=ngrams)
        warnings += odd
        targets = None if tested is None else (frame[target], tested)
    for column in chosen.texts:
        tested = None if asked is None else asked[column]
        one, odd = text_diagnosis(
            frame[column], tested, trees=column in (trees or ()), longest=ngrams, targets=targets
        )
        found.append(one)
        warnings += odd
    table = None
    if chosen.factors:
        table = _table(frame, asked, chosen, warnings, budget, ItemRules.read(costs, impossible))
    return Diagnosis(
        columns=chosen,
        train_rows=frame.height,
        test_rows=None if asked is None else asked.height,
        identical_rows=0 if asked is None else _identical(frame, asked),
        warnings=tuple(warnings),
        table=table,
        texts=tuple(found),
        target_text=of_target,
        budget=budget,
        titles=(_title(train, "training"), None if test is None else _title(test, "test")),
    )


def _table(
    frame: "DataFrame",
    asked: "DataFrame | None",
    chosen: SplitColumns,
    warnings: list[str],
    budget: float | int | None,
    rules: ItemRules,
) -> TableDiagnosis:
    split, odd = encoded_split(frame, asked, chosen.factors)
    warnings += odd
    of_target: tuple = ()
    if chosen.target is not None and not is_text(frame[chosen.target]):
        of_target = _target(frame, asked, split, chosen, warnings)
    asked_are, items, rows = asked_items(split)
    plan = None
    if asked_are != "a sample of the other combinations" or budget is not None:
        if len(items) > _PLANNED:
            warnings.append(
                f"what to add is planned for {_PLANNED:,} of {len(items):,} combinations"
            )
        try:
            plan = plan_additions(
                split, items[:_PLANNED], budget=budget, rules=rules, trains_asked=asked is None
            )
        except ValueError as error:
            if rules.costs or rules.impossible or budget is not None:
                raise
            warnings.append(str(error))
    return TableDiagnosis(
        split=split,
        asked_are=asked_are,
        items=items,
        rows=rows,
        information=factor_information(split),
        target_information=of_target,
        plan=plan,
    )


def _target(
    frame: "DataFrame",
    asked: "DataFrame | None",
    split: EncodedSplit,
    chosen: SplitColumns,
    warnings: list[str],
) -> tuple:
    """What every factor tells of the target; of a measurement, of its tenth."""
    import polars

    target = chosen.target
    assert target is not None
    with_test = asked is not None and target in asked.columns
    if asked is not None and not with_test:
        warnings.append(f"column {target!r}, the target, is in training only")
    frames = [frame, *([asked] if with_test and asked is not None else [])]
    complete = [
        f.select([*chosen.factors, target]).drop_nulls(list(chosen.factors)) for f in frames
    ]
    columns = [f[target] for f in complete]
    for where, column in zip(("training", "the test"), columns, strict=False):
        if column.null_count():
            warnings.append(
                f"column {target!r}, the target, has no value in {column.null_count()} of"
                f" {len(column)} rows of {where}; they count as one value"
            )
    numbers = [c.cast(polars.Float64, strict=False) for c in columns]
    is_number = all(n.null_count() == c.null_count() for n, c in zip(numbers, columns, strict=True))
    if is_number and columns[0].n_unique() > 2 * _BINS:
        known = numbers[0].drop_nulls().to_numpy()
        edges = np.quantile(known, np.arange(1, _BINS) / _BINS)
        codes = [np.searchsorted(edges, n.fill_null(known.min()).to_numpy()) for n in numbers]
        warnings.append(f"column {target!r}, the target, is a measurement: it is put into tenths")
    else:
        codes = encode([c.cast(polars.String).fill_null("") for c in columns])[1]
        if columns[0].n_unique() > min(_MANY, 0.9 * len(columns[0])):
            warnings.append(
                f"column {target!r}, the target, has {columns[0].n_unique()} values in"
                f" {len(columns[0])} rows: what factors tell of it is not meaningful"
            )
            return ()
    return target_information(split, target, codes[0], codes[1] if with_test else None)


def _identical(train: "DataFrame", test: "DataFrame") -> int:
    """How many rows of the test are rows of training, with all columns that both have."""
    import polars

    shared = [name for name in train.columns if name in test.columns]
    known = train.select(polars.col(shared).cast(polars.String, strict=False)).unique()
    rows = test.select(polars.col(shared).cast(polars.String, strict=False))
    return rows.join(known, on=shared, how="semi", nulls_equal=True).height


def _title(table: Any, otherwise: str) -> str:
    return Path(table).name if isinstance(table, (str, Path)) else otherwise
