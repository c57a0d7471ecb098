"""Does a gradient step make a model depend on inputs that its target does not need?

Propositions 1 to 5 of "Gradient descent resists compositionality", as far as a program can check
them. They speak of derivatives that are not zero; none of them bounds an error.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ..splits._information import mutual_information


class DerivativeAndInformation(NamedTuple):
    """The two sides of Proposition 1 for a function Y = f(X): I(X; Y) > 0 ⟺ ∂Y/∂X ≠ 0."""

    information: float
    """I(X; Y) in bits."""
    slopes: Float[Array, " points"]
    """∂Y/∂X at every value of X."""

    @property
    def agree(self) -> bool:
        """Whether both sides are true, or both false."""
        return (self.information > 0) == bool(jnp.any(self.slopes != 0))


def derivative_and_information(
    f: Callable[[Array], Array], x: Float[Array, " points"]
) -> DerivativeAndInformation:
    """Both sides of Proposition 1, where X takes the values `x` equally often.

    As stated the proposition is false, in both directions: see `proposition_1_counterexamples`. It
    holds for differentiable f and an X with a density on a connected support, where both sides say
    that f is not constant.
    """
    y = np.unique(np.asarray(f(x)), return_inverse=True)[1]
    table = np.eye(y.max() + 1)[y]
    return DerivativeAndInformation(mutual_information(table, 0, 1), jax.vmap(jax.grad(f))(x))


def proposition_1_counterexamples(points: int = 100) -> dict[str, DerivativeAndInformation]:
    """Functions for which Proposition 1 fails.

    - `sign`: Y = sign(X) with X symmetric around 0. I(X; Y) is 1 bit, and the derivative is 0
        wherever it is defined.
    - `square of a sign`: Y = X² with X = ±1. The derivative is 2 X, never 0, but Y is always 1, so
        that I(X; Y) = 0: the support of X is not connected.

    **Arguments:**

    - `points`: the number of values of X for `sign`.
    """
    symmetric = (jnp.arange(points) + 0.5) / points * 2 - 1
    return {
        "sign": derivative_and_information(jnp.sign, symmetric),
        "square of a sign": derivative_and_information(jnp.square, jnp.array([-1.0, 1.0])),
    }


class InformationAlongTraining(NamedTuple):
    """What predictions tell of targets and of inputs, by step (Proposition 2)."""

    of_target: Float[np.ndarray, " steps"]
    """I(Y; Ŷ) in bits."""
    of_input: Float[np.ndarray, " steps"]
    """I(X; Ŷ) in bits."""

    def bounded(self, tolerance: float = 1e-9) -> bool:
        """Whether I(X; Ŷ) ≥ I(Y; Ŷ) at every step, up to `tolerance` bits."""
        return bool(np.all(self.of_input >= self.of_target - tolerance))

    def after_first_gain(self, losses: Float[ArrayLike, " steps"]) -> float:
        """I(Y; Ŷ) at the first step with a loss below that of the step before.

        The proposition takes for granted that it is above 0. NaN if no step lowers the loss.
        """
        lower = np.flatnonzero(np.diff(np.asarray(losses)) < 0)
        return float(self.of_target[lower[0] + 1]) if len(lower) else float("nan")


def information_along_training(
    data: Float[ArrayLike, "targets inputs"],
    predictions: Float[ArrayLike, "steps inputs answers"],
) -> InformationAlongTraining:
    """I(Y; Ŷ) and I(X; Ŷ) at every step of a training run (Proposition 2).

    Y → X → Ŷ is a Markov chain, because predictions are made from X alone. So I(X; Ŷ) ≥ I(Y; Ŷ):
    a model whose predictions have come to tell something of the target depends on its input.

    Inputs that are not discrete can be numbered: each sample is a value of X of its own. Do not put
    them into bins: predictions may then tell more of the target than the bin does.

    **Arguments:**

    - `data`: P(Y, X), or counts.
    - `predictions`: P(Ŷ | X) at every step. Use rows of an identity matrix for certain answers.
    """
    data, predictions = np.asarray(data, float), np.asarray(predictions, float)
    of_target, of_input = [], []
    for prediction in predictions:
        of_target.append(mutual_information(data @ prediction, 0, 1))
        of_input.append(mutual_information(data.sum(axis=0)[:, None] * prediction, 0, 1))
    return InformationAlongTraining(np.array(of_target), np.array(of_input))


class LinearFirstStep(NamedTuple):
    """The first step of a linear model, and what it should be (Proposition 5)."""

    step: Float[Array, "outputs inputs"]
    """ΔW, by automatic differentiation."""
    predicted: Float[Array, "outputs inputs"]
    """η E[Y Xᵀ] from zero weights and biases, η Cov(Y, X) once the bias is fitted."""


def linear_first_step(
    x: Float[Array, "samples inputs"],
    y: Float[Array, "samples outputs"],
    *,
    learning_rate: float | Float[Array, ""] = 1.0,
    bias_is_fitted: bool = False,
) -> LinearFirstStep:
    """Proposition 5 for Ŷ = W X + b on the loss ½ E‖Y − Ŷ‖², at W = 0.

    The weight from X_j to Ŷ_i, j ≠ i, comes to be ΔW_ij = η E[Y_i X_j], or η Cov(Y_i, X_j) if b is
    E[Y] rather than 0. With centred inputs it is zero exactly where target i and input j are
    uncorrelated in training, whether or not input j has anything to do with target i.
    """

    def loss(W, b):
        return 0.5 * jnp.square(y - x @ W.T - b).sum(axis=1).mean()

    b = y.mean(axis=0) if bias_is_fitted else jnp.zeros(y.shape[1], y.dtype)
    gradient = jax.grad(loss)(jnp.zeros((y.shape[1], x.shape[1]), x.dtype), b)
    moments = y.T @ x / len(x) - bias_is_fitted * jnp.outer(y.mean(axis=0), x.mean(axis=0))
    return LinearFirstStep(-learning_rate * gradient, learning_rate * moments)
