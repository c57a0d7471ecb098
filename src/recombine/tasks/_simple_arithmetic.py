"""Simple arithmetic: nested sums and products of digits, modulo 10."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Int

from ._expressions import (
    NOTHING,
    Arguments,
    Expressions,
    Notation,
    Places,
    Results,
    Texts,
    by_rejection,
    dealt,
    labelled,
)
from ._labelled_sequences import LabelledSequences


@dataclass(frozen=True)
class SimpleArithmetic:
    """Find the values of expressions such as `((4*7)+2)`, which is 0 modulo 10 (Section 5.2.2).

    Sets differ in depth: how many operations are nested, 2 above. Where an expression is not deep
    enough it becomes the right argument of another operation, as in the published code; so deep
    expressions are mostly chains to the right, and 0 is the most frequent value, in deep tests
    nearly 30 % of all.

    ```python
    sets = SimpleArithmetic().sets()
    {name: len(items) for name, items in sets.items()}
    # train 100200, iid_valid 1000, iid 1000, depth_valid 1000, deeper 1000
    ```
    """

    digits: int = 10
    """The number of digits, from 0 on; values are modulo this number."""
    longest: int = 50
    """The most tokens that an expression has."""
    depths: tuple[int, int] = (2, 5)
    """The least and the greatest depth in training, beside single operations."""
    valid_depths: tuple[int, int] = (6, 6)
    """The least and the greatest depth of expressions for choosing a model."""
    deeper_depths: tuple[int, int] = (7, 8)
    """The least and the greatest depth of expressions for testing it."""
    nested: float = 0.2
    """The probability that an argument is an operation, in training."""
    deeper_nested: float = 0.3
    """The probability that an argument is an operation, in tests of greater depth."""

    def __post_init__(self):
        for first, last in (self.depths, self.valid_depths, self.deeper_depths):
            # Around every operation: two brackets, an operator, and a digit beside it.
            if not 1 <= first <= last or 4 * last + 1 > self.longest:
                raise ValueError(
                    f"no expression of {self.longest} tokens or less has depths {first} to {last}"
                )
        if not 2 <= self.digits < NOTHING:
            raise ValueError(f"there must be 2 digits or more, not {self.digits}")

    def sets(
        self, *, train: int = 100_000, iid: int = 1000, tests: int = 1000, seed: int = 0
    ) -> dict[str, LabelledSequences]:
        """Expressions, as equally many of each depth as possible; all in a set are different.

        At most three quarters of all expressions of a depth are taken: with few digits, not many
        are shallow.

        `train` has all single operations, and expressions of the depths of training. `iid_valid`
        and `iid` are like the latter; the three are disjoint. (The published validation set has
        the single operations, too.) `depth_valid` and `deeper` are of greater depths.

        **Arguments:**

        - `train`: the number of expressions in training beside the single operations.
        - `iid`: the sizes of `iid_valid` and `iid`.
        - `tests`: the sizes of `depth_valid` and `deeper`.
        - `seed`: the seed of the expressions.
        """
        rng = np.random.default_rng(seed)
        shallow, deep = (partial(self._drawn, rng, p) for p in (self.nested, self.deeper_nested))
        parts = dealt(
            {"train": train, "iid_valid": iid, "iid": iid}, self.depths, shallow, rng, self._most
        )
        parts |= dealt({"depth_valid": tests}, self.valid_depths, deep, rng, self._most)
        parts |= dealt({"deeper": tests}, self.deeper_depths, deep, rng, self._most)
        if self.depths[0] > 1:
            parts["train"].append(self._singles())
        return {name: labelled(texts, self._notation(), rng) for name, texts in parts.items()}

    def depths_of(self, items: LabelledSequences) -> Int[np.ndarray, " items"]:
        """How many operations are nested in each expression."""
        tokens = np.asarray(items.tokens)
        return ((tokens == 1).cumsum(axis=1) - (tokens == 2).cumsum(axis=1)).max(axis=1)

    def _notation(self) -> Notation:
        digits = tuple(map(str, range(self.digits)))
        return Notation(
            vocabulary=("", "(", ")", "+", "*", *digits),
            digits=self.digits,
            opening=(1, 1),
            between=(3, 4),
            closing=2,
            arguments=2,
            evaluate=partial(_evaluate, self.digits),
        )

    def _most(self, depth: int) -> float:
        """Three quarters of all expressions of a depth, long ones too."""
        shallower, all_of_them = 0.0, float(self.digits)
        for _ in range(min(depth, 5)):
            # An operation is one of two, on any two expressions that are less deep.
            shallower, all_of_them = all_of_them, self.digits + 2 * all_of_them**2
        return 0.75 * (all_of_them - shallower)

    def _singles(self) -> Texts:
        """Both operations on all pairs of digits."""
        table = Expressions.digits(self._notation())
        operators, left, right = (x.ravel() for x in np.indices((2, self.digits, self.digits)))
        single = table.apply(operators, np.column_stack([left, right]))
        return table.extended(single).texts(table.rows + np.arange(single.rows), self.longest)

    def _drawn(
        self, rng: np.random.Generator, nested: float, wanted: dict[int, int]
    ) -> Iterator[tuple[int, Texts]]:
        """Different expressions, `wanted[depth]` of every depth."""
        shallowest, deepest = min(wanted), max(wanted)
        size = min(20 * sum(wanted.values()), 200_000)

        def draw() -> tuple[Expressions, Places]:
            table = Expressions.digits(self._notation())
            table, places = table.grown(size, deepest, nested, rng)
            while (low := table.heights[places] < shallowest).any():
                table, left = table.grown(int(low.sum()), deepest - 1, nested, rng)
                wrapped = table.apply_any(np.column_stack([left, places[low]]), rng)
                places[low] = table.rows + np.arange(wrapped.rows)
                table = table.extended(wrapped)
            return table, places[table.tokens[places] <= self.longest]

        return by_rejection(wanted, draw, self.longest)


def _evaluate(modulus: int, operators: Places, values: Arguments, depths: Arguments) -> Results:
    """Sums and products of two arguments."""
    left, right = values.T.astype(np.int64)
    value = np.where(operators == 0, left + right, left * right) % modulus
    return Results(value, 1 + depths.max(axis=1))
