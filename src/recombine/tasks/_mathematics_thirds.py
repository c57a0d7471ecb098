"""The Mathematics data set by difficulty: thirds of the range of entropies."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ._mathematics import Pair, add_or_sub_question
from ._mathematics_algebra import (
    collect_question,
    differentiate_question,
    linear_1d_question,
    sort_question,
)
from ._translations import Translations, characters_of

_MODULES: dict[str, tuple[Callable[[float, Random], Pair], tuple[float, float]]] = {
    "add_or_sub": (add_or_sub_question, (4.0, 16.0)),
    "linear_1d": (linear_1d_question, (3.0, 10.0)),
    "differentiate": (differentiate_question, (3.0, 10.0)),
    "sort": (sort_question, (3.0, 10.0)),
    "collect": (collect_question, (3.0, 10.0)),
}
"""How modules ask, and their range of entropies in training."""
MATHEMATICS_MODULES = tuple(_MODULES)
"""The modules whose difficulties are analysed, in the order of Table B.3."""
DIFFICULTIES = ("easy", "medium", "hard")
"""Thirds of the range of entropies, from the lowest."""
_TRIES = 20


@dataclass(frozen=True)
class MathematicsThirds:
    """Questions of one module, easy, medium and hard, to train and to test (Section B.3.7).

    No question occurs twice, whatever its difficulty.

    ```python
    MathematicsThirds("sort").translations(train=300, test=30).size("hard_test")  # 10
    ```
    """

    module: str = "add_or_sub"
    """One of `MATHEMATICS_MODULES`."""
    entropy: tuple[float, float] | None = None
    """The range of entropies; None: 4 to 16 for sums and differences, 3 to 10 for all others."""

    def __post_init__(self):
        if self.module not in _MODULES:
            raise ValueError(f"unknown module {self.module!r}: {' or '.join(_MODULES)}")
        low, high = self.entropy or (1.0, 20.0)
        if not 1 <= low < high <= 20:
            raise ValueError(f"entropy=({low:g}, {high:g}) must rise and lie in 1 to 20")

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The entropies of every difficulty."""
        low, high = self.entropy or _MODULES[self.module][1]
        third = (high - low) / 3
        return {
            name: (low + i * third, high - (2 - i) * third) for i, name in enumerate(DIFFICULTIES)
        }

    def pairs(self, *, train: int, test: int, seed: int = 0) -> dict[str, list[Pair]]:
        """Questions and answers in the parts `easy`, `easy_test`, `medium` and so on.

        **Arguments:**

        - `train`, `test`: questions of all difficulties together.
        """
        if min(train, test) < len(DIFFICULTIES):
            raise ValueError(f"train={train} and test={test}: use 3 or more, one per difficulty")
        ask, seen, rng = _MODULES[self.module][0], set[str](), Random(seed)
        found: dict[str, list[Pair]] = {}
        for place, (name, entropies) in enumerate(self.ranges.items()):
            sizes = [n // 3 + (place < n % 3) for n in (test, train)]
            fresh: list[Pair] = []
            for _ in range(1000 + _TRIES * sum(sizes)):
                if len(fresh) == sum(sizes):
                    break
                question, answer = ask(rng.uniform(*entropies), rng)
                if question not in seen:
                    seen.add(question)
                    fresh.append((question, answer))
            else:
                raise ValueError(f"there are not {sum(sizes)} {name} questions; use fewer")
            found[f"{name}_test"], found[name] = fresh[: sizes[0]], fresh[sizes[0] :]
        return found

    def translations(self, *, train: int, test: int, seed: int = 0) -> Translations:
        """`pairs` as numbers, in one vocabulary of characters."""
        found = self.pairs(train=train, test=test, seed=seed)
        return Translations.of(found, characters_of, shared=True)
