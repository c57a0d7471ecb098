"""Addition and multiplication by one network: do operations have weights of their own?"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ._number_batch import BASE, NumberBatch, digits_of, one_hot_digits
from ._task import AbstractTask

ARITHMETIC_OPERATIONS = ("add", "multiply")
"""The operations of `AddMultiply`, in the order of their inputs."""


class AddMultiply(AbstractTask):
    """The sum or the product of two numbers, modulo 10 ** digits (Section 3.2.2).

    With two digits, 17 and 85, and "multiply": the inputs are 7, 1, 5, 8 and the operation, each
    one-hot; the result is 1445 modulo 100, so that the labels are 5 and 4.
    """

    digits: int = 2
    """Digits of each number, and of the result."""
    multiply: float | Float[Array, ""] = 0.5
    """The probability of a multiplication: 0 for sums alone, 1 for products alone."""

    def __check_init__(self):
        check_counts(self, "digits")

    @property
    def inputs(self) -> int:
        return 2 * self.digits * BASE + len(ARITHMETIC_OPERATIONS)

    @property
    def results(self) -> int:
        return 1

    def batch(self, numbers: Int[Array, "size 2"], operations: Int[Array, " size"]) -> NumberBatch:
        """Chosen numbers, and what to do with them."""
        digits = one_hot_digits(numbers, self.digits).reshape(len(numbers), -1)
        asked = jax.nn.one_hot(operations, len(ARITHMETIC_OPERATIONS))
        result = self.results_of(numbers)[jnp.arange(len(numbers)), operations]
        return NumberBatch(
            jnp.concatenate([digits, asked], axis=1), digits_of(result, self.digits)[:, None],
            jnp.ones((len(numbers), 1)), operations,
        )  # fmt: skip

    def results_of(self, numbers: Int[Array, "size 2"]) -> Int[Array, "size operations"]:
        """What every operation gives."""
        both = jnp.stack([numbers.sum(axis=1), numbers.prod(axis=1)], axis=1)
        return both % BASE**self.digits

    def sample(self, size: int, *, key: PRNGKeyArray) -> NumberBatch:
        """Uniform numbers, and an operation for each pair of them."""
        of_numbers, of_operations = jax.random.split(key)
        numbers = jax.random.randint(of_numbers, (size, 2), 0, BASE**self.digits)
        operations = jax.random.bernoulli(of_operations, self.multiply, (size,))
        return self.batch(numbers, operations.astype(int))

    def answers(self, batch: NumberBatch) -> Int[Array, "size operations digits"]:
        """The digits that every operation would give on the numbers of a batch."""
        hot = batch.x[:, : 2 * self.digits * BASE].reshape(-1, 2, self.digits, BASE)
        numbers = (hot.argmax(axis=3) * BASE ** jnp.arange(self.digits)).sum(axis=2)
        return digits_of(self.results_of(numbers), self.digits)
