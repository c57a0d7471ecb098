"""Which combinations of factors to add so that the others are supported, and as few as possible."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from ._factors import Combination, FactorTable

_TOLERANCE = 1e-6

Part = tuple[tuple[Hashable, ...], ...]
"""Values that combinations join: those of the first factor, of the second, ..."""


def joining_combinations(
    components: Sequence[Part], unseen: Sequence[Sequence[Hashable]]
) -> tuple[Combination, ...]:
    """Fewest combinations that join all parts and the unseen values of every factor.

    A combination of F factors joins a hub to at most F - 1 others, at most one unseen value of each
    factor among them. So it takes at least (parts - 1 + unseen) / (F - 1) combinations, and at
    least as many as one factor has unseen values. Serving the factors with the most unseen values
    first, and parts where none is left, takes no more than that.
    """
    hub, *parts = sorted(components, key=lambda part: -sum(map(len, part)))
    left = [list(values) for values in unseen]
    added: list[Combination] = []
    while parts or any(left):
        combination = [own[len(added) % len(own)] for own in hub]
        # The first stays with the hub: the factor that has the fewest values left to join.
        for f in sorted(range(len(left)), key=lambda f: len(left[f]))[1:]:
            if left[f]:
                combination[f] = left[f].pop(0)
            elif parts:
                combination[f] = parts.pop(0)[f][0]
        added.append(tuple(combination))
    return tuple(added)


def are_determined(
    trained: Bool[np.ndarray, "trained factors values"],
    asked: Bool[np.ndarray, "asked factors values"],
) -> Bool[np.ndarray, " asked"]:
    """Whether trained combinations determine others, if every value has an effect and these add up.

    That is so if the one-hot code of a combination is a weighted sum of trained codes.
    """
    return np.linalg.norm(_residual(_flat(asked), _span(trained)), axis=1) < _TOLERANCE


def determining_combinations(
    trained: FactorTable, joining: Sequence[Combination]
) -> tuple[Combination, ...]:
    """Fewest combinations with which all combinations are determined, after those that join.

    Each adds at most one dimension to the span of the codes. Those of `joining` do, because a
    combination that is determined lies within one part; and so does every other one here. The
    combinations that differ from the first one in one value span all.

    **Arguments:**

    - `trained`: the trained combinations, in a table that knows the unseen values as well.
    - `joining`: combinations that join all parts and values.
    """
    added = list(joining)
    first = trained.combinations[0]
    span = _span(replace(trained, combinations=(*trained, *added)).codes)
    for f, values in enumerate(trained.values):
        for value in values:
            candidate = (*first[:f], value, *first[f + 1 :])
            residual = _residual(_flat(replace(trained, combinations=(candidate,)).codes), span)
            size = np.linalg.norm(residual)
            if size > _TOLERANCE:
                span = np.vstack([span, residual / size])
                added.append(candidate)
    return tuple(added)


def _flat(codes: np.ndarray) -> np.ndarray:
    return codes.reshape(len(codes), -1).astype(float)


def _span(codes: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the codes."""
    # The Gram matrix of the columns is small for any number of combinations.
    size, directions = np.linalg.eigh(_flat(codes).T @ _flat(codes))
    return directions[:, size > 10 * len(size) * np.finfo(float).eps * size.max()].T


def _residual(rows: np.ndarray, span: np.ndarray) -> np.ndarray:
    return rows - rows @ span.T @ span
