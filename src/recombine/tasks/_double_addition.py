"""The same operation twice: does a network use the same weights for both?"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_counts
from ._number_batch import BASE, NumberBatch, digits_of, one_hot_digits
from ._task import AbstractTask


class DoubleAddition(AbstractTask):
    """Two sums of two numbers each, modulo 10 ** digits, on units of their own (Section 3.2.3).

    With one digit, 7 + 5 and 1 + 3: the inputs are 7, 5, 1 and 3, each one-hot, and the labels 2
    and 4. A network that is analysed for one pair sees the numbers of that pair alone, and only its
    sum counts: `present` says which pairs these are.
    """

    digits: int = 2
    """Digits of each number, and of each sum."""
    present: tuple[float | Float[Array, ""], float | Float[Array, ""]] = (1.0, 1.0)
    """1 for a pair that is there, 0 for one whose inputs are 0 and whose sum does not count."""

    def __check_init__(self):
        check_counts(self, "digits")

    @property
    def inputs(self) -> int:
        return 2 * self.results * self.digits * BASE

    @property
    def results(self) -> int:
        return 2

    def sample(self, size: int, *, key: PRNGKeyArray) -> NumberBatch:
        """Uniform numbers."""
        numbers = jax.random.randint(key, (size, 2 * self.results), 0, BASE**self.digits)
        weights = jnp.broadcast_to(jnp.stack([1.0 * jnp.asarray(p) for p in self.present]),
                                   (size, self.results))  # fmt: skip
        hot = one_hot_digits(numbers, self.digits).reshape(size, self.results, -1)
        sums = numbers.reshape(size, self.results, 2).sum(axis=2)
        return NumberBatch(
            (hot * weights[:, :, None]).reshape(size, -1), digits_of(sums, self.digits),
            weights, jnp.zeros(size, int),
        )  # fmt: skip
