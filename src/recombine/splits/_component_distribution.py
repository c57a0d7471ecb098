"""Which combinations of components a model is trained and tested on, and how often."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ._factors import Combination, FactorTable, Table, Value, rows_of, rows_with
from ._information import mutual_information, table_of_samples
from ._support_report import SupportReport, support_report


@dataclass(frozen=True)
class ComponentDistribution:
    """P(X_1 ... X_K) in training and in tests, where every component has finitely many values.

    The definition of compositional generalization asks that all values of components are trained
    but none of the combinations that are tested (Definition 3): see `compositional`.
    """

    factors: tuple[str, ...]
    """The names of the components."""
    values: tuple[tuple, ...]
    """The values of every component, an axis of the tables each."""
    train: Float[np.ndarray, "..."]
    """How often every combination is trained; sums to 1."""
    test: Float[np.ndarray, "..."]
    """How often it is tested."""

    @classmethod
    def of(
        cls,
        train: Table | FactorTable,
        test: Table | FactorTable,
        *,
        factors: Sequence[str] | None = None,
    ) -> "ComponentDistribution":
        """Count the rows of two tables. Rows that occur more than once count as often.

        ```python
        >>> split = ComponentDistribution.of([(0, 0), (0, 1), (1, 0)], [(1, 1)])
        >>> split.compositional
        True
        >>> split.train_information(0, 1)
        0.25162916738782304
        ```

        **Arguments:**

        - `train`, `test`: rows of values, an array, columns by name, or a `FactorTable`, with the
            same factors.
        - `factors`: the names of the factors, where tables have rows.
        """
        names, trained = rows_of(train, factors)
        tested = rows_with(test, names)
        values = FactorTable.of([*trained, *tested], names).values
        numbers = [{value: v for v, value in enumerate(of_factor)} for of_factor in values]

        def shares(rows: Sequence[Combination]) -> Float[np.ndarray, "..."]:
            places = [[n[value] for n, value in zip(numbers, row, strict=True)] for row in rows]
            return table_of_samples(np.array(places), [len(n) for n in numbers])

        return cls(names, values, shares(trained), shares(tested))

    @property
    def compositional(self) -> bool:
        """Whether the test asks for new combinations of known values only (Definition 3)."""
        return not self.trained_tests and not self.unseen

    @property
    def trained_tests(self) -> tuple[Combination, ...]:
        """Tested combinations that are trained as well: they need no recombination."""
        return self._combinations((self.train > 0) & (self.test > 0))

    @property
    def unseen(self) -> tuple[Value, ...]:
        """Tested values that are never trained: nothing can be known of them."""
        found: list[Value] = []
        for axis, (factor, values) in enumerate(zip(self.factors, self.values, strict=True)):
            others = tuple(a for a in range(self.train.ndim) if a != axis)
            new = (self.test.sum(axis=others) > 0) & (self.train.sum(axis=others) == 0)
            found += [(factor, values[v]) for v in np.flatnonzero(new)]
        return tuple(found)

    def train_information(self, first: int, second: int) -> float:
        """I(X_i; X_j) in training, in bits: how far one component gives the other away.

        Where a target depends on X_i alone, this is how much X_j tells of it nonetheless.
        """
        return mutual_information(self.train, first, second)

    def test_information(self, first: int, second: int) -> float:
        """The same in tests. A model that relies on X_j does so on what holds in training."""
        return mutual_information(self.test, first, second)

    @property
    def support(self) -> SupportReport:
        """What the trained combinations offer for the tested ones: see `support_report`."""
        return support_report(
            self._combinations(self.train > 0),
            self._combinations(self.test > 0),
            factors=self.factors,
        )

    def _combinations(self, chosen: np.ndarray) -> tuple[Combination, ...]:
        return tuple(
            tuple(values[v] for values, v in zip(self.values, place, strict=True))
            for place in np.argwhere(chosen)
        )


def is_compositional_split(train: Table | FactorTable, test: Table | FactorTable) -> bool:
    """Whether tests ask for new combinations of known values, and for nothing else (Definition 3).

    Every value of every component that is tested must occur in training, and no tested combination
    may. `ComponentDistribution.of` tells which do not comply; `support_report` tells whether the
    training combinations are enough for the others.

    ```python
    >>> is_compositional_split([("red", "disc"), ("blue", "ring")], [("blue", "disc")])
    True
    >>> is_compositional_split([("red", "disc"), ("blue", "ring")], [("green", "disc")])
    False
    ```
    """
    return ComponentDistribution.of(train, test).compositional
