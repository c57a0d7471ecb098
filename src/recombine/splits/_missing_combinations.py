"""Which combinations of factors to add so that the others are supported, and as few as possible."""

from collections import deque
from collections.abc import Hashable, Sequence

import numpy as np

from ._additive_effects import AdditiveEffects
from ._factors import Combination, FactorTable

Part = tuple[tuple[Hashable, ...], ...]
"""Values that combinations connect: those of the first factor, of the second, ..."""


def joining_combinations(
    components: Sequence[Part], unseen: Sequence[Sequence[Hashable]]
) -> tuple[Combination, ...]:
    """The fewest combinations that connect all components and the unseen values of every factor.

    A combination of F factors connects a hub to at most F - 1 others, at most one unseen value of
    each factor among them. So it takes at least (components - 1 + unseen) / (F - 1)
    combinations, and at least as many as one factor has unseen values. Serving the factors with the
    most unseen values first, and components where none is left, takes no more than that.
    """
    hub, *others = sorted(components, key=lambda part: -sum(map(len, part)))
    parts, left = deque(others), [deque(values) for values in unseen]
    added: list[Combination] = []
    while parts or any(left):
        combination = [own[len(added) % len(own)] for own in hub]
        # The first stays with the hub: the factor that has the fewest values left to join.
        for f in sorted(range(len(left)), key=lambda f: len(left[f]))[1:]:
            if left[f]:
                combination[f] = left[f].popleft()
            elif parts:
                combination[f] = parts.popleft()[f][0]
        added.append(tuple(combination))
    return tuple(added)


def determining_combinations(
    trained: FactorTable, joining: Sequence[Combination]
) -> tuple[Combination, ...]:
    """The fewest combinations with which all are determined, after those that connect.

    Each adds at most one dimension to the span of the codes. Those of `joining` do, because a
    combination that is determined lies within one component; and so does every other one here. The
    combinations that differ from the first one in one value span all.

    **Arguments:**

    - `trained`: the trained combinations, in a table that knows the unseen values as well.
    - `joining`: combinations that connect all components and values.
    """
    numbers = np.concatenate([trained.numbers, trained.numbers_of(joining)])
    effects = AdditiveEffects(numbers, [len(values) for values in trained.values])
    candidates = np.repeat(numbers[:1], sum(map(len, trained.values)), axis=0)
    start = 0
    for f, values in enumerate(trained.values):
        candidates[start : start + len(values), f] = np.arange(len(values))
        start += len(values)
    chosen = candidates[effects.independent(candidates)]
    return (*joining, *(trained.combination(row) for row in chosen.tolist()))
