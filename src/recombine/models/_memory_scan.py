"""A controller and its memory, step by step, with a derivative that keeps little.

The derivative of a plain loop keeps every intermediate of every step, among them all links, and
adds to the gradient of every weight at every step. Here the loop keeps small things only: the sums
of every layer and the state without cells and links, which are kept once per segment and worked out
again from there. Gradients of weights are one product over all steps.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._memory import MemoryState, access, rewrite


class Cycle(NamedTuple):
    """What a step does besides sums, as functions that close over no arrays."""

    control: Callable[..., tuple[Array, Any]]
    """`(sums, words, state)` to what the controller says, and its state."""
    asked: Callable[[Array], Any]
    """What the sums of the interface ask of memory."""
    empties: bool

    def step(self, sums, state, reads):
        """What is said, the state after a step, and how heads read."""
        controller, memory = state
        words = memory.words.reshape(len(memory.words), -1)
        says, new = self.control(sums, words, controller)
        asked = self.asked(sums(-1, says))
        if reads is not None:
            new = jax.tree.map(lambda a, b: jnp.where(reads[:, None], a, b), new, controller)
        after, reading = access(asked, memory, empties=self.empties, reads=reads)
        return says, (new, after), asked, reading


class Weighed:
    """Sums of layers as products, which are noted with what was fed."""

    def __init__(self, given, weights):
        self.given, self.weights = given, weights
        self.fed, self.found = list(given), list(given)

    def __call__(self, layer, fed):
        found = self.given[layer] + fed @ self.weights[layer]
        self.fed[layer], self.found[layer] = fed, found
        return found


@jax.custom_vjp
def _as_found(found, transposed, fed):
    """Sums that are known already, with the derivative by what was fed."""
    return found


_as_found.defvjp(
    lambda found, transposed, fed: (found, transposed),
    lambda transposed, slope: (slope, None, slope @ transposed),
)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def memory_scan(
    cycle: Cycle,
    given: tuple[Float[Array, "time batch _"], ...],
    weights: tuple[Float[Array, "_ _"], ...],
    start: Any,
    reads: Bool[Array, "time batch"] | None,
) -> tuple[Float[Array, "time batch size"], Float[Array, "time batch heads word"], Any]:
    """What the controller says and the heads read at all steps, and the state after the last.

    **Arguments:**

    - `given`: what enters the sums of every layer of the controller and of the interface, which is
        the last one, besides products with `weights`.
    - `reads`: whether a sequence is not over yet; by default none is.
    """

    return _forward(cycle, given, weights, start, reads)[0]


def _forward(cycle, given, weights, start, reads):
    steps = len(given[0])
    segments, per = _segments(steps)
    padded = segments * per - steps
    if padded:
        reads = jnp.ones(given[0].shape[:2], bool) if reads is None else reads
    # Steps that are added read nothing.
    inputs = jax.tree.map(lambda x: _cut(x, segments, per), (given, reads))

    def step(state, now):
        given, reads = now
        sums = Weighed(given, weights)
        says, after, _, _ = cycle.step(sums, state, reads)
        controller, memory = state
        kept = controller, memory.small, after[1].written
        return after, (says, after[1].words, tuple(sums.fed), tuple(sums.found), kept)

    def segment(state, now):
        def go(state):
            return jax.lax.scan(step, state, now)

        after, small = _unless_over(go, state, now[1])
        return after, (state[1].large, small)

    last, (large, (says, words, *small)) = jax.lax.scan(segment, start, inputs)
    says, words = (x.reshape(-1, *x.shape[2:])[:steps] for x in (says, words))
    return (says, words, last), (weights, large, small, inputs[1])


def _backward(cycle, residual, slopes):
    weights, large, (fed, found, kept), reads = residual
    segments, per = found[-1].shape[:2]
    steps = len(slopes[0])
    transposed = tuple(weight.T for weight in weights)

    def replay(large, now):
        """What was in cells and links before each step."""
        found, (_, small, written), reads = now
        w = written if reads is None else jnp.where(reads[:, None], written, 0)
        before = MemoryState(*large, *small)
        after = rewrite(cycle.asked(found[-1]), before, w, empties=cycle.empties, reads=reads)
        return after, large

    def step(slope, now):
        large, found, (controller, small, _), reads, of_says, of_words = now

        def again(found, state):
            def sums(layer, fed):
                return _as_found(found[layer], transposed[layer], fed)

            says, after, _, _ = cycle.step(sums, state, reads)
            return says, after

        _, pull = jax.vjp(again, found, (controller, MemoryState(*large, *small)))
        controller, memory = slope
        memory = memory._replace(words=memory.words + of_words)
        of_found, slope = pull((of_says, (controller, memory)))
        return slope, of_found

    def segment(slope, now):
        large, found, kept, reads, of_says, of_words = now

        def go(slope):
            _, before = jax.lax.scan(replay, large, (found, kept, reads))
            now = before, found, kept, reads, of_says, of_words
            return jax.lax.scan(step, slope, now, reverse=True)

        return _unless_over(go, slope, reads)

    of_says, of_words, of_last = slopes
    slopes = (_cut(slope, segments, per) for slope in (of_says, of_words))
    now = large, found, kept, reads, *slopes
    of_start, of_found = jax.lax.scan(segment, of_last, now, reverse=True)
    of_given = tuple(x.reshape(-1, *x.shape[2:])[:steps] for x in of_found)
    rows = lambda x: x.reshape(-1, x.shape[-1])  # noqa: E731
    of_weights = tuple(rows(a).T @ rows(b) for a, b in zip(fed, of_found, strict=True))
    return of_given, of_weights, of_start, None


memory_scan.defvjp(_forward, _backward)


def _unless_over(go: Callable, carry: Any, reads: Bool[Array, "time batch"] | None) -> Any:
    """`go(carry)`; where all sequences are over, `carry` and zeros instead, at no cost."""
    if reads is None:
        return go(carry)
    shapes = jax.eval_shape(go, carry)[1]

    def skip(carry):
        return carry, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    return jax.lax.cond(reads.any(), go, skip, carry)


def _segments(steps: int) -> tuple[int, int]:
    """How many segments of how many steps: about as many as each has, and little to fill up."""
    root = max(1, round(steps**0.5))
    sizes = range(max(1, root // 2), 2 * root + 1)
    per = min(sizes, key=lambda n: (-steps % n, abs(n - root)))
    return -(-steps // per), per


def _cut(x: Array, segments: int, per: int) -> Array:
    """Steps as segments, filled up with zeros."""
    fill = segments * per - len(x)
    if fill:
        x = jnp.concatenate([x, jnp.zeros((fill, *x.shape[1:]), x.dtype)])
    return x.reshape(segments, per, *x.shape[1:])
