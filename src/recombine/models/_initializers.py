"""How weights start."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def fan_in_uniform(shape: Sequence[int], inputs: int, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Uniform numbers on ±1/√inputs, with which PyTorch starts the layers of a network."""
    # A flat draw compiles three times as fast as one with three axes.
    drawn = jax.random.uniform(key, (math.prod(shape),), float, minval=-1.0)
    return (drawn * inputs**-0.5).reshape(shape)


def xavier_uniform(
    shape: Sequence[int], *, fans: int | None = None, gain: float = 1.0, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Uniform numbers of standard deviation gain √(2 / fans), after Xavier Glorot.

    **Arguments:**

    - `fans`: the number of inputs plus the number of outputs; by default those of a matrix, or of a
        kernel whose last two axes are inputs and outputs.
    """
    drawn = jax.random.uniform(key, (math.prod(shape),), float, minval=-1.0)
    bound = jnp.sqrt(3 * jnp.asarray(2 / _fans(shape, fans), float))
    drawn = (drawn * bound).reshape(shape)
    return drawn if gain == 1 else gain * drawn


def xavier_normal(
    shape: Sequence[int], *, fans: int | None = None, gain: float = 1.0, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Normal numbers of standard deviation gain √(2 / fans); see `xavier_uniform`."""
    return gain * math.sqrt(2 / _fans(shape, fans)) * jax.random.normal(key, tuple(shape))


def kaiming_normal(shape: Sequence[int], inputs: int, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Normal numbers of standard deviation √(2 / inputs), after Kaiming He."""
    return math.sqrt(2 / inputs) * jax.random.normal(key, tuple(shape))


def truncated_normal(shape: Sequence[int], std: float, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Normal numbers cut off at two nominal standard deviations.

    They are not scaled up again, so that their true standard deviation is 0.88 `std`.
    """
    return std * jax.random.truncated_normal(key, -2.0, 2.0, tuple(shape), float)


def _fans(shape: Sequence[int], fans: int | None) -> int:
    *field, inputs, outputs = shape
    return math.prod(field) * (inputs + outputs) if fans is None else fans
