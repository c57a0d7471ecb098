"""Whether a network has learned anything."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Real


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
