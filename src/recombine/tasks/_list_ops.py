"""ListOps: nested operations on lists of digits, by how deep their values depend on others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

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

Operator = Literal["MIN", "MAX", "MED", "SM"]
OPERATORS = get_args(Operator)


@dataclass(frozen=True)
class ListOps:
    """Find the values of nested lists, such as 5 for `[MAX 2 [SM 7 8 ] 4 ]` (Section 5.2.3).

    Operators are minimum, maximum, median (of an even number the mean of the two middle ones, cut)
    and sum modulo 10. Sets differ in dependency depth: how many operations the value goes through.
    It is 2 above, and 1 for `[MAX 2 [SM 7 8 ] 9 ]`, whose value does not depend on the sum.

    ```python
    sets = ListOps().sets(train=1000)
    sets["train"].text(0)
    ```

    Deep lists are rare: of those that the published sampler draws, one in ten thousand has depth 7.
    By default a list of some depth is instead put among random arguments of an operator until one
    is found that is deeper by 1, from depth 1 on. That changes how lists are distributed a little:
    long arguments beside the value's path are rarer.
    """

    operators: tuple[Operator, ...] = OPERATORS
    digits: int = 10
    """The number of digits, from 0 on; sums are modulo this number."""
    most_arguments: int = 5
    """The most arguments that an operation has; the fewest are 2."""
    nested: float = 0.3
    """The probability that an argument is an operation."""
    longest: int = 50
    """The most tokens and operations, counted together, that a list has.

    The published code counts like this."""
    depths: tuple[int, int] = (1, 5)
    """The least and the greatest depth in training."""
    valid_depths: tuple[int, int] = (6, 6)
    """The least and the greatest depth of lists for choosing a model."""
    deeper_depths: tuple[int, int] = (7, 8)
    """The least and the greatest depth of lists for testing it."""
    by_level: bool = True
    """If false, draw lists as the published code does, and keep those of the right depth."""

    def __post_init__(self):
        for first, last in (self.depths, self.valid_depths, self.deeper_depths):
            # An operation counts three, and has one digit beside the one that is nested in it.
            if not 1 <= first <= last or 4 * last + 1 > self.longest:
                raise ValueError(
                    f"no list of length {self.longest} or less has depths {first} to {last}"
                )
        if self.most_arguments not in range(2, 8) or not 2 <= self.digits < NOTHING:
            raise ValueError(
                "lists need 2 to 7 arguments and 2 digits at least: "
                f"most_arguments={self.most_arguments}, digits={self.digits}"
            )
        if not self.by_level and self.most_arguments < 3:
            raise ValueError("the published sampler needs 3 arguments; use by_level=True")

    def sets(
        self, *, train: int = 1_000_000, iid: int = 1000, tests: int = 1000, seed: int = 0
    ) -> dict[str, LabelledSequences]:
        """Lists, as equally many of each depth as possible; all in a set are different.

        `train`, `iid_valid` and `iid` are disjoint and have the depths of training; `depth_valid`
        and `deeper` have greater ones.

        **Arguments:**

        - `train`: the size of `train`.
        - `iid`: the sizes of `iid_valid` and `iid`.
        - `tests`: the sizes of `depth_valid` and `deeper`.
        - `seed`: the seed of the lists.
        """
        rng = np.random.default_rng(seed)
        draw = partial(self._by_level if self.by_level else self._by_rejection, rng)
        parts = dealt({"train": train, "iid_valid": iid, "iid": iid}, self.depths, draw, rng)
        parts |= dealt({"depth_valid": tests}, self.valid_depths, draw, rng)
        parts |= dealt({"deeper": tests}, self.deeper_depths, draw, rng)
        return {name: labelled(texts, self._notation(), rng) for name, texts in parts.items()}

    def read(self, texts: Sequence[str]) -> LabelledSequences:
        """Lists in words, such as `[MAX 2 [SM 7 8 ] 4 ]`, with their values."""
        notation = self._notation()
        codes = {word: code for code, word in enumerate(notation.vocabulary) if code}
        words = [text.split() for text in texts]
        if unknown := {word for row in words for word in row} - set(codes):
            raise ValueError(f"not words of these lists: {' '.join(sorted(unknown))}")
        rows = [[codes[word] for word in row] for row in words]
        table, places = self._parsed(rows)
        width = max(map(len, rows))
        return LabelledSequences(
            jnp.array([row + [0] * (width - len(row)) for row in rows], jnp.int32),
            jnp.array([len(row) for row in rows], jnp.int32),
            jnp.asarray(table.values[places], jnp.int32),
            notation.vocabulary,
            self.digits,
        )

    def depths_of(self, items: LabelledSequences) -> Int[np.ndarray, " items"]:
        """The dependency depth of each list, framed or not."""
        words = len(self._notation().vocabulary)
        rows = np.asarray(items.tokens).tolist()
        table, places = self._parsed([[t for t in row if 0 < t < words] for row in rows])
        return table.depths[places].astype(int)

    def _parsed(self, rows: Sequence[Sequence[int]]) -> tuple[Expressions, Places]:
        """Lists of tokens as a table, and where in it they are."""
        table = Expressions.digits(self._notation())
        read = _Reader(table.notation)
        found = np.array([read.row(row) for row in rows])
        operators, arguments, heights = map(
            np.array, (read.operators, read.arguments, read.heights)
        )
        # What is nested comes first: operations of one height are made at once.
        order = np.argsort(heights, kind="stable")
        place = np.arange(len(heights))
        place[order] = np.arange(len(heights))
        for height in range(1, heights.max() + 1):
            made = order[heights[order] == height] - table.nothing - 1
            table = table.extended(table.apply(operators[made], place[arguments[made]]))
        return table, place[found]

    def _notation(self) -> Notation:
        """Padding, operators, the end of a list, digits."""
        kinds = len(self.operators)
        return Notation(
            vocabulary=(
                "",
                *(f"[{operator}" for operator in self.operators),
                "]",
                *map(str, range(self.digits)),
            ),
            digits=self.digits,
            opening=tuple(range(1, kinds + 1)),
            between=(0,) * kinds,
            closing=kinds + 1,
            arguments=self.most_arguments,
            evaluate=partial(_evaluate, self.operators, self.digits),
        )

    def _by_level(
        self, rng: np.random.Generator, wanted: dict[int, int]
    ) -> Iterator[tuple[int, Texts]]:
        """Lists, `wanted[depth]` of every depth, found by wrapping those whose depth is 1 lower."""
        height = max(wanted)
        # Few lists are drawn at a time for small sets, but enough that they differ.
        least = 20_000
        table = Expressions.digits(self._notation())
        count = max(least, 2 * max(wanted.values()))
        table, fresh = table.grown(count, height - 1, self.nested, rng)
        fresh = fresh[(table.tokens + table.operations)[fresh] <= self.longest - 4]
        seeds = np.arange(self.digits)
        for depth in range(1, height + 1):
            goal = max(wanted.get(depth, 0), min(least, max(wanted.values()) * 20))
            found = np.empty(0, np.int64)
            while len(found) < goal:
                size = 3 * (goal - len(found)) + 1000
                wraps = self._wrapped(table, seeds[rng.integers(0, len(seeds), size)], fresh, rng)
                right = (wraps.depths == depth) & self._fits(wraps) & (wraps.heights <= height)
                wraps = wraps.take(right)
                new = np.append(found, np.arange(table.rows, table.rows + wraps.rows))
                table = table.extended(wraps)
                _, first = np.unique(table.hashes[new], return_index=True)
                if len(first) < len(found) + max(goal // 10_000, 1):
                    raise ValueError(
                        f"there are hardly {goal} lists of depth {depth}; ask for fewer, or let "
                        "them be longer"
                    )
                found = new[np.sort(first)]
            # What is nested as deeply as possible cannot be wrapped.
            seeds = found[table.heights[found] < height]
            if depth in wanted:
                yield depth, table.texts(found[: wanted[depth]], self._width)

    def _wrapped(
        self,
        table: Expressions,
        seeds: Places,
        fresh: Int[np.ndarray, " arguments"],
        rng: np.random.Generator,
    ) -> Expressions:
        """Random operators on random arguments, one of which is a seed."""
        present = rng.integers(2, self.most_arguments + 1, len(seeds))
        arguments = fresh[rng.integers(0, len(fresh), (len(seeds), self.most_arguments))]
        arguments[np.arange(len(seeds)), rng.integers(0, present)] = seeds
        arguments[np.arange(self.most_arguments) >= present[:, None]] = table.nothing
        # Most that are too long need not be made.
        lengths = (table.tokens + table.operations)[arguments].sum(axis=1) + 3
        arguments = arguments[lengths <= self.longest]
        return table.apply_any(arguments, rng)

    def _by_rejection(
        self, rng: np.random.Generator, wanted: dict[int, int]
    ) -> Iterator[tuple[int, Texts]]:
        """Lists, `wanted[depth]` of every depth, from those that the published sampler draws.

        Lists that are not nested deeply enough are put among 2 or more random arguments, not as
        the last one.
        """
        shallowest, deepest = min(wanted), max(wanted)

        def draw() -> tuple[Expressions, Places]:
            table = Expressions.digits(self._notation())
            table, lists = table.grown(20_000, deepest, self.nested, rng)
            while (low := table.heights[lists] < shallowest).any():
                present = rng.integers(2, max(self.most_arguments, 3), low.sum())
                table, fresh = table.grown(int(present.sum()), deepest - 1, self.nested, rng)
                places, at = np.arange(self.most_arguments), rng.integers(0, present)[:, None]
                arguments = np.full((len(present), self.most_arguments), table.nothing)
                arguments[(places <= present[:, None]) & (places != at)] = fresh
                np.put_along_axis(arguments, at, lists[low][:, None], axis=1)
                lists[low] = table.rows + np.arange(len(arguments))
                table = table.extended(table.apply_any(arguments, rng))
                # What is too long already would not become shorter.
                lists = lists[self._fits(table)[lists]]
            return table, lists[self._fits(table)[lists]]

        return by_rejection(wanted, draw, self._width)

    def _fits(self, table: Expressions) -> Bool[np.ndarray, " expressions"]:
        """Whether lists are short enough."""
        return table.tokens + table.operations <= self.longest

    @property
    def _width(self) -> int:
        """The most tokens: every list has an operation."""
        return self.longest - 1


class _Reader:
    """Collects the operations of lists of tokens, those that are nested before those around."""

    def __init__(self, notation: Notation):
        self.notation = notation
        self.operators: list[int] = []
        self.arguments: list[list[int]] = []
        self.heights = [0] * (notation.digits + 1)

    def row(self, tokens: Sequence[int]) -> int:
        """Where the operation of a list is: after the digits and no expression at all."""
        closing, most = self.notation.closing, self.notation.arguments
        opened: list[list[int]] = [[0]]
        for token in tokens:
            if token < closing:
                opened.append([token - 1])
            elif token > closing:
                opened[-1].append(token - closing - 1)
            else:
                operator, *inside = opened.pop()
                if not opened or not 2 <= len(inside) <= most:
                    raise ValueError(f"a list is an operator, 2 to {most} arguments and `]`")
                opened[-1].append(len(self.heights))
                self.operators.append(operator)
                self.arguments.append(inside + [self.notation.digits] * (most - len(inside)))
                self.heights.append(1 + max(self.heights[place] for place in inside))
        if len(opened) > 1 or len(opened[0]) != 2 or opened[0][1] <= self.notation.digits:
            raise ValueError("every text is one list, closed by `]`")
        return opened[0][1]


def _evaluate(
    names: tuple[Operator, ...],
    modulus: int,
    operators: Places,
    values: Arguments,
    depths: Arguments,
) -> Results:
    """What operators come to, and their depth: that of the arguments that decide it, and 1 more.

    A minimum and a maximum are decided by the first argument that has it, a median by the middle
    one or two, a sum by all.
    """
    rows, present = np.arange(len(values)), (values != NOTHING).sum(axis=1)
    kinds = np.array([OPERATORS.index(name) for name in names])[operators]
    # Sorted by value and then by place, which the three lowest bits keep.
    keys = np.sort(values.astype(np.int16) * 8 + np.arange(values.shape[1], dtype=np.int16), axis=1)
    low, high = keys[rows, (present - 1) // 2], keys[rows, present // 2]
    value, depth = np.empty(len(values), int), np.empty(len(values), int)
    least, most, middle, total = (kinds == kind for kind in range(4))
    value[least] = keys[least, 0] >> 3
    depth[least] = depths[least, keys[least, 0] & 7]
    largest = np.where(values[most] == NOTHING, -1, values[most]).argmax(axis=1)
    value[most], depth[most] = values[most, largest], depths[most, largest]
    value[middle] = ((low[middle] >> 3) + (high[middle] >> 3)) // 2
    depth[middle] = np.maximum(depths[middle, low[middle] & 7], depths[middle, high[middle] & 7])
    sums = np.where(values[total] == NOTHING, 0, values[total]).sum(axis=1)
    value[total], depth[total] = sums % modulus, depths[total].max(axis=1)
    return Results(value, depth + 1)
