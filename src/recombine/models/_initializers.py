"""How weights start."""

import math
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def fan_in_uniform(shape: Sequence[int], inputs: int, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Uniform numbers on ±1/√inputs, with which PyTorch starts the layers of a network."""
    # A flat draw compiles three times as fast as one with three axes.
    drawn = jax.random.uniform(key, (math.prod(shape),), float, minval=-1.0)
    return (drawn * inputs**-0.5).reshape(shape)


def xavier_uniform(
    shape: Sequence[int],
    *,
    fans: int | None = None,
    gain: float | Float[Array, ""] = 1.0,
    key: PRNGKeyArray,
) -> Float[Array, "..."]:
    """Uniform numbers of standard deviation gain √(2 / fans), after Xavier Glorot.

    **Arguments:**

    - `fans`: the number of inputs plus the number of outputs; by default those of a matrix, or of a
        kernel whose last two axes are inputs and outputs.
    """
    drawn = jax.random.uniform(key, (math.prod(shape),), float, minval=-1.0)
    bound = jnp.sqrt(3 * jnp.asarray(2 / _fans(shape, fans), float))
    return gain * (drawn * bound).reshape(shape)


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


@partial(jax.jit, static_argnames="shape")
def orthogonal(
    shape: tuple[int, ...], scale: float | Float[Array, ""], *, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Random matrices, the last two axes of `shape`, all of whose singular values are `scale`.

    Uniformly distributed: the QR factor of a Gaussian matrix, with the signs of R moved into Q.
    """
    *batch, rows, columns = shape
    tall = (*batch, max(rows, columns), min(rows, columns))
    # Drawn flat: XLA takes several times as long to compile draws with more axes.
    Q, R = jnp.linalg.qr(jax.random.normal(key, (math.prod(tall),)).reshape(tall))
    Q = Q * jnp.sign(jnp.diagonal(R, axis1=-2, axis2=-1))[..., None, :]
    return scale * (jnp.swapaxes(Q, -1, -2) if columns > rows else Q)


def rescaled_normal(shape: Sequence[int], std: float, *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Normal numbers cut off at two standard deviations, then scaled to deviate by `std`."""
    drawn = truncated_normal(shape, 1.0, key=key)
    return drawn * (std / jnp.sqrt(jnp.square(drawn - drawn.mean()).mean()))


def _fans(shape: Sequence[int], fans: int | None) -> int:
    *field, inputs, outputs = shape
    return math.prod(field) * (inputs + outputs) if fans is None else fans
