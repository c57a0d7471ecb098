"""How much a prediction tells of an input that it should ignore: I(Ŷ; X₂ | X₁)."""

import jax
import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float, Int


def _bits(p: Float[Array, "*rows classes"]) -> Float[Array, "*rows"]:
    """The entropy of every row of probabilities."""
    return entr(p).sum(axis=-1) / jnp.log(2.0)


def leakage(predictions: Int[Array, "firsts seconds"], classes: int) -> Float[Array, ""]:
    """I(Ŷ; X₂ | X₁) in bits of a predictor that answers with one class, where X₂ is drawn
    independently of X₁.

    It is the mean over first inputs of the entropy of the answers over their partners: 0 if and
    only if no answer changes with X₂, and log₂ `classes` if X₂ alone decides and all answers are
    equally frequent. Entropies of samples are underestimates: n partners show at most log₂ n bits.

    ```python
    >>> leakage(jnp.array([[3, 3, 3, 3], [0, 1, 0, 1]]), 10)
    Array(0.5, dtype=float32)
    ```

    **Arguments:**

    - `predictions`: `[i, j]` is the answer to the first input i with its partner j.
    - `classes`: how many answers there are, counted from 0.
    """
    return table_leakage(jax.nn.one_hot(predictions, classes, dtype=float))


def table_leakage(
    predictions: Float[Array, "firsts seconds classes"],
    *,
    firsts: Float[Array, " firsts"] | None = None,
    seconds: Float[Array, " seconds"] | None = None,
) -> Float[Array, ""]:
    """I(Ŷ; X₂ | X₁) in bits of a predictor that answers with probabilities, with X₂ independent of
    X₁: Σ p(x₁) p(x₂) KL(P(Ŷ | x₁, x₂) ‖ Σ_x₂' p(x₂') P(Ŷ | x₁, x₂')).

    Independence makes this an intervention on X₂: under a joint distribution of training, in which
    X₂ goes with X₁, the same quantity would measure that distribution too.

    **Arguments:**

    - `predictions`: P(Ŷ | x₁, x₂); sums to 1 over the last axis.
    - `firsts`, `seconds`: p(x₁) and p(x₂), up to a factor; uniform if None.
    """
    p1 = jnp.ones(len(predictions)) if firsts is None else firsts
    p2 = jnp.ones(predictions.shape[1]) if seconds is None else seconds
    mixed = jnp.einsum("ijc,j->ic", predictions, p2) / p2.sum()
    told = _bits(mixed) - _bits(predictions) @ p2 / p2.sum()
    return jnp.maximum(told @ p1 / p1.sum(), 0)
