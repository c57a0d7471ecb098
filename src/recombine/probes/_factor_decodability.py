"""Can the factors of inputs be read out linearly, and also in combinations never fitted?"""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Int, Real

from ._decodability import decoded_codes


class FactorReading(NamedTuple):
    """How well factors can be read out of activity."""

    familiar: Float[np.ndarray, " factors"]
    """Accuracy on items that are not fitted, of combinations that are."""
    new: Float[np.ndarray, " factors"]
    """Accuracy on items of other combinations; NaN if there are none."""
    guessing: Float[np.ndarray, " factors"]
    """The accuracy of always answering with the most frequent value."""


def factor_decodability(
    activity: Real[ArrayLike, "items units"],
    factors: Int[ArrayLike, "items factors"],
    trained: Bool[ArrayLike, " items"],
    *,
    fitted_share: float = 0.5,
    penalty: float = 1.0,
    rng: np.random.Generator,
) -> FactorReading:
    """The value of every factor by ridge regression on its one-hot code; the largest entry counts.

    It is fitted on a part of the items of trained combinations, and scored on the rest of them and
    on the items of all other combinations: the difference is due to the combinations alone.
    Activity is scaled to a mean square of 1 per item.

    **Arguments:**

    - `activity`: of every item.
    - `factors`: the number of the value of every factor, for every item.
    - `trained`: the items whose combinations may be fitted.
    - `fitted_share`: the share of these that is.
    - `penalty`: weight of ||slope||² against the summed squared error.
    """
    H, rows = np.asarray(activity, float), np.asarray(factors)
    known = np.flatnonzero(np.asarray(trained, bool))
    if len(known) < 2:
        raise ValueError("fewer than 2 items are of trained combinations: none is left to score")
    order = rng.permutation(known)
    count = min(max(1, round(fitted_share * len(known))), len(known) - 1)
    fit, familiar = order[:count], order[count:]
    new = np.flatnonzero(~np.asarray(trained, bool))
    H = H - H[fit].mean(axis=0)
    H = H / (np.sqrt(np.square(H[fit]).sum(axis=1).mean()) or 1.0)
    scores: list[list[float]] = []
    for numbers in rows.T:
        values, codes = np.unique(numbers, return_inverse=True)
        targets = np.eye(len(values))[codes]
        right = decoded_codes(H[fit], targets[fit], H, penalty=penalty).argmax(axis=1) == codes
        scores.append([
            float(right[familiar].mean()),
            float(right[new].mean()) if len(new) else np.nan,
            float(np.bincount(codes).max() / len(codes)),
        ])  # fmt: skip
    return FactorReading(*np.array(scores).reshape(-1, 3).T)
