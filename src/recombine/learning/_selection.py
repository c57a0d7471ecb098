"""Which state of a training run counts, and whether it has learned anything."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Int, Real


def last_best(
    steps: Int[ArrayLike, " observations"] | Sequence[int],
    accuracy: Real[ArrayLike, " observations"] | Sequence[float],
    *,
    until: int | None = None,
) -> int:
    """The last observation among those with the highest accuracy (Section D.3.4).

    Networks are chosen by accuracy, never by loss. The untrained network, at step 0, is chosen only
    if there is no other.

    ```python
    place = last_best(curves["step"], curves["depth_valid_accuracy"], until=50_000)
    curves["step"][place], curves["longer_accuracy"][place]
    ```

    **Arguments:**

    - `steps`: the steps at which `accuracy` was measured.
    - `accuracy`: on the set to choose by.
    - `until`: leave out what was measured after this step.

    **Returns:** its place among the observations.
    """
    steps, accuracy = np.asarray(steps), np.asarray(accuracy, float)
    allowed = np.ones(len(steps), bool) if until is None else steps <= until
    if not allowed.any():
        raise ValueError(f"nothing was observed until step {until}; the first is {steps.min()}")
    trained = allowed & (steps > 0)
    places = np.flatnonzero(trained if trained.any() else allowed)
    best = accuracy[places] == accuracy[places].max()
    return int(places[np.flatnonzero(best)[-1]])


def left_chance(
    accuracy: Real[ArrayLike, " observations"] | Sequence[float],
    chance: float,
    items: int,
    *,
    deviations: float = 4.0,
) -> bool:
    """Whether a run ever did better than guessing.

    **Arguments:**

    - `accuracy`: measured over training, on `items` inputs.
    - `chance`: the accuracy of guessing, such as `probes.majority_share`.
    - `items`: the number of inputs.
    - `deviations`: by how many standard deviations of the accuracy of guesses it must be better. It
        is a maximum over observations: two are not enough.
    """
    if not 0 < chance < 1:
        raise ValueError(f"chance must lie between 0 and 1: {chance}")
    spread = np.sqrt(chance * (1 - chance) / items)
    return bool(np.max(np.asarray(accuracy, float)) > chance + deviations * spread)
