"""Closed forms for points of a plane of which one coordinate decides the target.

X_k = Y_k − U[0, 1] for two binary components: a point is uniform on a unit square of its quadrant.
The target is Y_1, which X_1 decides alone. All numbers but entropies are fractions, and exact.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..splits._information import entropy, mutual_information

Point = tuple[Fraction, Fraction]
Weights = tuple[Fraction, Fraction, Fraction]
"""(w_1, w_2, b) of a linear model w_1 X_1 + w_2 X_2 + b."""

THREE_COMBINATIONS = ((1, 1), (1, 0))
"""How often (Y_1, Y_2) occurs in training, `[Y_1][Y_2]`: (1, 1) never (setting A)."""
SECOND_AT_RANDOM = ((2, 2), (1, 1))
"""How often (Y_1, Y_2) occurs with Y_2 independent of Y_1, X_2 uniform on [−1, 1] (setting B)."""


class LinearAccuracy(NamedTuple):
    """The share of positive points that a linear model takes for positive."""

    held_out: Fraction
    """The share for the combination (1, 1)."""
    seen: Fraction
    """The share for the combination (1, 0)."""


class QuadrantValues(NamedTuple):
    """What follows from the distribution of training points."""

    target_entropy: float
    """H(Y_1) in bits. It is I(Y_1; X_1): the sign of X_1 is that of the target."""
    second_information: float
    """I(Y_1; X_2) = I(Y_1; Y_2) in bits: only the sign of X_2 tells of Y_1."""
    covariances: tuple[Fraction, Fraction]
    """Cov(Y_1, X_1) and Cov(Y_1, X_2)."""
    logistic_step: Weights
    """−∂L/∂(w_1, w_2, b) of logistic regression at zero."""
    logistic_accuracy: LinearAccuracy
    """The accuracy after that step, of any size."""
    least_squares: Weights
    """The optimum of squared errors on targets of 0 and 1."""
    least_squares_accuracy: LinearAccuracy
    """The accuracy of that optimum, whose outputs above 1/2 are positive."""


def quadrant_values(
    weights: Sequence[Sequence[int | Fraction]] = THREE_COMBINATIONS,
) -> QuadrantValues:
    """The closed forms for a distribution of (Y_1, Y_2).

    **Arguments:**

    - `weights`: how often each combination occurs, `[Y_1][Y_2]`, up to a factor.
    """
    total = sum(map(sum, weights))
    if total <= 0 or min(map(min, weights)) < 0:
        raise ValueError("combinations occur with frequencies of 0 or more, some above 0")
    p = [[Fraction(weight) / total for weight in row] for row in weights]
    half = Fraction(1, 2)
    # In its quadrant X_k is uniform on [Y_k − 1, Y_k], around Y_k − 1/2 with a variance of 1/12.
    y, y2 = p[1][0] + p[1][1], p[0][1] + p[1][1]
    x1, x2 = y - half, y2 - half
    cov1, cov2 = y * (1 - y), p[1][1] - y * y2
    var1, var2 = cov1 + Fraction(1, 12), y2 * (1 - y2) + Fraction(1, 12)

    # E[(Y_1 − 1/2) X_k] = Cov(Y_1, X_k) + (E[Y_1] − 1/2) E[X_k]
    step = (cov1 + (y - half) * x1, cov2 + (y - half) * x2, y - half)
    # The covariance of X_1 and X_2 is that of Y_1 and Y_2: noise is independent.
    determinant = var1 * var2 - cov2**2
    w1 = (var2 * cov1 - cov2 * cov2) / determinant
    w2 = (var1 * cov2 - cov2 * cov1) / determinant
    optimum = (w1, w2, y - w1 * x1 - w2 * x2)
    table = np.array(p, float)
    return QuadrantValues(
        target_entropy=entropy(table, 0),
        second_information=mutual_information(table, 0, 1),
        covariances=(cov1, cov2),
        logistic_step=step,
        logistic_accuracy=linear_accuracy(step),
        least_squares=optimum,
        least_squares_accuracy=linear_accuracy(optimum, threshold=half),
    )


def linear_accuracy(weights: Weights, *, threshold: Fraction = Fraction(0)) -> LinearAccuracy:
    """How many positive points w_1 X_1 + w_2 X_2 + b takes to be above a threshold."""
    return LinearAccuracy(
        held_out=_area_above(weights, threshold, (0, 0)),
        seen=_area_above(weights, threshold, (0, -1)),
    )


def _area_above(weights: Weights, threshold: Fraction, corner: tuple[int, int]) -> Fraction:
    """The area of the unit square at a corner on which a linear function exceeds a threshold."""
    a, b = map(Fraction, corner)
    square: list[Point] = [(a, b), (a + 1, b), (a + 1, b + 1), (a, b + 1)]

    def height(point: Point) -> Fraction:
        return weights[0] * point[0] + weights[1] * point[1] + weights[2] - threshold

    above: list[Point] = []
    for here, there in zip(square, square[1:] + square[:1], strict=True):
        low, high = height(here), height(there)
        if low >= 0:
            above.append(here)
        if low * high < 0:
            share = low / (low - high)
            above.append(
                (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
            )
    turned = above[1:] + above[:1]
    twice = sum(
        (p[0] * q[1] - q[0] * p[1] for p, q in zip(above, turned, strict=True)), Fraction(0)
    )
    return abs(twice) / 2
