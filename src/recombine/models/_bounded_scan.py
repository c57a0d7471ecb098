"""A scan that stops early, and can be differentiated all the same."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

Carry = TypeVar("Carry")


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def bounded_scan(
    step: Callable[[Any, Carry, Any], Carry],
    weights: Any,
    start: Carry,
    xs: Any,
    length: Int[Array, ""],
) -> Carry:
    """The first `length` steps of a scan, where only the run decides how many that is.

    Work and time go with `length`, not with the size of `xs`. Of what a step computes nothing but
    the carry is kept for the gradient; the rest is computed again.

    **Arguments:**

    - `step`: `step(weights, carry, x) -> carry`, a function of its arguments alone.
    - `weights`: what all steps share. Gradients flow to it and to `start`.
    - `xs`: integers with a leading axis, the steps.

    **Returns:** the carries after every step, stacked, with zeros from `length` on.
    """
    steps = len(jax.tree.leaves(xs)[0])
    carries = jax.tree.map(lambda c: jnp.zeros((steps, *c.shape), c.dtype), start)

    def body(t, state):
        carry, carries = state
        carry = step(weights, carry, _at(xs, t))
        return carry, jax.tree.map(lambda all, now: all.at[t].set(now), carries, carry)

    return jax.lax.fori_loop(0, length, body, (start, carries))[1]


def _forward(step, weights, start, xs, length):
    carries = bounded_scan(step, weights, start, xs, length)
    return carries, (weights, start, xs, length, carries)


def _backward(step, kept, cotangents):
    weights, start, xs, length, carries = kept

    def body(i, state):
        to_weights, to_carry = state
        t = length - 1 - i
        before = jax.tree.map(lambda s, c: jnp.where(t > 0, c[t - 1], s), start, carries)
        _, pull_back = jax.vjp(lambda w, c: step(w, c, _at(xs, t)), weights, before)
        more, to_carry = pull_back(jax.tree.map(jnp.add, to_carry, _at(cotangents, t)))
        return jax.tree.map(jnp.add, to_weights, more), to_carry

    zeros = jax.tree.map(jnp.zeros_like, (weights, start))
    to_weights, to_start = jax.lax.fori_loop(0, length, body, zeros)
    return to_weights, to_start, None, None


def _at(tree, t):
    return jax.tree.map(lambda leaf: leaf[t], tree)


bounded_scan.defvjp(_forward, _backward)
