"""How hard a tested combination is predicted to be: what training leaves open about it.

Say the answer to a combination is a sum of effects of its values and of its pairs of values, all of
them unknown. Training shows such sums with noise. What remains unknown about a tested combination,
as a share of what was unknown before training, is its predicted difficulty: 0 if nothing is left
open, 1 if nothing is known. The effects of values are judged together, as a Gaussian process whose
kernel counts shared values does; those of pairs one by one, by how often each pair is trained.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ._encoded_split import EncodedSplit, Items, are_among

NOISE = 0.25
"""Variance of the noise of one trained combination, in units of the variance before training."""
PAIRS = 0.5
"""The share that pairs of values have in the variance before training; the rest is of values."""

_MOST_VALUES = 3000
"""Of more values, effects are judged one by one."""


@dataclass(frozen=True, eq=False)
class Difficulty:
    """The predicted difficulty of combinations, given the trained ones."""

    split: EncodedSplit
    noise: float = NOISE
    pairs: float = PAIRS

    @cached_property
    def covariance(self) -> Float[np.ndarray, "values values"]:
        """What training leaves open about the effects of values, (XᵀX / σ² + F · 1)⁻¹.

        X has a row for every trained combination and a column for every value; the prior variance
        of an effect is 1 / F, so that F of them have the variance 1.
        """
        F, sizes = len(self.split.factors), self.split.sizes
        starts = np.cumsum([0, *sizes])
        rows = self.split.trained + starts[:-1]
        counts = np.bincount(rows.ravel(), minlength=starts[-1])
        if len(counts) > _MOST_VALUES:
            return np.diag(1 / (counts / self.noise + F))
        gram = np.diag(counts.astype(float))
        for (f, g), both in self.split.trained_pairs.items():
            own, other = (slice(starts[k], starts[k + 1]) for k in (f, g))
            gram[own, other] = both.counts.reshape(sizes[f], sizes[g])
            gram[other, own] = gram[own, other].T
        return np.linalg.inv(gram / self.noise + F * np.eye(len(gram)))

    def open_effects(self, items: Items) -> Float[np.ndarray, " items"]:
        """The share of the variance of the sum of their values' effects that is left open."""
        columns = items + np.cumsum([0, *self.split.sizes[:-1]])
        total = np.zeros(len(items))
        for f in range(columns.shape[1]):
            total += self.covariance[columns[:, f], columns[:, f]]
            for g in range(f):
                total += 2 * self.covariance[columns[:, f], columns[:, g]]
        return np.clip(total, 0, 1)

    def open_pairs(self, items: Items) -> Float[np.ndarray, " items"]:
        """The same of their pairs' effects: the mean of σ² / (n + σ²), trained n times."""
        shares = np.zeros(len(items))
        sets = self.split.trained_pairs
        for counts in sets.values():
            n = counts.of(items)
            shares += self.noise / (n + self.noise)
        return shares / len(sets)

    def of(self, items: Items) -> Float[np.ndarray, " items"]:
        """The predicted difficulty of combinations, from 0 to 1; 0 if they are trained."""
        effects, pairs = self.open_effects(items), self.open_pairs(items)
        found = (1 - self.pairs) * effects + self.pairs * pairs
        found[are_among(items, self.split.trained)] = 0
        return found


def predicted_difficulty(trained: Items, tested: Items) -> Float[np.ndarray, " items"]:
    """How hard each tested combination is predicted to be, from 0 (easy) to 1.

    ```python
    >>> trained = np.array([[0, 0], [0, 1], [1, 0], [2, 2]])
    >>> predicted_difficulty(trained, np.array([[1, 1], [0, 2]])).round(2)
    array([0.82, 0.9 ])
    ```

    **Arguments:**

    - `trained`, `tested`: the numbers of the values of every factor, from 0.
    """
    sizes = np.concatenate([trained, tested]).max(axis=0) + 1
    values = tuple(tuple(range(size)) for size in sizes.tolist())
    names = tuple(f"factor {f}" for f in range(len(values)))
    return Difficulty(EncodedSplit(names, values, trained)).of(tested)
