"""Exclusive-or on the corners of a square."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from recombine.models._gated_linear import GatedExamples

from ._task import AbstractTask


class XorBatch(NamedTuple):
    """Points and their classes."""

    x: Float[Array, "size 2"]
    y: Float[Array, "size 1"]


class XorTask(AbstractTask):
    """Tell apart the diagonals of a square: four points x in {-1, 1}^2, targets +-1.

    For example, with y = x_1 x_2 (the paper's assignment):

        x = (1, 1)    y = 1
        x = (-1, -1)  y = 1
        x = (1, -1)   y = -1
        x = (-1, 1)   y = -1

    No linear map does better than 0, as the inputs and the target are uncorrelated.

    **Arguments:**

    - `exclusive`: the other sign, y = -x_1 x_2: +1 where exactly one of the inputs is. Learning is
        the same.
    """

    exclusive: bool = eqx.field(static=True, default=False)

    def examples(self) -> XorBatch:
        """The four points, in the order above."""
        x = jnp.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
        y = jnp.prod(x, axis=-1, keepdims=True)
        return XorBatch(x, -y if self.exclusive else y)

    def sample(self, size: int, *, key: PRNGKeyArray) -> XorBatch:
        """Draw `size` of the points, uniformly and independently."""
        x, y = self.examples()
        point = jax.random.randint(key, (size,), 0, 4)
        return XorBatch(x[point], y[point])

    def gated_examples(self) -> GatedExamples:
        """The four points for four pathways, each switched on for one of them (Figure 3b).

        The names of nodes are those of `recombine.models.pathway_graph(4)`.
        """
        x, y = self.examples()
        gates = {f"h{p}": gate for p, gate in enumerate(jnp.eye(4))}
        return GatedExamples(x={"x": x}, y={"y": y}, node_gates=gates)
