"""Arithmetic on numbers that are given digit by digit."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

BASE = 10


class NumberBatch(NamedTuple):
    """Numbers to compute with, and the digits of what comes out."""

    x: Float[Array, "size inputs"]
    """The digits, each as a one-hot vector, least significant first; and what else is asked."""
    labels: Int[Array, "size results digits"]
    """The digits of every result, least significant first."""
    weights: Float[Array, "size results"]
    """Which results count."""
    kinds: Int[Array, " size"]
    """Which operation is asked for."""


def digits_of(numbers: Int[Array, "*shape"], digits: int) -> Int[Array, "*shape digits"]:
    """The last digits of numbers, least significant first.

    ```python
    digits_of(jnp.array(142), 2)  # [2, 4]
    ```
    """
    return numbers[..., None] // BASE ** jnp.arange(digits) % BASE


def one_hot_digits(
    numbers: Int[Array, "size numbers"], digits: int
) -> Float[Array, "size numbers inputs"]:
    """The digits of every number as one-hot vectors, side by side."""
    hot = jax.nn.one_hot(digits_of(numbers, digits), BASE)
    return hot.reshape(*numbers.shape, digits * BASE)
