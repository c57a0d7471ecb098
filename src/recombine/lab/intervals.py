"""Intervals over seeds, and how many seeds it takes to make them narrow."""

import math
from dataclasses import dataclass

import numpy as np

ERROR = 0.05
"""How often an interval may miss the truth."""
MOST_SEEDS = 10_000
"""More seeds than these are not asked for."""


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty."""

    value: float
    n: int
    """Seeds behind it."""
    deviation: float
    """Standard deviation of one seed's value."""

    @classmethod
    def of_mean(cls, values: np.ndarray) -> "Estimate":
        """The mean of `values` [seeds]."""
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else math.inf
        if deviation <= 1e-12 * max(1.0, float(np.abs(values).max(initial=0))):
            deviation = 0.0  # values that differ by rounding only
        return cls(float(np.mean(values)), len(values), deviation)

    def half(self, error: float = ERROR, sides: int = 2, n: int | None = None) -> float:
        """Half the width of Student's interval that misses the truth with probability `error`.

        With one side, it is the distance to the one limit that counts. `n`: with as many seeds,
        if their values deviate as those there are.
        """
        from scipy.special import stdtrit

        n = n or self.n
        if self.deviation == 0:
            return 0.0
        if n < 2:
            return math.inf
        return float(stdtrit(n - 1, 1 - error / sides)) * self.deviation / math.sqrt(n)

    def seeds_to_reach(self, distance: float, error: float, sides: int) -> int | None:
        """With how many seeds half the interval is likely to be below `distance`, if with any."""
        n = max(self.n, 2)
        while self.half(error, sides, n) > distance:
            n = max(n + 1, math.ceil(1.05 * n))
            if n > MOST_SEEDS:
                return None
        return n


def confidence_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean and the ends of its 95 % interval (Student's t) over seeds; of one seed, its value."""
    found = Estimate.of_mean(np.asarray(values, float))
    half = found.half() if found.n > 1 else 0.0
    return found.value, found.value - half, found.value + half


def share_limits(true: int, n: int, error: float) -> tuple[float, float]:
    """The one-sided limits of a share, from below and from above (Clopper and Pearson)."""
    from scipy.special import betaincinv

    low = float(betaincinv(true, n - true + 1, error)) if true else 0.0
    high = float(betaincinv(true + 1, n - true, 1 - error)) if true < n else 1.0
    return low, high
