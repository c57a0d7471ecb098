"""What answers depend on, in bits, from items and the factors that they have."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Int

from ..splits._information import conditional_mutual_information, table_of_samples


class Dependence(NamedTuple):
    """What answers tell of some factors beyond the others, in bits."""

    bits: float
    """I(Ŷ; factors | others), of the items."""
    by_chance: float
    """The mean of the same over shuffles of the factors among items that agree in the others; 0 if
    no two items have one combination, for then nothing is left to chance."""

    most: float
    """H(Ŷ | others): what it is of answers that the factors determine."""

    @property
    def told(self) -> float:
        """The bits adjusted for chance: 0 where there are as many as by chance, and `most` where
        there can be no more (as Vinh et al., 2010, adjust mutual information)."""
        if self.most <= self.by_chance:
            return 0.0
        share = (self.bits - self.by_chance) / (self.most - self.by_chance)
        return max(share * self.most, 0.0)


def factor_dependence(
    answers: Int[ArrayLike, " items"],
    factors: Int[ArrayLike, "items factors"],
    of: Sequence[int],
    given: Sequence[int] | None = None,
    *,
    shuffles: int = 20,
    rng: np.random.Generator,
) -> Dependence:
    """I(Ŷ; factors `of` | factors `given`) in bits, as items have it.

    Items of one combination differ in other ways, too, and few of them make answers look as if they
    depended on a factor that they ignore. How much is found by shuffling.

    ```python
    >>> rows = np.stack([np.repeat(range(4), 4), np.tile(range(4), 4)], axis=1)
    >>> factor_dependence(rows[:, 0], rows, [0], rng=np.random.default_rng(0)).told
    2.0
    ```

    **Arguments:**

    - `answers`: whole numbers.
    - `factors`: the number of the value of every factor.
    - `of`: the factors that are asked about, together.
    - `given`: the factors that are held fixed; None: all others.
    """
    rows = np.asarray(factors)
    fixed = [f for f in range(rows.shape[1]) if f not in of] if given is None else list(given)
    told = _numbered(rows[:, list(of)])
    context = _numbered(rows[:, fixed])
    answered = _numbered(np.asarray(answers)[:, None])
    sizes = [int(column.max()) + 1 for column in (context, told, answered)]

    def bits(values: Int[np.ndarray, " items"]) -> float:
        table = table_of_samples(np.stack([context, values, answered], axis=1), sizes)
        return max(conditional_mutual_information(table, 2, 1, 0), 0.0)

    found = bits(told)
    table = table_of_samples(np.stack([context, answered], axis=1), [sizes[0], sizes[2]])
    most = max(conditional_mutual_information(table, 1, 1, 0), 0.0)
    if len(np.unique(rows, axis=0)) == len(rows):
        return Dependence(found, 0.0, most)
    order = np.lexsort((np.arange(len(rows)), context))
    chance = []
    for _ in range(shuffles):
        drawn = np.lexsort((rng.random(len(rows)), context))
        shuffled = np.empty_like(told)
        shuffled[order] = told[drawn]
        chance.append(bits(shuffled))
    return Dependence(found, float(np.mean(chance)), most)


def _numbered(columns: np.ndarray) -> Int[np.ndarray, " items"]:
    """One whole number per row, from 0, the same for equal rows."""
    if not columns.shape[1]:
        return np.zeros(len(columns), int)
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel()
