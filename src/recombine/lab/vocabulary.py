"""The words of claims: `mean`, `paired`, `every_seed`, `share`, `ranked`, `trend` and their like.

```python
every_seed("theory_error", network="relu") < 0.02
paired("longer", "ndr", "relative-gate", direction="backward") >= 0.3
all_of(mean("longer", model="ndr", direction=d) >= 0.95 for d in ("forward", "backward"))
mean("ratio").between(1.8, 2.2)
```

What they speak of is the name of a metric, or a function of results that gives one value per seed.
"""

import abc
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .errors import Missing
from .intervals import Estimate
from .quantities import Quantity, Values, What, along, by_seed, name_of, per_seed, settings
from .statements import AllOf, AnyOf, Between, EveryValue, ForAll, OneSided, ShareOfSeeds, Statement

if TYPE_CHECKING:
    from .results import Results


class Comparable(abc.ABC):
    """What makes a statement when it is compared with a number."""

    @abc.abstractmethod
    def _compared(self, sign: str, other: Any) -> Statement:
        """The statement that this is on a side of another."""

    def __lt__(self, other: Any) -> Statement:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Statement:
        return self._compared("≤", other)

    def __gt__(self, other: Any) -> Statement:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Statement:
        return self._compared("≥", other)


class AbstractEstimator(Comparable):
    """A number that results estimate, with an interval over seeds."""

    word: ClassVar[str]
    """What the number is called."""

    @abc.abstractmethod
    def estimate(self, results: "Results") -> Estimate:
        """The number and its uncertainty."""

    def between(self, low: float, high: float) -> Statement:
        """It lies between two bounds; the interval has two sides."""
        return Between(self, low, high)  # type: ignore[arg-type]

    def near(self, value: float, margin: float) -> Statement:
        """It lies within a margin of a value; the margin is its bound."""
        return Between(self, value - margin, value + margin, margin)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Mean(AbstractEstimator):
    """The mean over seeds, with Student's t."""

    quantity: Quantity
    word: ClassVar[str] = "mean"

    @property
    def label(self) -> str:
        return self.quantity.label

    def estimate(self, results: "Results") -> Estimate:
        return Estimate.of_mean(by_seed(self.quantity, results).mean(axis=1))

    def _compared(self, sign: str, other: Any) -> Statement:
        if isinstance(other, Mean):  # seed by seed
            return OneSided(Mean(self.quantity - other.quantity), sign, 0.0)
        return OneSided(self, sign, float(other))


@dataclass(frozen=True, eq=False)
class Statistic(AbstractEstimator):
    """A number computed from the results of all seeds, with a jackknife over them."""

    of: "Callable[[Results], float]"
    label: str
    word: ClassVar[str] = "value"

    def estimate(self, results: "Results") -> Estimate:
        seeds = results.seeds
        n, whole = len(seeds), float(self.of(results))
        if n < 2:
            return Estimate(whole, n, math.inf)
        without = np.array([self.of(results.without_seed(seed)) for seed in seeds], float)
        pseudo = n * whole - (n - 1) * without
        return Estimate(whole, n, Estimate.of_mean(pseudo).deviation)

    def _compared(self, sign: str, other: Any) -> Statement:
        return OneSided(self, sign, float(other))


@dataclass(frozen=True, eq=False)
class EverySeed(Comparable):
    """All values of a quantity, one by one."""

    quantity: Quantity
    exact: bool = False

    def _compared(self, sign: str, other: Any) -> Statement:
        return EveryValue(self.quantity, sign, float(other), self.exact)

    def equals(self, value: float, within: float = 0.0) -> Statement:
        """Every value is this one, up to a margin, which is its bound."""
        label = f"|{self.quantity.label} − {value:g}|"
        distance = Quantity(lambda r: np.abs(self.quantity(r) - value), label)
        return EveryValue(distance, "≤", within, self.exact)


@dataclass(frozen=True, eq=False)
class Share(Comparable):
    """The share of seeds for which something is true."""

    quantity: Quantity

    def _compared(self, sign: str, other: Any) -> Statement:
        return ShareOfSeeds(self.quantity, sign, float(other))


def mean(what: What, label: str = "", /, **where: Any) -> Mean:
    """The mean over seeds of a quantity.

    Compared with another mean, it is the difference of both, seed by seed, that has an interval.

    **Arguments:**

    - `what`: the name of a metric, a function of results with one value per seed, or a
        [`recombine.lab.Quantity`][].
    - `label`: what it is called; by default its name in words.
    - `where`: settings of the trials.
    """
    return Mean(per_seed(what, label, **where))


def paired(what: What, one: Any, other: Any, label: str = "", /, **where: Any) -> Mean:
    """The mean over seeds of a quantity in one condition minus the same in another.

    **Arguments:**

    - `one`, `other`: settings, as a dictionary; or a network, by its name or spec.
    - `where`: settings that both have.
    """
    apart = per_seed(what, **where, **settings(one)) - per_seed(what, **where, **settings(other))
    return Mean(per_seed(apart, label))


def every_seed(what: What, label: str = "", /, **where: Any) -> EverySeed:
    """Every single value of a quantity: `every_seed("theory_error", network="relu") < 0.02`."""
    return EverySeed(per_seed(what, label, **where))


def exact(of: "Callable[[Results], Any]", label: str = "", /) -> EverySeed:
    """Numbers in which nothing is drawn, such as a closed form: `exact(rank).equals(4)`."""
    return EverySeed(Quantity(lambda r: np.ravel(of(r)), label or name_of(of)), exact=True)


def share(what: What, label: str = "", /, **where: Any) -> Share:
    """The share of seeds for which something is true: `share(per_seed("loss") < 0.1) >= 0.8`."""
    return Share(per_seed(what, label, **where))


def statistic(of: "Callable[[Results], float]", label: str = "", /, **where: Any) -> Statistic:
    """A number of the results of all seeds, such as a fit, with a jackknife over seeds."""
    return Statistic((lambda r: of(r.where(**where))) if where else of, label or name_of(of))


def ratio(one: What, other: What, label: str = "", /, **where: Any) -> Statistic:
    """The mean of a quantity over the mean of another, with a jackknife over seeds."""
    above, below = per_seed(one, **where), per_seed(other, **where)

    def of(results: "Results") -> float:
        return float(above(results).mean() / below(results).mean())

    return Statistic(of, label or f"{above.label} / {below.label}")


def all_of(*statements: Statement | Iterable[Statement]) -> Statement:
    """All of these statements; they are given one by one, or as one iterable."""
    parts: list[Statement] = []
    for given in statements:
        parts += [given] if isinstance(given, Statement) else given
    if not parts:
        raise ValueError("there is no statement; give one or more")
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def any_of(*statements: Statement) -> Statement:
    """At least one of these statements."""
    return AnyOf(statements)


def for_all(
    axis: str, make: Callable[[Any], Statement], *,
    among: "Sequence[Any] | Callable[[Results, Any], bool] | None" = None,
    but: Sequence[Any] = (), **where: Any,
) -> Statement:  # fmt: skip
    """A statement on every value of a setting that has been run.

    ```python
    for_all("model", lambda model: paired("deeper", "ndr", model) > 0, but=("ndr",))
    ```

    **Arguments:**

    - `make`: the statement on a value; its bounds are the same for all of them.
    - `among`: the values that are meant, or a function of results and a value; by default all.
    - `but`: those that are not.
    - `where`: settings of the trials.
    """

    def chosen(results: "Results", value: Any) -> bool:
        if value in but or among is None:
            return value not in but
        return among(results, value) if callable(among) else value in among

    return ForAll(axis, make, chosen, where)


def ranked(what: What, order: Sequence[Any], /, *, margin: float = 0.0, **where: Any) -> Statement:
    """Conditions in the order of a quantity, the highest first, each above the next by `margin`.

    **Arguments:**

    - `order`: conditions as in `paired`.
    """
    return all_of(paired(what, high, low, **where) > margin for high, low in pairwise(order))


def slope(
    what: What, axis: str, label: str = "", /, *, values: Values = None,
    scale: Callable[[Any], Any] = np.asarray, **where: Any,
) -> Mean:  # fmt: skip
    """The slope of a quantity along a setting, by least squares for every seed.

    **Arguments:**

    - `values`: the values of the setting that count, or a function of results that gives them; by
        default all.
    - `scale`: what is done to them first, such as `np.log2`.
    """

    def read(results: "Results") -> np.ndarray:
        places, found = along(results, what, axis, values)
        return np.polyfit(np.asarray(scale(np.array(places)), float), found, 1)[0]

    return Mean(per_seed(read, label or f"slope of {name_of(what)} along {axis}", **where))


def trend(
    what: What, axis: str, label: str = "", /, *, values: Values = None, **where: Any
) -> Mean:
    """Spearman's rank correlation of a quantity with a setting, for every seed."""

    def read(results: "Results") -> np.ndarray:
        places, found = along(results, what, axis, values)
        return np.array([rank_correlation(places, of_seed) for of_seed in found.T])

    return Mean(per_seed(read, label or f"trend of {name_of(what)} along {axis}", **where))


def rank_correlation(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float:
    """Spearman's rank correlation; 0 if one of both is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (x, y)]
    size = math.sqrt(float(np.dot(ranks[0], ranks[0]) * np.dot(ranks[1], ranks[1])))
    return float(np.dot(*ranks)) / size if size else 0.0


def largest_rise(
    what: What, axis: str, label: str = "", /, *, values: Values = None, **where: Any
) -> EverySeed:
    """The largest rise of a mean from one value of a setting to the next, in standard errors."""

    def read(results: "Results") -> np.ndarray:
        _, found = along(results, what, axis, values)
        if found.shape[1] < 2:
            raise Missing("one seed has no standard error")
        rises = np.diff(found.mean(axis=1))
        error = found.var(axis=1, ddof=1) / found.shape[1]
        spread = np.sqrt(error[1:] + error[:-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(rises == 0, 0.0, rises / spread)
        return np.array([scaled.max()])

    name = label or f"largest rise of {name_of(what)} along {axis}, in standard errors"
    return EverySeed(per_seed(read, name, **where), exact=True)
