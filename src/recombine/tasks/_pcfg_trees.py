"""Trees of functions as deep and as large as those of PCFG SET."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

# How often trees occur among the 14,581 published inputs of `pcfgset`'s development and test sets.
# They follow the depth and length of the sentences of an English text. Row d has the trees of depth
# d + 1: how many have d + 1 functions, d + 2, and so on.
_BY_DEPTH = (
    (225,),
    (1870, 60),
    (2767, 474, 63, 4),
    (2271, 744, 285, 74, 14, 3, 1),
    (1124, 667, 294, 152, 52, 24, 5, 1),
    (539, 351, 252, 106, 55, 30, 9, 2, 0, 0, 1),
    (248, 213, 150, 86, 57, 46, 11, 7, 3, 0, 1),
    (109, 132, 114, 86, 69, 28, 25, 16, 2, 3),
    (57, 61, 64, 61, 31, 31, 12, 8, 4, 7, 3, 0, 2),
    (25, 27, 21, 28, 21, 12, 8, 5, 4, 4, 4, 0, 2),
    (10, 6, 11, 10, 8, 5, 5, 3, 3, 1, 0, 2, 1),
    (2, 4, 2, 6, 5, 3, 6, 2, 4, 2, 1, 0, 2, 2),
    (3, 3, 6, 2, 2, 7, 4, 1, 6, 1, 1, 2),
)
# Row n has the trees of n + 1 functions: how many have 0 functions of two arguments, 1, and so on.
_BY_BINARY = (
    (193, 32),
    (945, 753, 172),
    (456, 1481, 628, 262),
    (382, 972, 777, 367, 247),
    (36, 620, 558, 358, 215, 144),
    (12, 370, 404, 320, 195, 117, 77),
    (8, 176, 243, 223, 141, 92, 45, 39),
    (0, 91, 181, 150, 132, 82, 56, 32, 16),
    (0, 48, 106, 128, 94, 57, 31, 26, 9, 1),
    (0, 21, 76, 87, 72, 44, 37, 20, 7, 2),
    (0, 23, 50, 64, 53, 39, 24, 14, 7, 4, 0, 1),
    (0, 11, 34, 68, 49, 26, 12, 11, 3, 0, 1),
    (0, 6, 28, 26, 28, 11, 8, 6, 2, 3),
    (0, 1, 14, 28, 22, 18, 8, 1, 6, 0, 1),
    (0, 1, 9, 19, 9, 10, 9, 3, 1, 1, 0, 1),
    (0, 0, 5, 8, 7, 5, 2, 1, 1, 1, 0, 1),
    (0, 1, 2, 7, 4, 3, 3, 1, 1, 0, 0, 1),
    (0, 1, 0, 8, 6, 5, 3, 2, 0, 2),
    (0, 0, 2, 4, 3, 2, 1, 0, 1, 1, 0, 2),
    (0, 0, 1, 0, 2, 1, 2, 2, 0, 1, 0, 1),
    (0, 0, 1, 2, 1, 3, 1, 1, 0, 0, 0, 1),
    (0, 0, 1, 2, 2, 0, 2, 0, 0, 0, 1),
    (0, 0, 0, 1, 2, 1, 1, 1),
    (0, 0, 0, 1, 3, 0, 0, 0, 0, 1),
    (0, 0, 0, 1, 0, 0, 0, 0, 1),
)


class TreeSize(NamedTuple):
    """How large a tree of functions is."""

    depth: int
    functions: int
    binary: int
    """How many of the functions have two arguments."""


Tree = tuple[Any, ...]
"""The arguments of a function, which are trees; () is a string."""


def published_sizes(most: int = 25) -> dict[tuple[int, int], float]:
    """Probabilities of depth and number of functions, of trees with at most so many functions."""
    counts = {
        (depth, depth + more): float(count)
        for depth, row in enumerate(_BY_DEPTH, 1)
        for more, count in enumerate(row)
        if count and depth + more <= most
    }
    total = sum(counts.values())
    return {size: count / total for size, count in counts.items()}


def draw_size(depth: int, functions: int, rng: np.random.Generator) -> TreeSize:
    """A size with this depth and number of functions, as often as published."""
    found = [float(_exactly(depth)[functions, b] > 0) for b in range(functions + 1)]
    published = np.zeros(functions + 1)
    if functions <= len(_BY_BINARY):
        row = _BY_BINARY[functions - 1]
        published[: len(row)] = row
    weights = published * found if (published * found).any() else np.array(found)
    return TreeSize(depth, functions, int(rng.choice(functions + 1, p=weights / weights.sum())))


def draw_tree(size: TreeSize, rng: np.random.Generator) -> Tree:
    """One of the trees of a size, all equally likely."""
    return _drawn("exactly", size, rng)


_MOST = 36
"""One more than the most functions that a tree has."""
Depths = Literal["exactly", "at most"]


@cache
def _exactly(depth: int) -> Float[np.ndarray, "functions binary"]:
    """How many trees are exactly so deep, by their functions and those of two arguments."""
    if depth == 0:
        return _leaf()
    below, shallower = _exactly(depth - 1), _at_most(depth - 2)
    found = np.zeros((_MOST, _MOST))
    found[1:] += below[:-1]
    pairs = 2 * _product(below, shallower) + _product(below, below)
    found[1:, 1:] += pairs[:-1, :-1]
    return found


@cache
def _at_most(depth: int) -> Float[np.ndarray, "functions binary"]:
    return sum((_exactly(d) for d in range(depth + 1)), np.zeros((_MOST, _MOST)))


def _leaf() -> Float[np.ndarray, "functions binary"]:
    found = np.zeros((_MOST, _MOST))
    found[0, 0] = 1
    return found


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The product of two polynomials, cut off: every term is a pair of trees."""
    found = np.zeros((_MOST, _MOST))
    for n, b in zip(*np.nonzero(first), strict=True):
        found[n:, b:] += first[n, b] * second[: _MOST - n, : _MOST - b]
    return found


def _counts(kind: Depths, depth: int) -> np.ndarray:
    return _exactly(depth) if kind == "exactly" else _at_most(depth)


class _Choice(NamedTuple):
    """A way to make a tree: its arguments, each with how deep and how large it is."""

    arguments: tuple[tuple[Depths, TreeSize], ...]


@cache
def _choices(
    kind: Depths, size: TreeSize
) -> tuple[Float[np.ndarray, " choices"], tuple[_Choice, ...]]:
    """All ways to make a tree, and the probability that they sum to up to each of them."""
    found = list(_ways(kind, size))
    weights = np.array([weight for weight, _ in found]).cumsum()
    return weights / weights[-1], tuple(choice for _, choice in found)


def _ways(kind: Depths, size: TreeSize) -> Iterator[tuple[float, _Choice]]:
    depth, functions, binary = size
    if kind == "at most":
        for d in range(depth + 1):
            if weight := _exactly(d)[functions, binary]:
                yield weight, _Choice((("exactly", TreeSize(d, functions, binary)),))
        return
    if weight := _exactly(depth - 1)[functions - 1, binary]:
        yield weight, _Choice((("exactly", TreeSize(depth - 1, functions - 1, binary)),))
    if binary == 0:
        return
    kinds: list[tuple[tuple[Depths, int], tuple[Depths, int]]] = [
        (("exactly", depth - 1), ("exactly", depth - 1))
    ]
    if depth >= 2:
        deep, shallow = ("exactly", depth - 1), ("at most", depth - 2)
        kinds += [(deep, shallow), (shallow, deep)]  # type: ignore[list-item]
    for left, right in kinds:
        of_left, of_right = _counts(*left), _counts(*right)
        for n, b in zip(*np.nonzero(of_left[:functions, :binary]), strict=True):
            rest = functions - 1 - int(n), binary - 1 - int(b)
            if weight := of_left[n, b] * of_right[rest]:
                sizes = TreeSize(left[1], int(n), int(b)), TreeSize(right[1], *rest)
                yield weight, _Choice(((left[0], sizes[0]), (right[0], sizes[1])))


def _drawn(kind: Depths, size: TreeSize, rng: np.random.Generator) -> Tree:
    if size.functions == 0:
        return ()
    cumulative, choices = _choices(kind, size)
    place = int(np.searchsorted(cumulative, rng.random(), side="right"))
    arguments = choices[min(place, len(choices) - 1)].arguments
    if kind == "at most":
        return _drawn(*arguments[0], rng)
    return tuple(_drawn(*argument, rng) for argument in arguments)
