"""Feed-forward networks: what a column does with itself."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout


class AbstractFeedForward(eqx.Module):
    """A network that acts on every column alone."""

    @abc.abstractmethod
    def __call__(
        self, x: Float[Array, "batch length width"], *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, "batch length outputs"], dict[str, Array]]:
        """The outputs, and extras by name, such as a number that an objective adds to the loss.

        **Arguments:**

        - `key`: for dropout; None for none.
        """


def gelu(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """x Φ(x) itself, as in the published code; JAX approximates it unless told otherwise."""
    return jax.nn.gelu(x, approximate=False)


class DenseFeedForward(AbstractFeedForward):
    """W₂ f(W₁ x + b₁) + b₂. Dropout acts on the hidden units.

    The extra `active`, `[batch, length]`, is how many hidden units of a column are positive.
    """

    inner: Dense
    """W₁."""
    outer: Dense
    """W₂."""
    activation: Callable[[Array], Array] = eqx.field(static=True)
    """f."""
    dropout: float = eqx.field(static=True, default=0.0)

    def __call__(
        self, x: Float[Array, "batch length width"], *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, "batch length outputs"], dict[str, Array]]:
        hidden = dropout(self.activation(self.inner(x)), self.dropout, key=key)
        return self.outer(hidden), {"active": (hidden > 0).sum(axis=2)}
