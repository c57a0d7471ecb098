"""How many samples a learner must be trained on before its loss falls to a target."""

from collections.abc import Callable
from math import inf
from typing import Literal, NamedTuple


class SearchStep(NamedTuple):
    """One training of a search."""

    n: int
    """The number of training samples."""
    loss: float
    """Test loss after training."""
    low: float
    """log2 of the largest n that is known to be too few, in the bracket after this step."""
    high: float
    """log2 of the smallest n that is known to be enough; infinite before any was found."""


class SampleSearch(NamedTuple):
    """Where the test loss crosses a target."""

    n: float
    """The number of samples; if the search is censored, the closest n that was tried, a bound."""
    censored: Literal["no", "never", "always"]
    """`never`: no n that was tried reached the target; `always`: all of them did."""
    trace: tuple[SearchStep, ...]
    """Every training, in order."""

    @property
    def reached(self) -> bool:
        """Whether some n reached the target."""
        return self.censored != "never"


def sample_search(
    loss_of: Callable[[int], float],
    target: float,
    *,
    start: float = 12.0,
    evaluations: int = 18,
    tolerance: float = 0.3,
    smallest: float = 0.0,
    largest: float = 22.0,
    stride: float = 2.0,
) -> SampleSearch:
    """Bisect log2 n for the samples with which the test loss falls to `target` (Algorithm 2).

    The loss of networks is not monotone in n near their interpolation threshold: with several
    crossings, the search finds one of them. So look at the whole trace.

    ```python
    >>> sample_search(lambda n: 100 / n, 0.1).n
    1024.0
    ```

    **Arguments:**

    - `loss_of`: trains on n samples and returns the test loss. A loss of NaN reaches nothing.
    - `target`: the test loss wanted.
    - `start`: log2 of the first n.
    - `evaluations`: the largest number of trainings.
    - `tolerance`: the width of the bracket, in log2 n, at which to stop.
    - `smallest`, `largest`: log2 of the fewest and of the most samples. The paper stops when it
        gets to the largest; here that is tried too, or nobody would know whether it is enough.
    - `stride`: by how much to raise log2 n for as long as no n was enough.
    """
    if not smallest <= start <= largest:
        raise ValueError(f"a search from 2^{start:g} must lie in 2^{smallest:g} to 2^{largest:g}")
    if evaluations < 1 or tolerance <= 0 or stride <= 0:
        raise ValueError("evaluations must be 1 or more, tolerance and stride positive")
    low, high, c = smallest, inf, start
    trace: list[SearchStep] = []
    while len(trace) < evaluations and high - low >= tolerance and low < largest:
        n = max(1, round(2**c))
        loss = float(loss_of(n))
        if loss <= target:
            high = c
            c = (low + high) / 2
        else:
            low = c
            c = min(low + stride, largest) if high == inf else (low + high) / 2
        trace.append(SearchStep(n, loss, low, high))
    reached = [step.loss <= target for step in trace]
    if not any(reached):
        return SampleSearch(float(max(step.n for step in trace)), "never", tuple(trace))
    if all(reached):
        return SampleSearch(float(min(step.n for step in trace)), "always", tuple(trace))
    return SampleSearch(2**c, "no", tuple(trace))
