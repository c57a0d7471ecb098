"""The compiled training loop: a rule, carried out in chunks of steps."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

State = TypeVar("State")


class AbstractRule(eqx.Module, Generic[State]):
    """How a model learns: one step, and what is seen along the way.

    A rule is a PyTree: its arrays (data, learning rates) are inputs of the compiled program, its
    static fields select the program. Rules of one structure and shape share one compilation.
    A field `every`, where a rule has one, is how many steps lie between two observations.
    """

    @abstractmethod
    def step(self, state: State, t: Int[Array, ""]) -> State:
        """Step `t` of learning (`t` counts from 0 over the whole of training)."""

    @abstractmethod
    def observe(self, state: State) -> dict[str, Array]:
        """What is recorded of `state`. The entry `loss`, if there is one, is shown as progress."""

    def noted(self, state: State, seen: dict[str, Array], t: Int[Array, ""]) -> State:
        """`state` after what was `seen` of it at step `t`: where the best network is kept."""
        return state

    def remedy(self, curves: dict[str, np.ndarray]) -> str:
        """What to change if the loss is not finite in `curves`, the observations so far."""
        return "lower the learning rate"


class Progress(NamedTuple):
    """Where a loop stands after a chunk."""

    step: int
    """Steps taken."""
    state: Any
    """The state after them."""
    curves: dict[str, np.ndarray]
    """Everything observed so far, one row per observation; `step` holds the steps observed at."""


def _blocks(rule, state, start, *, every: int, blocks: int):
    """Observe, then take `every` steps; `blocks` times."""
    arrays, rest = eqx.partition(state, eqx.is_array)

    def step(t, arrays):
        return eqx.filter(rule.step(eqx.combine(arrays, rest), t), eqx.is_array)

    def block(arrays, first):
        state = eqx.combine(arrays, rest)
        seen = rule.observe(state)
        arrays = eqx.filter(rule.noted(state, seen, first), eqx.is_array)
        return jax.lax.fori_loop(0, every, lambda i, a: step(first + i, a), arrays), seen

    arrays, seen = jax.lax.scan(block, arrays, start + every * jnp.arange(blocks))
    return eqx.combine(arrays, rest), seen


# The lab compiles quickly rather than well. A loop is worth full optimisation, unless it is short.
_SHORT = 100
_advance_briefly = eqx.filter_jit(_blocks)
_advance = eqx.filter_jit(  # type: ignore[call-overload]
    _blocks, compiler_options={"xla_backend_optimization_level": 3}
)


@eqx.filter_jit
def _observe(rule, state, t):
    seen = rule.observe(state)
    return rule.noted(state, seen, t), seen


def _as_arrays(tree):
    """Numbers become array inputs, so that a grid over them shares one compilation."""
    return jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, tree)


def carried(state: State) -> State:
    """`state` as the loop carries it: floats are arrays, and arrays have types of their own."""
    # After a step an array has no weak type, and another type compiles anew. A key has no such
    # type, and must not be asked.
    return jax.tree.map(
        lambda x: x.astype(x.dtype) if getattr(x, "weak_type", False) else x, _as_arrays(state)
    )


def train(
    rule: AbstractRule[State],
    state: State,
    steps: int,
    *,
    every: int | None = None,
    chunk: int = 500,
    resume: Progress | None = None,
    on_chunk: Callable[[Progress], None] | None = None,
) -> tuple[State, dict[str, np.ndarray]]:
    """Carry out `steps` steps of `rule` from `state`.

    `rule.observe` is recorded before step 0, every `every` steps, and after the last step.

    **Arguments:**

    - `state`: the initial state. Its arrays change; what else it holds, functions and whole
        numbers, stays.
    - `steps`: how many steps to take; a multiple of `every`.
    - `every`: steps between two observations; by default the rule's `every`, or 1.
    - `chunk`: about how many steps are compiled into one call; `on_chunk` is called after each.
    - `resume`: a `Progress` that `on_chunk` received in an earlier, interrupted call. The result is
        bit for bit that of the uninterrupted one.

    **Returns:** the final state, and the observations stacked: `{name: [observations, ...]}` with
    the steps at which they were made under `step`.
    """
    every = getattr(rule, "every", 1) if every is None else every
    if steps < 0 or every < 1 or steps % every:
        raise ValueError(f"steps ({steps}) must be a multiple of every ({every}), and not negative")
    rule, state = _as_arrays(rule), carried(state)
    blocks = max(1, chunk // every)
    advance = _advance if steps > _SHORT else _advance_briefly
    done, rows = 0, []
    if resume is not None:
        done, state = resume.step, resume.state
        rows = [{k: v for k, v in resume.curves.items() if k != "step"}]

    def curves_so_far():
        stacked = {k: np.concatenate([r[k] for r in rows]) for k in rows[0]} if rows else {}
        observed = len(next(iter(stacked.values()))) if stacked else 0
        return {"step": every * np.arange(observed)} | stacked

    while done < steps:
        n = min(blocks, (steps - done) // every)
        state, seen = advance(rule, state, jnp.asarray(done), every=every, blocks=n)
        rows.append({k: np.asarray(v) for k, v in seen.items()})
        done += n * every
        if on_chunk is not None:
            on_chunk(Progress(done, state, curves_so_far()))
    state, seen = _observe(rule, state, jnp.asarray(steps))
    rows.append({k: np.asarray(v)[None] for k, v in seen.items()})
    return state, curves_so_far()
