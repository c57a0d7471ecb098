"""Orders in which combinations are collected: a plan, at random, and designs of Gao et al."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from recombine import splits
from recombine.splits._encoded_split import EncodedSplit

Order = Int[np.ndarray, "items factors"]


def planner(sizes: tuple[int, ...], count: int, rng: np.random.Generator) -> Order:
    """One combination, and what the planner adds to it: for support, coverage, evenness."""
    names = tuple(f"factor {f}" for f in range(len(sizes)))
    first = np.array([[rng.integers(size) for size in sizes]])
    split = EncodedSplit(names, tuple(tuple(range(size)) for size in sizes), first)
    every = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    asked = every[(every != first).any(axis=1)]
    plan = splits.plan_additions(split, asked, budget=count - 1, trains_asked=True)
    return np.concatenate([first, plan.items])


def random(sizes: tuple[int, ...], count: int, rng: np.random.Generator) -> Order:
    """Any combinations."""
    chosen = rng.permutation(int(np.prod(sizes)))[:count]
    return np.stack(np.unravel_index(chosen, sizes), axis=1)


def diagonal(sizes: tuple[int, ...], count: int, rng: np.random.Generator) -> Order:
    """All factors change at the same time; then the same with values in another order."""
    return _repeated(sizes, count, rng, lambda k: [(v,) * len(sizes) for v in range(k)])


def l_shape(sizes: tuple[int, ...], count: int, rng: np.random.Generator) -> Order:
    """One factor at a time differs from a base; then the same with another base."""

    def once(k: int) -> list[tuple[int, ...]]:
        steps = [(v, f) for f in range(len(sizes)) for v in range(1, k)]
        base = (0,) * len(sizes)
        return [base, *(tuple(v if g == f else 0 for g in range(len(sizes))) for v, f in steps)]

    return _repeated(sizes, count, rng, once)


def stair(sizes: tuple[int, ...], count: int, rng: np.random.Generator) -> Order:
    """Factors change in turn, each from where the others are; then with values in another order."""

    def once(k: int) -> list[tuple[int, ...]]:
        now, found = [0] * len(sizes), [(0,) * len(sizes)]
        for v in range(1, k):
            for f in range(len(sizes)):
                now[f] = v
                found.append(tuple(now))
        return found

    return _repeated(sizes, count, rng, once)


def _repeated(
    sizes: tuple[int, ...],
    count: int,
    rng: np.random.Generator,
    once: Callable[[int], list[tuple[int, ...]]],
) -> Order:
    """A design, again and again with the values in a new order, without repetitions."""
    k = sizes[0]
    if set(sizes) != {k}:
        raise ValueError(f"designs are for factors with equally many values, not {sizes}")
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        orders = [rng.permutation(k) for _ in sizes]
        for item in once(k):
            found[tuple(int(order[v]) for order, v in zip(orders, item, strict=True))] = None
    return np.array(list(found)[:count])


DESIGNS: dict[str, Callable[[tuple[int, ...], int, np.random.Generator], Order]] = {
    "planner": planner,
    "random": random,
    "stair": stair,
    "l": l_shape,
    "diagonal": diagonal,
}
