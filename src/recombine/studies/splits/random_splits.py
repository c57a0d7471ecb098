"""Random splits of all combinations of a few factors, of several kinds."""

import numpy as np
from jaxtyping import Bool, Int

Mask = Bool[np.ndarray, " combinations"]


def uniform(every: Int[np.ndarray, "combinations factors"], rng: np.random.Generator) -> Mask:
    """Any combinations, a tenth to eight tenths of all."""
    return _chosen(rng.random(len(every)), rng.uniform(0.1, 0.8))


def uneven(every: Int[np.ndarray, "combinations factors"], rng: np.random.Generator) -> Mask:
    """Some values are trained in many combinations, others in few."""
    weights = [
        1.5 * rng.normal(size=n)[c] for n, c in zip(every.max(axis=0) + 1, every.T, strict=True)
    ]
    # The largest of Gumbel variables: a draw without replacement by these weights.
    return _chosen(-(np.sum(weights, axis=0) + rng.gumbel(size=len(every))), rng.uniform(0.1, 0.8))


def blocks(every: Int[np.ndarray, "combinations factors"], rng: np.random.Generator) -> Mask:
    """Values fall into two groups, and combinations of both are rare."""
    groups = [
        rng.permutation(n)[c] < n / 2 for n, c in zip(every.max(axis=0) + 1, every.T, strict=True)
    ]
    alike = np.all(groups, axis=0) | ~np.any(groups, axis=0)
    within = alike & (rng.random(len(every)) < rng.uniform(0.5, 1))
    return within | (~alike & (rng.random(len(every)) < rng.choice([0, 0.02, 0.1, 0.3])))


def walk(every: Int[np.ndarray, "combinations factors"], rng: np.random.Generator) -> Mask:
    """Combinations on a walk that changes one factor at a time."""
    sizes, place = every.max(axis=0) + 1, every[rng.integers(len(every))].copy()
    mask = np.zeros(len(every), bool)
    for _ in range(int(rng.uniform(0.1, 0.8) * len(every))):
        mask[np.ravel_multi_index(place, sizes)] = True
        f = rng.integers(len(sizes))
        place[f] = rng.integers(sizes[f])
    return mask


KINDS = (uniform, uneven, blocks, walk)


def random_splits(
    every: Int[np.ndarray, "combinations factors"], count: int, rng: np.random.Generator
) -> Bool[np.ndarray, "splits combinations"]:
    """Splits of all kinds in turn, each with something to train and something held out.

    **Arguments:**

    - `every`: all combinations, in the order of `np.ndindex`.
    - `count`: how many splits.
    - `rng`: the source of randomness.
    """
    found: list[np.ndarray] = []
    while len(found) < count:
        mask = KINDS[len(found) % len(KINDS)](every, rng)
        if 2 <= mask.sum() <= len(mask) - 2:
            found.append(mask)
    return np.stack(found)


def _chosen(order: np.ndarray, share: float) -> Mask:
    mask = np.zeros(len(order), bool)
    mask[np.argsort(order)[: max(2, round(share * len(order)))]] = True
    return mask
