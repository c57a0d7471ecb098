"""What can be said of sparse two-layer blocks without training: errors, bounds, work."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class ApproximationError(NamedTuple):
    """What leaving out hidden units costs, and what it is bounded by: Section 7.1."""

    error: Float[Array, "*rows"]
    """‖Σ_{i left out} α_i v_i‖²."""
    printed: Float[Array, "*rows"]
    """Σ α_i ‖v_i‖², which the text prints as a bound; it is none."""
    triangle: Float[Array, "*rows"]
    """(Σ α_i ‖v_i‖)², by the triangle inequality."""
    cauchy_schwarz: Float[Array, "*rows"]
    """The number of units left out times Σ α_i² ‖v_i‖²."""
    orthogonal: Float[Array, "*rows"]
    """Σ α_i² ‖v_i‖², the error itself if all v are orthogonal."""


def approximation_error(
    units: Float[Array, "*rows hidden"],
    values: Float[Array, "hidden width"],
    kept: Bool[Array, "*rows hidden"],
) -> ApproximationError:
    """The squared error of a block y = Σ_i α_i v_i of which some units are kept.

    The printed bound fails for one unit left out with α = 2 and ‖v‖ = 1, where the error is 4:

    ```python
    found = approximation_error(jnp.array([2.0]), jnp.array([[1.0]]), jnp.array([False]))
    found.error, found.printed  # 4, 2
    ```

    **Arguments:**

    - `units`: α, which are not negative.
    - `values`: v, the outgoing weights.
    """
    out = jnp.where(kept, 0, units)
    norms = jnp.linalg.norm(values, axis=1)
    sums = (out * norms).sum(axis=-1)
    squares = jnp.square(out * norms).sum(axis=-1)
    return ApproximationError(
        error=jnp.square(out @ values).sum(axis=-1),
        printed=(out * jnp.square(norms)).sum(axis=-1),
        triangle=jnp.square(sums),
        cauchy_schwarz=(~kept).sum(axis=-1) * squares,
        orthogonal=squares,
    )


def dense_flops(width: int, hidden: int) -> int:
    """Floating-point operations per token of a dense block, without biases and activations."""
    return 4 * width * hidden


def mixture_flops(width: int, experts: int, size: int, chosen: int) -> int:
    """Floating-point operations per token of a mixture of experts, with its router."""
    return 4 * width * size * chosen + 2 * width * experts


def nominal_share(experts: int, chosen: int) -> float:
    """The share of a dense block's work that a mixture needs, as papers print it: K / N_E.

    The router is not counted.
    """
    return chosen / experts


def output_scale(rms_weight: float, experts: int, chosen: int, *, standard: bool = False) -> float:
    """The deviation of a mixture's output divided by that of a dense block, both untrained.

    Each of K experts of N_E adds a part of the variance: rms weight · √(K / N_E), and √N_E times
    that with the standard initialisation.
    """
    scale = rms_weight * (chosen / experts) ** 0.5
    return scale * experts**0.5 if standard else scale
