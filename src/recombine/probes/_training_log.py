"""What a log of training tells: when to stop, what gets worse, how fast it was, and crashes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num

Steps = Num[np.ndarray, " looks"]
Curve = Float[np.ndarray, " looks"]


def early_stop(steps: Steps, losses: Curve, patience: int) -> int:
    """The place of the look at which early stopping would have taken the network (Figure 4.1).

    Training stops at the first look that is `patience` steps or more after that with the least loss
    so far; the network is taken that was the best then. If it never stops, it is the best of all.
    """
    best = 0
    for place, (step, loss) in enumerate(zip(steps, losses, strict=True)):
        if loss < losses[best]:
            best = place
        if step - steps[best] >= patience:
            break
    return best


def steps_to_share(steps: Steps, accuracies: Curve, share: float = 0.8) -> float:
    """The step at which accuracy first reaches a share of its maximum (Figure C.3).

    Between two looks it is taken to rise linearly. NaN if it never rises above 0.
    """
    goal = share * float(np.max(accuracies))
    if goal <= 0:
        return float("nan")
    after = int(np.argmax(np.asarray(accuracies) >= goal))
    if after == 0:
        return float(steps[0])
    low, high = float(accuracies[after - 1]), float(accuracies[after])
    part = (goal - low) / (high - low)
    return float(steps[after - 1] + part * (steps[after] - steps[after - 1]))


def crash(accuracies: Curve, *, learned: float = 0.1, lost: float = 0.01) -> int | None:
    """The place of the first look of a crash, from which on accuracy is nearly 0; None if none.

    A run has crashed if accuracy was at least `learned` before, and is at most `lost` at the last
    two looks or more.
    """
    low = np.asarray(accuracies) <= lost
    if len(low) < 2 or not low[-2:].all() or np.max(accuracies) < learned:
        return None
    high = np.flatnonzero(~low)
    return int(high[-1]) + 1


class GoodAndBad(NamedTuple):
    """Losses of items that were right at least once, and of those that never were (Figure C.2)."""

    good: Curve
    """Mean loss per symbol of items that are right at one look or more; NaN if there are none."""
    bad: Curve
    """That of the other items."""
    total: Curve
    share: float
    """The share of all symbols that belong to good items: total = share good + (1 − share) bad."""
    is_good: Bool[np.ndarray, " items"]


def good_and_bad(
    losses: Float[np.ndarray, "looks items"],
    right: Bool[np.ndarray, "looks items"],
    symbols: Int[np.ndarray, " items"],
) -> GoodAndBad:
    """Split a loss into that of items that are right at some time and that of the others.

    **Arguments:**

    - `losses`: the loss of every item, summed over its symbols.
    - `symbols`: how many symbols every item has.
    """
    losses, symbols = np.asarray(losses, np.float64), np.asarray(symbols, np.float64)
    is_good: np.ndarray = np.any(np.asarray(right, bool), axis=0)

    def mean(chosen: Bool[np.ndarray, " items"]) -> Curve:
        if not chosen.any():
            return np.full(len(losses), np.nan)
        return losses[:, chosen].sum(axis=1) / symbols[chosen].sum()

    share = float(symbols[is_good].sum() / symbols.sum())
    everything = np.ones(len(symbols), bool)
    return GoodAndBad(mean(is_good), mean(~is_good), mean(everything), share, is_good)


class SecondDescent(NamedTuple):
    """The largest hump of a loss: it falls, rises to a peak, and falls again (Figure 4.3)."""

    rise: float
    """From the lowest point before the peak to the peak."""
    fall: float
    """From the peak to the lowest point after it; if it or `rise` is 0, there is no hump."""
    peak: int
    """The place of the peak."""


def second_descent(losses: Curve) -> SecondDescent:
    """The peak of a loss from which it has risen and fallen most: the lesser of both counts."""
    losses = np.asarray(losses, np.float64)
    before = losses - np.minimum.accumulate(losses)
    after = losses - np.minimum.accumulate(losses[::-1])[::-1]
    peak = int(np.argmax(np.minimum(before, after)))
    return SecondDescent(float(before[peak]), float(after[peak]), peak)
