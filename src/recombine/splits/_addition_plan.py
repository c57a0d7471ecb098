"""What to add to training: first support, then coverage, then evenness."""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_array

from ._encoded_split import EncodedSplit, Items, are_among, distinct
from ._item_rules import ItemRules
from ._item_support import ItemSupport
from ._set_counts import SetCounts, factor_sets

Why = Literal["support", "coverage", "evenness"]

_POOL = 20_000
_ENTRIES = 6_000_000
"""Entries that the table of candidates may have, one per open effect and candidate."""
_TOLERANCE = 1e-6
_NOT_ASKED = 1e-3
"""The weight of a pair that no tested item has, where one that some have has the weight 1."""
_MOST_OPEN = 2000


@dataclass(frozen=True)
class Addition:
    """A combination to train as well."""

    values: dict[str, Any]
    """Its value of every factor."""
    why: Why
    """What it was chosen for."""
    cost: float


@dataclass(frozen=True)
class AdditionPlan:
    """Combinations to train as well, in the order in which they were chosen."""

    additions: tuple[Addition, ...]
    needed: int | None
    """How many the support of all that is asked for takes; None if it is out of reach."""
    fewest: bool
    """Whether no smaller number gives this support, or no cheaper one where there are costs."""
    supported_before: float
    """The share of the asked combinations that are supported without them."""
    supported_after: float
    pairs_before: float
    """The share of the asked pairs of values that are trained without them."""
    pairs_after: float
    items: Items
    """The combinations as numbers."""
    has_costs: bool = False
    """Whether combinations cost differently."""

    @property
    def cost(self) -> float:
        """What all of them cost."""
        return float(sum(addition.cost for addition in self.additions))


def plan_additions(
    split: EncodedSplit,
    asked: Items,
    *,
    budget: float | int | None = None,
    rules: ItemRules | None = None,
    trains_asked: bool = False,
) -> AdditionPlan:
    """The fewest or cheapest additions that support what is asked, then those that cover most.

    A combination adds to the support if it is not determined by those that are trained: then it
    adds one dimension to the span of the trained rows. Taking the cheapest such combination again
    and again gives the cheapest support of everything, because linear independence is a matroid. If
    only some combinations are asked for, those that the asked ones do not need are left out again.

    **Arguments:**

    - `split`: the split.
    - `asked`: the combinations that are to be supported.
    - `budget`: how much may be spent; one per addition unless the rules say otherwise. By default,
        what support takes, and nothing beyond.
    - `rules`: costs and impossible combinations.
    - `trains_asked`: whether asked combinations may be trained, too.
    """
    return _Planner(split, asked, rules or ItemRules(), trains_asked).plan(budget)


class _Planner:
    def __init__(
        self, split: EncodedSplit, asked: Items, rules: ItemRules, trains_asked: bool
    ) -> None:
        self.split, self.asked = split, asked[~are_among(asked, split.trained)]
        self.starts = np.cumsum([0, *split.sizes[:-1]])
        pool = _candidates(split, self.asked)
        if not trains_asked:
            pool = pool[~are_among(pool, asked)]
        self.space = _OpenSpace(split)
        allowed = pool[rules.allows(split, pool)]
        self.pool = _thinned(split, allowed, _ENTRIES // max(1, self.space.kernel.shape[1]))
        self.cost = rules.cost(split, self.pool)
        self.complete = len(self.pool) == len(allowed) < _POOL or not rules.costs
        self.wanted = _wanted_pairs(split, asked)
        self.keys = [counts.keys(self.pool) for counts, _ in self.wanted]
        self.counts = np.bincount(
            (split.trained + self.starts).ravel(), minlength=sum(split.sizes)
        ).astype(float)
        self.uneven = np.repeat(split.sizes, split.sizes) / max(len(split.trained), 1)

    def plan(self, budget: float | int | None) -> AdditionPlan:
        before_pairs, before = self._covered(), self._supported(np.zeros(0, int))
        chosen, reached, fewest = self._support()
        needed = len(chosen) if reached else None
        left = np.inf if budget is None else float(budget)
        taken: list[tuple[int, Why]] = []
        for n in chosen:
            if self.cost[n] <= left:
                taken.append((n, "support"))
                left -= self.cost[n]
        used = np.zeros(len(self.pool), bool)
        for n, _ in taken:
            self._train(n)
            used[n] = True
        while budget is not None and len(self.pool):
            affordable = ~used & (self.cost <= left)
            if not affordable.any() or len(taken) >= _POOL:
                break
            gain = np.where(affordable, self._gains() / np.maximum(self.cost, 1e-9), -1)
            why: Why = "coverage" if gain.max() > 0 else "evenness"
            best = affordable & (gain >= gain.max() - 1e-12)
            crowd = np.where(best, self._crowd() * np.maximum(self.cost, 1e-9), np.inf)
            n = int(crowd.argmin())
            taken.append((n, why))
            left -= self.cost[n]
            used[n] = True
            self._train(n)
        order = np.array([n for n, _ in taken], int)
        return AdditionPlan(
            additions=tuple(
                Addition(self.split.named(self.pool[n].tolist()), why, float(self.cost[n]))
                for n, why in taken
            ),
            needed=needed,
            fewest=fewest,
            supported_before=before,
            supported_after=self._supported(order),
            pairs_before=before_pairs,
            pairs_after=self._covered(),
            items=self.pool[order],
            has_costs=len(set(self.cost.tolist())) > 1,
        )

    def _support(self) -> tuple[list[int], bool, bool]:
        """Those that support takes, whether it is reached, and whether fewer cannot reach it."""
        goal = _span(self.space.of(self.asked))
        residual, dimension = self.space.of(self.pool), len(goal)
        # Coordinates of candidates in the space that is still to be reached.
        inside, left = residual @ goal.T, dimension
        chosen: list[int] = []
        directions: list[np.ndarray] = []
        while left:
            n = self._most_useful(residual, inside)
            if n is None:
                break
            size = np.linalg.norm(residual[n])
            direction, within = residual[n] / size, inside[n] / size
            residual -= np.outer(residual @ direction, direction)
            chosen.append(n)
            directions.append(direction)
            self._train(n)
            if np.linalg.norm(within) > 1 - _TOLERANCE:
                inside -= np.outer(inside @ within, within)
                left -= 1
            else:
                known = np.stack(directions)
                remaining = _span(goal - (goal @ known.T) @ known)
                inside, left = residual @ remaining.T, len(remaining)
        for n in chosen:
            self._train(n, -1)
        reached = not left
        if reached and len(chosen) > dimension:
            chosen = self._without_spare(chosen)
        everything = dimension == self.space.open
        fewest = reached and (len(chosen) == dimension or everything)
        if len(set(self.cost.tolist())) > 1:
            fewest = reached and everything and self.complete
        return chosen, reached, fewest

    def _most_useful(self, residual: np.ndarray, inside: np.ndarray) -> int | None:
        """The candidate to take next: one that leads nowhere else, a cheap one, one that covers."""
        sizes = np.sqrt(np.einsum("ij,ij->i", residual, residual))
        parts = np.sqrt(np.einsum("ij,ij->i", inside, inside))
        useful = (sizes > _TOLERANCE) & (parts > _TOLERANCE)
        if not useful.any():
            return None
        outside = np.sqrt(np.maximum(sizes**2 - parts**2, 0)) / np.maximum(sizes, _TOLERANCE)
        best = useful & (outside <= outside[useful].min() + _TOLERANCE)
        best &= self.cost <= self.cost[best].min() + 1e-12
        gains = np.where(best, self._gains(), -1)
        best &= gains >= gains.max() - 1e-12
        return int(np.where(best, self._crowd(), np.inf).argmin())

    def _without_spare(self, chosen: list[int]) -> list[int]:
        """Leaves out those without which the asked ones stay supported, the dearest first."""
        goal = self.space.of(self.asked)
        for n in sorted(chosen, key=lambda n: -self.cost[n]):
            rest = [m for m in chosen if m != n]
            if _lies_in(goal, self.space.of(self.pool[rest])):
                chosen = rest
        return chosen

    def _supported(self, added: np.ndarray) -> float:
        """The share of the asked combinations that are supported once some are added."""
        if not len(self.asked):
            return 1.0
        known = _span(self.space.of(self.pool[added]))
        open_ = self.space.of(self.asked)
        return float(np.mean(np.linalg.norm(open_ - (open_ @ known.T) @ known, axis=1) < 1e-5))

    def _covered(self) -> float:
        """The share of the asked pairs that are trained."""
        asked = [(counts.counts > 0, weight >= 1) for counts, weight in self.wanted]
        total = sum(int(weight.sum()) for _, weight in asked)
        return sum(int((seen & weight).sum()) for seen, weight in asked) / total if total else 1.0

    def _gains(self) -> Float[np.ndarray, " pool"]:
        """The weight of the pairs that each candidate would be the first to train."""
        gains = np.zeros(len(self.pool))
        for (counts, weight), keys in zip(self.wanted, self.keys, strict=True):
            gains += np.where(counts.counts > 0, 0, weight)[keys]
        return gains

    def _crowd(self) -> Float[np.ndarray, " pool"]:
        """How often the values of each candidate are trained, relative to even shares."""
        return (self.counts * self.uneven)[self.pool + self.starts].sum(axis=1)

    def _train(self, n: int, times: int = 1) -> None:
        self.counts[self.pool[n] + self.starts] += times
        for (counts, _), keys in zip(self.wanted, self.keys, strict=True):
            counts.counts[keys[n]] += times


class _OpenSpace:
    """The effects that trained rows leave open, with every value and component in it.

    Values that the trained rows show to have equal effects are one column, as in `AdditiveEffects`.
    """

    def __init__(self, split: EncodedSplit) -> None:
        support = ItemSupport(split.trained, split.sizes)
        self.columns, self.starts = support.effects._columns, support.offsets
        rows = distinct(self.columns[support.telling + self.starts])[0]
        count = int(self.columns.max()) + 1
        if count > _MOST_OPEN:
            raise ValueError(
                f"{count} values are too little related for a plan of what to add; leave out"
                " factors with many values"
            )
        places = np.repeat(np.arange(len(rows)), rows.shape[1]), rows.ravel()
        ones = coo_array((np.ones(rows.size), places), shape=(len(rows), count)).tocsr()
        gram = (ones.T @ ones).toarray()
        values, vectors = np.linalg.eigh(gram)
        self.kernel = vectors[:, values < max(1e-9 * values.max(), 1e-9)]
        offsets = len(split.sizes) - 1
        self.open = self.kernel.shape[1] - offsets

    def of(self, items: Items) -> np.ndarray:
        """The open effects of combinations; zero if they are determined."""
        return self.kernel[self.columns[items + self.starts]].sum(axis=1)


def _span(vectors: np.ndarray) -> np.ndarray:
    """Orthonormal vectors with the same span."""
    if not len(vectors):
        return np.zeros((0, vectors.shape[1]))
    if len(vectors) > vectors.shape[1]:
        values, directions = np.linalg.eigh(vectors.T @ vectors)
        return directions[:, values > _TOLERANCE**2 * len(vectors)].T
    _, sizes, directions = np.linalg.svd(vectors, full_matrices=False)
    return directions[sizes > _TOLERANCE]


def _lies_in(vectors: np.ndarray, others: np.ndarray) -> bool:
    known = _span(others)
    return bool(np.all(np.linalg.norm(vectors - (vectors @ known.T) @ known, axis=1) < 1e-5))


def _candidates(split: EncodedSplit, asked: Items) -> Items:
    """Combinations that may be added: all, or of very many a choice that reaches every value."""
    sizes, rng = split.sizes, np.random.default_rng(0)
    if prod(sizes) <= _POOL:
        found = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
        return found[~are_among(found, split.trained)]
    parts = [np.stack([rng.integers(size, size=_POOL // 4) for size in sizes], axis=1)]
    hub = split.trained[np.argmax(split.trained_rows)]
    for f, size in enumerate(sizes):
        star = np.repeat(hub[None], size, axis=0)
        star[:, f] = np.arange(size)
        around = split.trained[rng.integers(len(split.trained), size=8 * size)].copy()
        around[:, f] = np.repeat(np.arange(size), 8)
        parts += [star, around]
    if len(asked):
        near = asked[rng.integers(len(asked), size=_POOL // 4)].copy()
        place = rng.integers(len(sizes), size=len(near))
        near[np.arange(len(near)), place] = rng.integers(np.array(sizes)[place])
        parts.append(near)
    found = distinct(np.concatenate(parts))[0]
    return found[~are_among(found, split.trained)]


def _thinned(split: EncodedSplit, pool: Items, most: int) -> Items:
    """A random part of the candidates, and all that have the values of one trained item but one."""
    if len(pool) <= most:
        return pool
    hub = split.trained[np.argmax(split.trained_rows)]
    kept = np.random.default_rng(0).random(len(pool)) < most / len(pool)
    return pool[kept | ((pool != hub).sum(axis=1) == 1)]


def _wanted_pairs(split: EncodedSplit, asked: Items) -> list[tuple[SetCounts, np.ndarray]]:
    """The trained counts of all pairs of values, and how much each is wanted."""
    found = []
    for pair in factor_sets(len(split.factors), 2):
        counts = split.trained_pairs[pair].copy()
        if not counts.is_listed:
            continue
        weight = np.full(counts.possible, _NOT_ASKED)
        weight[SetCounts(asked, pair, split.sizes).occurring] = 1
        found.append((counts, weight))
    return found
