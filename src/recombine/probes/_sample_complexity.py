"""How many tasks a learner must meet before it generalizes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Real


class SampleComplexity(NamedTuple):
    """Tasks encountered up to the first evaluation that reached a level."""

    tasks: float
    """The number of tasks; NaN if no evaluation reached the level."""
    reached: bool
    """Whether an evaluation reached the level."""


def sample_complexity(
    steps: Real[ArrayLike, " evaluations"],
    accuracy: Real[ArrayLike, " evaluations"],
    *,
    tasks_per_step: int,
    level: float = 0.9,
) -> SampleComplexity:
    """Tasks encountered at the first evaluation with accuracy at or above `level` (Figure A3).

    Not interpolated: the resolution is that of the evaluations. An accuracy of NaN reaches nothing.

    ```python
    >>> sample_complexity(np.array([0, 100]), np.array([0.1, 0.92]), tasks_per_step=128)
    SampleComplexity(tasks=12800.0, reached=True)
    ```

    **Arguments:**

    - `steps`: outer steps taken before each evaluation, increasing.
    - `accuracy`: accuracy on held-out combinations at each evaluation.
    - `tasks_per_step`: tasks drawn, with replacement, in an outer step.
    - `level`: the accuracy to reach; 90 % in the paper.
    """
    reached = np.flatnonzero(np.asarray(accuracy, float) >= level)
    if not len(reached):
        return SampleComplexity(float("nan"), False)
    return SampleComplexity(float(np.asarray(steps)[reached[0]]) * tasks_per_step, True)
