"""Adaptive computation time: columns decide after how many steps they are done."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._dense import Dense


class HaltingState(NamedTuple):
    """What columns carry from one step to the next."""

    output: Float[Array, "batch length width"]
    halting: Float[Array, "batch length"]
    """The sum of the probabilities to halt so far."""
    remainder: Float[Array, "batch length"]
    """The weight of the step at which a column halted; 0 before, and for padding."""
    steps: Int[Array, "batch length"]
    """How many steps a column took; 0 for padding."""
    done: Bool[Array, "batch length"]


class AdaptiveTime(eqx.Module):
    """Halting of columns, after Graves (A) or after Dehghani et al. (U): Appendix D.1.

    Before every step a column halts with probability p, the sigmoid of a linear function of the
    column. It is done at the first step where the sum of its p exceeds 1 − ε, and that step weighs
    what is left to 1: the remainder R. Columns go on changing when they are done, and can be read,
    but their output stays. The output is Σ_t p_t h_t, of the columns *after* step t.

    As Dehghani et al. have it (`decaying`), the output is instead o ← (1 − p_t) o + p_t h_t, and
    nothing is forced at the last step. In variant A the last step weighs the remainder in any case,
    so that all weights of a column sum to 1.
    """

    halt: Dense
    decaying: bool = eqx.field(static=True)
    epsilon: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        *,
        decaying: bool = False,
        epsilon: float = 0.01,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `width`: column width.
        - `decaying`: variant U.
        - `epsilon`: ε.
        """
        self.halt = Dense.uniform(width, 1, key=key)
        self.decaying, self.epsilon = decaying, epsilon

    def start(
        self, columns: Float[Array, "batch length width"], mask: Bool[Array, "batch length"]
    ) -> HaltingState:
        """The state before the first step: padding, where the mask is false, is done."""
        zeros = jnp.zeros(mask.shape, columns.dtype)
        steps = jnp.zeros(mask.shape, int)
        return HaltingState(jnp.zeros_like(columns), zeros, zeros, steps, ~mask)

    def advance(
        self,
        state: HaltingState,
        before: Float[Array, "batch length width"],
        after: Float[Array, "batch length width"],
        last: Bool[Array, ""],
    ) -> HaltingState:
        """One step, from the columns before and after it; `last` if no other step follows."""
        output, halting, remainder, steps, done = state
        p = jnp.where(done, 0, jax.nn.sigmoid(self.halt(before))[..., 0])
        halts = ~done & (halting + p > 1 - self.epsilon)
        if not self.decaying:
            halts = halts | (~done & last)
        left = 1 - halting
        weight = jnp.where(halts, left, p)[..., None]
        kept = 1 - weight if self.decaying else 1
        return HaltingState(
            kept * output + weight * after,
            halting + p,
            jnp.where(halts, left, remainder),
            steps + ~done,
            done | halts,
        )
