"""Gradient flow: what gradient descent on any differentiable loss tends to with small steps."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float

Model = TypeVar("Model")


@eqx.filter_jit
def _flow(loss, model, times, tau, rtol, atol, solver, max_steps: int):
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    # One vector instead of many matrices: the solver's program is several times smaller.
    start, unravel = ravel_pytree(weights)

    def field(t, vector, args):
        gradient = jax.grad(lambda vector: loss(eqx.combine(unravel(vector), rest)))(vector)
        return (-gradient / tau).astype(vector.dtype)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        solver,
        t0=times[0],
        t1=times[-1],
        dt0=None,
        y0=start,
        saveat=diffrax.SaveAt(ts=times),
        # Interpolation between steps is less accurate than the steps: step to the times themselves.
        stepsize_controller=diffrax.ClipStepSizeController(
            diffrax.PIDController(rtol=rtol, atol=atol), step_ts=times
        ),
        max_steps=max_steps,
    )
    return eqx.combine(jax.vmap(unravel)(solution.ys), rest)


def gradient_flow(
    loss: Callable[[Model], Float[Array, ""]],
    model: Model,
    times: Float[ArrayLike, " times"] | Sequence[float],
    *,
    tau: float | Float[Array, ""] = 1.0,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    solver: diffrax.AbstractSolver | None = None,
    max_steps: int = 100_000,
) -> Model:
    """Gradient flow τ dW/dt = −∂L/∂W, integrated with adaptive steps (Eq. 2).

    **Arguments:**

    - `loss`: a function of the model, as for `learning.GradientDescent`.
    - `model`: the model at `times[0]`, any Equinox module. Its floating-point arrays flow.
    - `times`: when to record the model; increasing.
    - `tau`: the time constant τ.
    - `rtol`, `atol`: the tolerances of a step. In 32-bit numbers keep rtol at 1e-6 or above.
    - `solver`: a Diffrax solver, by default `diffrax.Dopri8()`.
    - `max_steps`: the integration raises an error if it needs more steps.

    **Returns:** the model with a new leading axis, the times, on its floating-point arrays. Use
    `eqx.filter_vmap` or `jax.vmap` over it to evaluate all of them.
    """
    number = jnp.asarray
    solver = diffrax.Dopri8() if solver is None else solver
    times = number(times, float)
    return _flow(loss, model, times, number(tau), number(rtol), number(atol), solver, max_steps)
