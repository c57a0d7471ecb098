"""Quantities: what a claim speaks of, as one value per seed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._spec import is_spec, spec_name
from .errors import Missing

if TYPE_CHECKING:
    from .results import Results

Read = Callable[["Results"], np.ndarray]


@dataclass(frozen=True, eq=False)
class Quantity:
    """One value per seed, read from results.

    Quantities of the same seeds can be added, subtracted, multiplied and divided, with each other
    and with numbers; a comparison is 1 for the seeds for which it is true, and otherwise 0.

    ```python
    lead = per_seed("longer", model="ndr") - per_seed("longer", model="relative")
    low = per_seed("accuracy") < 0.99
    ```
    """

    read: Read
    label: str
    """What it is, for people to read."""

    def __call__(self, results: "Results") -> np.ndarray:
        """The values, ordered by seed: `[seeds]`, or more if a seed has several trials."""
        values = np.asarray(self.read(results), float)
        if values.ndim != 1:
            raise ValueError(f"{self.label}: one value per seed is needed, not {values.shape}")
        return values

    def _with(self, other: Any, sign: str, do: Callable) -> "Quantity":
        if not isinstance(other, Quantity):
            return Quantity(lambda r: do(self(r), other), f"{self.label} {sign} {other:g}")

        def both(results: "Results") -> np.ndarray:
            mine, others = self(results), other(results)
            if len(mine) != len(others):
                raise Missing(
                    f"{self.label} has {len(mine)} trials, {other.label} has {len(others)}"
                )
            return do(mine, others)

        return Quantity(both, f"{self.label} {sign} {other.label}")

    def __add__(self, other: Any) -> "Quantity":
        return self._with(other, "+", np.add)

    def __sub__(self, other: Any) -> "Quantity":
        return self._with(other, "−", np.subtract)

    def __mul__(self, other: Any) -> "Quantity":
        return self._with(other, "·", np.multiply)

    def __truediv__(self, other: Any) -> "Quantity":
        return self._with(other, "/", np.divide)

    def __rsub__(self, other: float) -> "Quantity":
        return Quantity(lambda r: other - self(r), f"{other:g} − {self.label}")

    def __rmul__(self, other: float) -> "Quantity":
        return Quantity(lambda r: other * self(r), f"{other:g} · {self.label}")

    def __abs__(self) -> "Quantity":
        return Quantity(lambda r: np.abs(self(r)), f"|{self.label}|")

    def __lt__(self, other: Any) -> "Quantity":
        return self._with(other, "<", np.less)

    def __le__(self, other: Any) -> "Quantity":
        return self._with(other, "≤", np.less_equal)

    def __gt__(self, other: Any) -> "Quantity":
        return self._with(other, ">", np.greater)

    def __ge__(self, other: Any) -> "Quantity":
        return self._with(other, "≥", np.greater_equal)


What = str | Read | Quantity
"""What a quantity is made of: the name of a metric, a function of results, or a quantity."""


def per_seed(what: What, label: str = "", /, **where: Any) -> Quantity:
    """The values of a quantity, in the trials whose settings are these.

    **Arguments:**

    - `what`: the name of a metric, or a function of results that gives one value per seed.
    - `label`: what it is called; by default its name in words.
    """
    read: Read = (lambda results: results.metric(what)) if isinstance(what, str) else what
    chosen = ", ".join(f"{key}={_shown(value)}" for key, value in where.items())
    label = label or " ".join(filter(None, (name_of(what), chosen and f"[{chosen}]")))
    return Quantity((lambda r: read(r.where(**where))) if where else read, label)


def curve(name: str, at: float, label: str = "", /, **where: Any) -> Quantity:
    """The value of a curve at the abscissa `at`, a negative number counting from the end."""

    def read(results: "Results") -> np.ndarray:
        x, ys = results.curve(name)
        if at < 0:
            return ys[:, int(at)]
        found = np.flatnonzero(np.isclose(x, at, rtol=1e-9))
        if not len(found):
            raise Missing(f"the curve {name_of(name)} has no point at {at:g}")
        return ys[:, found[0]]

    place = f"{name_of(name)} at {at:g}" if at >= 0 else f"{name_of(name)} at the end"
    return per_seed(Quantity(read, place), label, **where)


def largest(quantities: Iterable[Quantity], label: str = "") -> Quantity:
    """Of several quantities the largest, for every seed."""
    return _over(quantities, np.max, label, "largest of")


def smallest(quantities: Iterable[Quantity], label: str = "") -> Quantity:
    """Of several quantities the smallest, for every seed."""
    return _over(quantities, np.min, label, "smallest of")


def average(quantities: Iterable[Quantity], label: str = "") -> Quantity:
    """The mean of several quantities, for every seed."""
    return _over(quantities, np.mean, label, "mean over")


def _over(quantities: Iterable[Quantity], of: Callable, label: str, word: str) -> Quantity:
    parts = tuple(quantities)
    name = label or f"{word} {', '.join(part.label for part in parts)}"

    def read(results: "Results") -> np.ndarray:
        values = [part(results) for part in parts]
        if len({len(v) for v in values}) != 1:
            raise Missing(f"{name}: not all parts have the same seeds")
        return of(values, axis=0)

    return Quantity(read, name)


Values = Sequence[Any] | Callable[["Results"], Sequence[Any]] | None


def along(
    results: "Results", what: What, axis: str, values: "Values" = None
) -> tuple[list[Any], np.ndarray]:
    """The values of a setting, and a quantity at each of them: `[values, seeds]`.

    **Arguments:**

    - `values`: those that count, or a function of results that gives them; by default all that have
        been run.
    """
    values = values(results) if callable(values) else values
    places = list(results.values(axis) if values is None else values)
    if len(places) < 2:
        raise Missing(f"{axis} has {len(places)} of the 2 values that are needed")
    found = [per_seed(what, **{axis: value})(results) for value in places]
    if len({len(one) for one in found}) != 1:
        raise Missing(f"not every {axis} has the same seeds")
    return places, np.array(found)


def by_seed(quantity: Quantity, results: "Results") -> np.ndarray:
    """The values of every seed: `[seeds, trials of each]`."""
    values, seeds = quantity(results), len(results.seeds)
    if len(values) <= seeds:  # some seeds may have none
        return values[:, None]
    if len(values) % seeds:
        raise Missing(f"{quantity.label} has {len(values)} values of {seeds} seeds")
    return values.reshape(seeds, -1)


def settings(choice: Any) -> dict[str, Any]:
    """A condition: settings as they are, and the name of a network as `model`."""
    return dict(choice) if isinstance(choice, Mapping) else {"model": choice}


def name_of(what: "What | Callable[..., Any]") -> str:
    """What a quantity is called: `untrained_error` is the untrained error."""
    if isinstance(what, Quantity):
        return what.label
    name = what if isinstance(what, str) else getattr(what, "__name__", "").strip("<>_")
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if is_spec(value):
        return spec_name(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
