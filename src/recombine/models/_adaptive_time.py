"""Adaptive computation time: columns decide after how many steps they are done."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ._mlp import Dense


class HaltingState(NamedTuple):
    """What columns carry from one step to the next."""

    output: Float[Array, "batch_and_length size"]
    halting: Float[Array, " batch_and_length"]
    """The sum of the probabilities to halt so far."""
    remainder: Float[Array, " batch_and_length"]
    """The weight of the step at which a column halted."""
    steps: Int[Array, " batch_and_length"]
    """How many steps a column took."""
    done: Bool[Array, " batch_and_length"]


class Pondering(NamedTuple):
    """How long columns computed."""

    steps: Int[Array, "batch length"]
    """Steps of every column until it halted; 0 for padding."""
    remainder: Float[Array, "batch length"]
    """What the halting step weighs; 0 for padding."""


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
        size: int,
        *,
        decaying: bool = False,
        epsilon: float = 0.01,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `size`: of the columns.
        - `decaying`: variant U.
        - `epsilon`: ε.
        """
        self.halt = Dense.uniform(size, 1, key=key)
        self.decaying, self.epsilon = decaying, epsilon

    def start(
        self, columns: Float[Array, "batch_and_length size"], there: Bool[Array, "batch length"]
    ) -> HaltingState:
        """Before the first step: padding is done, nothing else."""
        zeros = jnp.zeros(len(columns), columns.dtype)
        steps = jnp.zeros(len(columns), int)
        return HaltingState(jnp.zeros_like(columns), zeros, zeros, steps, ~there.reshape(-1))

    def advance(
        self,
        state: HaltingState,
        before: Float[Array, "batch_and_length size"],
        after: Float[Array, "batch_and_length size"],
        last: Bool[Array, ""],
    ) -> HaltingState:
        """One step, from the columns before and after it; `last` if no other step follows."""
        output, halting, remainder, steps, done = state
        p = jnp.where(done, 0, jax.nn.sigmoid(self.halt(before))[:, 0])
        halts = ~done & (halting + p > 1 - self.epsilon)
        if not self.decaying:
            halts = halts | (~done & last)
        left = 1 - halting
        weight = jnp.where(halts, left, p)
        kept = 1 - weight[:, None] if self.decaying else 1
        return HaltingState(
            kept * output + weight[:, None] * after,
            halting + p,
            jnp.where(halts, left, remainder),
            steps + ~done,
            done | halts,
        )
