"""Many nested expressions at once: a table of operations whose arguments are rows of the table."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, UInt8

from ._labelled_sequences import LabelledSequences

Places = Int[np.ndarray, " expressions"]
Arguments = Int[np.ndarray, "expressions arguments"]


class Results(NamedTuple):
    """What operations come to, and how deep they depend on others."""

    values: Int[np.ndarray, " expressions"]
    depths: Int[np.ndarray, " expressions"]


@dataclass(frozen=True)
class Notation:
    """How operations on digits are written, in tokens, and what they come to."""

    vocabulary: tuple[str, ...]
    digits: int
    """The number of digits, which are the last tokens of the vocabulary."""
    opening: tuple[int, ...]
    """For each operator, the token before its arguments."""
    between: tuple[int, ...]
    """For each operator, the token between any two arguments, or 0 for none."""
    closing: int
    """The token after the arguments."""
    arguments: int
    """The most arguments that an operation has."""
    evaluate: Callable[[Places, Arguments, Arguments], Results]
    """The results of operators on the values and the depths of their arguments.

    A missing argument has the value `NOTHING` and the depth -1."""


NOTHING = 100


class Expressions(NamedTuple):
    """Expressions as rows: first the digits, then no expression at all, then operations."""

    notation: Notation
    operators: Int[np.ndarray, " expressions"]
    arguments: Int[np.ndarray, "expressions arguments"]
    """Rows of the table; missing arguments point to the row of no expression."""
    values: Int[np.ndarray, " expressions"]
    depths: Int[np.ndarray, " expressions"]
    """As the notation counts them; 0 for digits."""
    heights: Int[np.ndarray, " expressions"]
    """Operations on the longest way to a digit."""
    tokens: Int[np.ndarray, " expressions"]
    operations: Int[np.ndarray, " expressions"]
    hashes: np.ndarray
    """64 bits that tell expressions apart."""

    @classmethod
    def digits(cls, notation: Notation) -> "Expressions":
        """The table without operations."""
        count = notation.digits
        place, real = np.arange(count + 1), np.arange(count + 1) < count
        arguments = np.full((count + 1, notation.arguments), count, np.int32)
        zeros = np.zeros(count + 1, np.int16)
        return cls(
            notation,
            zeros.astype(np.int8) - 1,
            arguments,
            np.where(real, place, NOTHING).astype(np.int8),
            np.where(real, 0, -1).astype(np.int8),
            np.where(real, 0, -1).astype(np.int8),
            real.astype(np.int16),
            zeros,
            _mixed(place.astype(np.uint64) + np.uint64(1)),
        )

    @property
    def nothing(self) -> int:
        """The row that stands for no expression."""
        return self.notation.digits

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.operators)

    def apply(
        self, operators: Places, arguments: Int[np.ndarray, "expressions arguments"]
    ) -> "Expressions":
        """Operations on rows of this table, as further rows for `extended`."""
        notation = self.notation
        present = (arguments != self.nothing).sum(axis=1)
        between = np.array(notation.between)[operators] > 0
        values, depths = notation.evaluate(
            operators, self.values[arguments], self.depths[arguments]
        )
        hashes = _mixed(operators.astype(np.uint64) + np.uint64(1000))
        for column in arguments.T:
            hashes = _mixed(hashes * np.uint64(3) + self.hashes[column])
        return self._replace(
            operators=operators.astype(np.int8),
            arguments=arguments.astype(np.int32),
            values=values.astype(np.int8),
            depths=depths.astype(np.int8),
            heights=(1 + self.heights[arguments].max(axis=1)).astype(np.int8),
            tokens=self.tokens[arguments].sum(axis=1, dtype=np.int16)
            + (2 + between * (present - 1)).astype(np.int16),
            operations=1 + self.operations[arguments].sum(axis=1, dtype=np.int16),
            hashes=hashes,
        )

    def grown(
        self, count: int, height: int, nested: float, rng: np.random.Generator
    ) -> tuple["Expressions", Places]:
        """Random expressions: digits and, at most `height` deep, operations.

        First it is drawn, level by level, which expressions are operations; then operations are
        made, from the innermost on.

        **Arguments:**

        - `count`: the number of expressions.
        - `height`: the most operations on the way to a digit.
        - `nested`: the probability that an expression is an operation where it may be one.

        **Returns:** this table with rows for the operations, and the places of the expressions.
        """
        notation, levels = self.notation, []
        for _ in range(height):
            is_nested = rng.random(count) <= nested
            present = rng.integers(2, notation.arguments + 1, is_nested.sum())
            levels.append((is_nested, present))
            count = int(present.sum())
        table, places = self, rng.integers(0, notation.digits, count)
        for is_nested, present in reversed(levels):
            arguments = np.full((len(present), notation.arguments), self.nothing)
            arguments[np.arange(notation.arguments) < present[:, None]] = places
            places = rng.integers(0, notation.digits, len(is_nested))
            places[is_nested] = table.rows + np.arange(len(present))
            table = table.extended(table.apply_any(arguments, rng))
        return table, places

    def apply_any(
        self, arguments: Int[np.ndarray, "expressions arguments"], rng: np.random.Generator
    ) -> "Expressions":
        """Random operators on rows of this table."""
        return self.apply(rng.integers(0, len(self.notation.opening), len(arguments)), arguments)

    def take(self, places) -> "Expressions":
        """Some rows of this table; their arguments still refer to the whole table."""
        return Expressions(self.notation, *(column[places] for column in self[1:]))

    def extended(self, more: "Expressions") -> "Expressions":
        """This table and further rows of it."""
        columns = zip(self[1:], more[1:], strict=True)
        return Expressions(self.notation, *(np.concatenate(pair) for pair in columns))

    def written(self, places: Places, width: int) -> UInt8[np.ndarray, "expressions width"]:
        """Expressions as rows of tokens, filled up with 0.

        All are written at once, from the outermost operations to the digits.
        """
        notation = self.notation
        opening, between = (np.array(t, np.uint8) for t in (notation.opening, notation.between))
        first_digit = len(notation.vocabulary) - notation.digits
        text = np.zeros(len(places) * width, np.uint8)
        node, at = places, np.arange(len(places), dtype=np.int64) * width
        while len(node):
            digit = node < notation.digits
            text[at[digit]] = first_digit + node[digit]
            node, at = node[~digit], at[~digit]
            operator = self.operators[node]
            text[at] = opening[operator]
            text[at + self.tokens[node] - 1] = notation.closing
            arguments = self.arguments[node]
            present = arguments != self.nothing
            separate = between[operator][:, None]
            sizes = self.tokens[arguments] + (present & (separate > 0))
            starts = at[:, None] + 1 + sizes.cumsum(axis=1) - sizes
            after = present[:, 1:] & (separate > 0)
            text[starts[:, 1:][after] - 1] = np.broadcast_to(separate, after.shape)[after]
            node, at = arguments[present], starts[present]
        return text.reshape(len(places), width)

    def texts(self, places: Places, width: int) -> "Texts":
        """Expressions with their values."""
        return Texts(self.written(places, width), self.tokens[places], self.values[places])


class Texts(NamedTuple):
    """Expressions as rows of tokens, filled up with 0."""

    tokens: UInt8[np.ndarray, "expressions width"]
    lengths: Int[np.ndarray, " expressions"]
    values: Int[np.ndarray, " expressions"]


def labelled(
    texts: Sequence[Texts], notation: Notation, rng: np.random.Generator
) -> LabelledSequences:
    """Expressions in random order, with their values as labels."""
    tokens, lengths, values = map(np.concatenate, zip(*texts, strict=True))
    order = rng.permutation(len(tokens))
    return LabelledSequences(
        jnp.asarray(tokens[:, : lengths.max()][order], jnp.int32),
        jnp.asarray(lengths[order], jnp.int32),
        jnp.asarray(values[order], jnp.int32),
        notation.vocabulary,
        notation.digits,
    )


def by_rejection(
    wanted: dict[int, int], draw: Callable[[], tuple[Expressions, Places]], width: int
) -> Iterator[tuple[int, Texts]]:
    """Different expressions, `wanted[depth]` of every depth, from calls of `draw()`."""
    found: dict[int, list[Texts]] = {depth: [] for depth in wanted}
    missing, known = dict(wanted), np.empty(0, np.uint64)
    while any(missing.values()):
        table, places = draw()
        of_use = [depth for depth in wanted if missing[depth]]
        places = places[np.isin(table.depths[places], of_use)]
        _, first = np.unique(table.hashes[places], return_index=True)
        places = places[np.sort(first)]
        places = places[~np.isin(table.hashes[places], known)]
        known = np.append(known, table.hashes[places])
        for depth in of_use:
            chosen = places[table.depths[places] == depth][: missing[depth]]
            missing[depth] -= len(chosen)
            found[depth].append(table.texts(chosen, width))
    for depth, texts in found.items():
        yield depth, Texts(*map(np.concatenate, zip(*texts, strict=True)))


def dealt(
    sizes: dict[str, int],
    depths: tuple[int, int],
    draw: Callable[[dict[int, int]], Iterable[tuple[int, Texts]]],
    rng: np.random.Generator,
    most: Callable[[int], float] = lambda depth: math.inf,
) -> dict[str, list[Texts]]:
    """Sets that share no expression, each with equally many of every depth, if there are as many.

    **Arguments:**

    - `sizes`: the sizes of the sets.
    - `depths`: the least and the greatest depth.
    - `draw`: gives different expressions, as many of each depth as it is told.
    - `rng`: deals expressions to the sets; those that are drawn first are often short.
    - `most`: how many expressions of a depth can be drawn; what is missing is made up for by
        greater depths.
    """
    first, last = depths
    missing, shares = list(sizes.values()), {}
    for depth in range(first, last + 1):
        share = [-(-size // (last + 1 - depth)) for size in missing]
        if sum(share) > most(depth):
            if depth == last:
                raise ValueError(
                    f"there are not {sum(share)} expressions of depth {depth}; ask for fewer, or "
                    "let there be more digits"
                )
            share = [int(part * most(depth) / sum(share)) for part in share]
        missing = [size - part for size, part in zip(missing, share, strict=True)]
        shares[depth] = share
    parts: dict[str, list[Texts]] = {name: [] for name in sizes}
    for depth, texts in draw({depth: sum(share) for depth, share in shares.items()}):
        groups = np.split(rng.permutation(len(texts.values)), np.cumsum(shares[depth])[:-1])
        for name, group in zip(sizes, groups, strict=True):
            parts[name].append(Texts(*(column[group] for column in texts)))
    return parts


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits, scattered by a hash."""
    numbers = (numbers ^ (numbers >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return numbers ^ (numbers >> np.uint64(29))
