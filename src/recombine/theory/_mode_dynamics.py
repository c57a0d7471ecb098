"""Dynamics of singular modes: the interface of a reduced system of ODEs, and its two solvers."""

from abc import abstractmethod
from typing import Generic, TypeVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

State = TypeVar("State")


def as_numbers(x) -> Array:
    """`x` as an array of floats of the default precision."""
    return jnp.asarray(x, float)


class AbstractModeDynamics(eqx.Module, Generic[State]):
    """A system of ODEs for the strengths of singular modes."""

    @abstractmethod
    def start(self, b0: float | Float[Array, "..."]) -> State:
        """The state in which every weight has strength `b0` in every mode."""

    @abstractmethod
    def rate(self, state: State) -> State:
        """The time derivative of `state`."""

    @abstractmethod
    def strength(self, state: State) -> Float[Array, "*times modes"]:
        """The strength of each mode in the map from inputs to outputs; S / D when learned."""

    @abstractmethod
    def conserved(self, state: State) -> PyTree[Float[Array, "..."]]:
        """What gradient flow leaves unchanged."""


@eqx.filter_jit
def _integrate(dynamics, start, times, rtol, atol, max_steps: int):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, state, args: args.rate(state)),
        diffrax.Tsit5(),
        t0=0.0,
        t1=times[-1],
        dt0=None,
        y0=start,
        args=dynamics,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=max_steps,
    )
    return solution.ys


def integrate(
    dynamics: AbstractModeDynamics[State],
    start: State,
    times: Float[Array, " times"],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
) -> State:
    """Solve the reduced dynamics with Tsitouras' adaptive Runge-Kutta method of order 5.

    **Arguments:**

    - `dynamics`: the right-hand side.
    - `start`: the state at time 0.
    - `times`: when to record the state; increasing, from 0 on.
    - `rtol`, `atol`: the tolerances of a step, by default 1e-10 and 1e-12 in 64-bit numbers, 1e-5
        and 1e-7 in 32-bit numbers.
    - `max_steps`: the solver raises an error if it needs more steps than this.

    **Returns:** the states at `times`, stacked along a new leading axis.
    """
    start, times = jax.tree.map(as_numbers, start), as_numbers(times)
    double = times.dtype == jnp.float64
    rtol = (1e-10 if double else 1e-5) if rtol is None else rtol
    atol = (1e-12 if double else 1e-7) if atol is None else atol
    return _integrate(dynamics, start, times, as_numbers(rtol), as_numbers(atol), max_steps)


@eqx.filter_jit
def _euler(dynamics, start, step, steps: int):
    def advance(state, _):
        after = jax.tree.map(lambda x, rate: x + step * rate, state, dynamics.rate(state))
        return after, after

    _, states = jax.lax.scan(advance, start, None, length=steps)
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, states)


def euler(
    dynamics: AbstractModeDynamics[State], start: State, steps: int, *, step: float = 1.0
) -> State:
    """Solve the reduced dynamics with Euler's method: the reduction of gradient descent itself.

    With `tau` from `time_constant` and a step of 1 this is gradient descent on the full network
    from decoupled weights, mode by mode, up to rounding.

    **Returns:** the states before each step and after the last, stacked: `[steps + 1, ...]`.
    """
    return _euler(dynamics, jax.tree.map(as_numbers, start), as_numbers(step), steps)
