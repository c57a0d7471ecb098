"""How well a learner does what was demonstrated."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..tasks._episode import Examples


class DemonstrationScores(NamedTuple):
    """Scores of each demonstration; their means over tasks are what figures show."""

    accuracy: Float[Array, "*tasks"]
    """The fraction of steps with the demonstrated action (Figures 4E and 4F)."""
    exact_path: Float[Array, "*tasks"]
    """1 if every step has the demonstrated action, else 0 (Figure A9).

    Another path of the same length counts as an error.
    """
    first_step: Float[Array, "*tasks"]
    """1 if the first step has the demonstrated action, else 0."""
    last_step: Float[Array, "*tasks"]
    """1 if the last step, which reaches the goal, has the demonstrated action, else 0."""


def demonstration_scores(
    outputs: Float[Array, "*tasks steps actions"], demonstration: Examples
) -> DemonstrationScores:
    """Compare the action with the largest output with the demonstrated one, step by step.

    **Arguments:**

    - `outputs`: one number per action for every step, such as logits.
    - `demonstration`: `y` holds the demonstrated actions, `weight` is 0 for padding. Each has at
        least one step that counts.
    """
    right = (outputs.argmax(-1) == demonstration.y.argmax(-1)).astype(outputs.dtype)
    weight = demonstration.weight
    counts = weight > 0
    first = jnp.argmax(counts, axis=-1, keepdims=True)
    last = counts.shape[-1] - 1 - jnp.argmax(counts[..., ::-1], axis=-1, keepdims=True)
    return DemonstrationScores(
        accuracy=(weight * right).sum(-1) / weight.sum(-1),
        exact_path=jnp.where(counts, right, 1).min(-1),
        first_step=jnp.take_along_axis(right, first, axis=-1)[..., 0],
        last_step=jnp.take_along_axis(right, last, axis=-1)[..., 0],
    )
