"""What a column of sequences or parse trees supports, and what it lacks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ._difficulty import Difficulty
from ._divergence import (
    ATOM_ALPHA,
    COMPOUND_ALPHA,
    Divergence,
    chernoff_divergence,
    weighted_divergence,
)
from ._encoded_split import EncodedSplit, encode
from ._item_support import SUPPORT_KINDS, ItemSupport
from ._sequence_parts import SequenceParts, sequence_parts, tree_parts

if TYPE_CHECKING:
    from polars import Series

_THIN_SHARE = 0.05
_LISTED = 8


@dataclass(frozen=True)
class ThinToken:
    """A token of which training shows few neighbours, and which is asked for in others."""

    token: str
    trained: int
    """How many different sequences with it are trained."""
    asked: int
    """How many different tested sequences have a pair with it that is never trained."""


@dataclass(frozen=True, eq=False)
class TextDiagnosis:
    """What the trained sequences of a column offer for the tested ones.

    Every two neighbours are a combination of two factors, the left and the right one (in a tree, a
    slot and what fills it). A sequence has the least kind of support that any of its pairs has.
    """

    column: str
    parts: SequenceParts
    trained_items: int
    """How many different items are trained; in `parts` they come first."""
    train_rows: Int[np.ndarray, " _"]
    """How many rows each trained item has."""
    rows: Int[np.ndarray, " items"]
    """How many rows each tested item has."""
    texts: tuple[str, ...]
    """The tested items."""
    known: Bool[np.ndarray, " items"]
    """Which tested items are trained, too."""
    target_beyond: Float[np.ndarray, " items"]
    """The share of the longest target of each tested item that is beyond the longest trained one;
    0 without targets that are texts."""

    @cached_property
    def split(self) -> EncodedSplit:
        """The pairs of training and test."""
        trained = self.parts.pair_item < self.trained_items
        return EncodedSplit(
            ("first", "second"),
            (self.parts.first, self.parts.second),
            self.parts.pairs[trained],
            self.parts.pairs[~trained],
        )

    @property
    def has_test(self) -> bool:
        """Whether there are tested items."""
        return bool(len(self.rows))

    @cached_property
    def support(self) -> ItemSupport:
        """S1 to S3 of pairs."""
        return ItemSupport(self.split.trained, self.split.sizes)

    @cached_property
    def _tested_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        asked = self.parts.pair_item >= self.trained_items
        return self.parts.pair_item[asked] - self.trained_items, self.parts.pairs[asked]

    @cached_property
    def _pair_kinds(self) -> Int[np.ndarray, " pairs"]:
        return self.support.kinds(self._tested_pairs[1])

    @cached_property
    def kinds(self) -> Int[np.ndarray, " items"]:
        """The kind of support of every tested item, as its place in `SUPPORT_KINDS`.

        An item that is not trained, all of whose pairs are, is supported.
        """
        kinds = np.zeros(len(self.rows), np.int64)
        np.maximum.at(kinds, self._tested_pairs[0], self._pair_kinds)
        return np.where(self.known, 0, np.maximum(kinds, 1))

    @cached_property
    def new_pairs(self) -> Int[np.ndarray, " items"]:
        """How many pairs of every tested item are never trained."""
        fresh = self._tested_pairs[0][self._pair_kinds > 0]
        return np.bincount(fresh, minlength=len(self.rows))

    @cached_property
    def difficulty(self) -> Float[np.ndarray, " items"]:
        """The predicted difficulty of every tested item.

        1 − Π (1 − d) over its pairs that are never trained, d being the difficulty of each, and
        over its length and that of its target, with the share that is beyond the longest trained.
        """
        item, pairs = self._tested_pairs
        left = np.zeros(len(self.rows))
        np.add.at(left, item, np.log1p(-np.minimum(Difficulty(self.split).of(pairs), 1 - 1e-9)))
        beyond = np.maximum(0, 1 - self.longest_trained / np.maximum(self.tested_sizes, 1))
        found = 1 - np.exp(left) * (1 - beyond) * (1 - self.target_beyond)
        return np.where(self.known, 0, np.maximum(found, 0))

    @property
    def tested_sizes(self) -> Int[np.ndarray, " items"]:
        """The length, or depth, of every tested item."""
        return self.parts.sizes[self.trained_items :]

    @property
    def longest_trained(self) -> int:
        """The length, or depth, of the longest trained item."""
        return int(self.parts.sizes[: self.trained_items].max(initial=0))

    @property
    def longest_tested(self) -> int:
        """The length, or depth, of the longest tested item."""
        return int(self.tested_sizes.max(initial=0))

    @property
    def longer_share(self) -> float:
        """The share of tested rows that are longer than any trained one."""
        return self._share(self.tested_sizes > self.longest_trained)

    @property
    def new_pair_share(self) -> float:
        """The share of tested rows with a pair that is never trained."""
        return self._share(self.new_pairs > 0)

    @property
    def repeated_rows(self) -> int:
        """How many tested rows are trained, too."""
        return int(self.rows[self.known].sum())

    @property
    def supported_share(self) -> float | None:
        """The share of supported rows among those that are not trained."""
        new = int(self.rows[~self.known].sum())
        return float(self.rows[self.kinds == 1].sum() / new) if new else None

    @property
    def mean_difficulty(self) -> float | None:
        """The mean predicted difficulty of the tested rows that are not trained."""
        fresh = ~self.known
        return float(np.average(self.difficulty[fresh], weights=self.rows[fresh])) if (
            fresh.any()
        ) else None  # fmt: skip

    @property
    def kind_counts(self) -> dict[str, int]:
        """How many different tested items there are of each kind."""
        counts = np.bincount(self.kinds, minlength=len(SUPPORT_KINDS))
        return dict(zip(SUPPORT_KINDS, counts.tolist(), strict=True))

    @cached_property
    def new_tokens(self) -> tuple[str, ...]:
        """S1: tokens that are tested and never trained."""
        trained = self.parts.atom[self.parts.atom_item < self.trained_items]
        seen = np.zeros(len(self.parts.atoms), bool)
        seen[trained] = True
        return tuple(self.parts.atoms[n] for n in np.flatnonzero(~seen))

    @cached_property
    def divergence(self) -> Divergence | None:
        """Atom and compound divergence; None without a test."""
        if not self.has_test:
            return None
        weights = np.concatenate([self.train_rows, self.rows]).astype(float)
        trained = np.arange(len(weights)) < self.trained_items
        of_atom = weights[self.parts.atom_item]
        side = trained[self.parts.atom_item]
        size = len(self.parts.atoms)
        P = np.bincount(self.parts.atom[side], of_atom[side], minlength=size)
        Q = np.bincount(self.parts.atom[~side], of_atom[~side], minlength=size)
        compounds = weighted_divergence(self.parts.compounds, trained, COMPOUND_ALPHA, weights)
        return Divergence(
            chernoff_divergence(P, Q, ATOM_ALPHA), compounds, self.parts.compounds_are
        )

    @cached_property
    def thin(self) -> tuple[ThinToken, ...]:
        """Tokens in few trained items and in many new pairs of the test, the most asked first."""
        trained = self.parts.atom_item < self.trained_items
        size = np.int64(len(self.parts.atoms))
        once = np.unique(self.parts.atom_item[trained] * size + self.parts.atom[trained])
        shown = np.bincount(once % size, minlength=size)
        item, pairs = self._tested_pairs
        found: list[ThinToken] = []
        fresh = self._pair_kinds > 0
        names = np.array([*self.parts.atoms], object)
        for n in np.flatnonzero((shown > 0) & (shown <= _THIN_SHARE * self.trained_items)):
            has = np.zeros(len(item), bool)
            for side, of_side in enumerate((self.parts.first, self.parts.second)):
                known = np.array([name == names[n] for name in of_side])
                has |= known[pairs[:, side]]
            asked = len(np.unique(item[has & fresh]))
            if asked:
                found.append(ThinToken(str(names[n]), int(shown[n]), asked))
        return tuple(sorted(found, key=lambda one: (-one.asked, one.token)))

    @cached_property
    def missing(self) -> tuple[tuple[str, str, int], ...]:
        """Pairs that the test asks for and training lacks, with how many tested items have each."""
        item, pairs = self._tested_pairs
        fresh = pairs[self._pair_kinds > 0]
        owner = item[self._pair_kinds > 0]
        if not len(fresh):
            return ()
        rows = np.unique(np.column_stack([fresh, owner]), axis=0)[:, :2]
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return tuple(
            (self.parts.first[a], self.parts.second[b], int(counts[n]))
            for n, (a, b) in zip(order.tolist(), kinds[order].tolist(), strict=True)
        )

    def examples(self, kind: int, most: int = 3) -> tuple[str, ...]:
        """Some tested items of a kind."""
        return tuple(self.texts[n] for n in np.flatnonzero(self.kinds == kind)[:most])

    def _share(self, chosen: np.ndarray) -> float:
        return float(self.rows[chosen].sum() / self.rows.sum()) if len(self.rows) else 0.0


def text_diagnosis(
    train: "Series",
    test: "Series | None",
    *,
    trees: bool = False,
    longest: int = 3,
    targets: "Sequence[Series] | None" = None,
) -> tuple[TextDiagnosis, list[str]]:
    """Diagnose a column of sequences, or of parse trees.

    **Arguments:**

    - `train`, `test`: the column in training and in the test.
    - `trees`: whether its texts are parse trees.
    - `longest`: the tokens of the longest n-grams.
    - `targets`: the targets of training and test, if they are texts.

    **Returns:**

    The diagnosis, and a warning where rows lack a text.
    """
    import polars

    warnings, columns, lengths = [], [], []
    for n, (where, column) in enumerate((("training", train), ("the test", test))):
        if column is None:
            continue
        if column.null_count():
            warnings.append(
                f"column {column.name!r} has no value in {column.null_count()} of"
                f" {len(column)} rows of {where}; these are left out"
            )
        columns.append(_as_text(column).drop_nulls())
        if targets is not None:
            words = _as_text(targets[n]).filter(column.is_not_null()).str.split(" ").list.len()
            lengths.append(words.fill_null(0).to_numpy())
        if not len(columns[-1]):
            raise ValueError(f"column {column.name!r} has no value in any row of {where}")
    _, numbers = encode(columns)
    found = [np.unique(n, return_index=True, return_counts=True) for n in numbers]
    distinct_items = [
        column.gather(np.sort(first)) for column, (_, first, _) in zip(columns, found, strict=True)
    ]
    counts = [c[np.argsort(first)] for _, first, c in found]
    beyond = np.zeros(len(found[1][1]) if len(found) > 1 else 0)
    if len(lengths) > 1:
        place = np.argsort(np.argsort(found[1][1]))[np.unique(numbers[1], return_inverse=True)[1]]
        np.maximum.at(beyond, place, 1 - lengths[0].max() / np.maximum(lengths[1], 1))
    every = polars.concat([c.alias("text") for c in distinct_items])
    parts = tree_parts(every.to_list()) if trees else sequence_parts(every, longest)
    tested: Any = distinct_items[1] if len(distinct_items) > 1 else every.head(0)
    return (
        TextDiagnosis(
            column=train.name,
            parts=parts,
            trained_items=len(distinct_items[0]),
            train_rows=counts[0],
            rows=counts[1] if len(counts) > 1 else np.zeros(0, np.int64),
            texts=tuple(tested.to_list()),
            known=np.asarray(tested.is_in(distinct_items[0].to_list()).to_list(), bool),
            target_beyond=beyond,
        ),
        warnings,
    )


def _as_text(column: "Series") -> "Series":
    """Lists of tokens, and anything else, as texts with a space between tokens."""
    import polars

    if isinstance(column.dtype, polars.List):
        return column.list.eval(polars.element().cast(polars.String)).list.join(" ")
    return column.cast(polars.String).str.replace_all(r"\s+", " ").str.strip_chars()
