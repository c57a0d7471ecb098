"""Contextual classification: one of two inputs counts, and the context says which."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from recombine.models._gated_linear import GatedExamples
from recombine.theory._context import ContextStatistics, context_statistics

from ._task import AbstractTask


class ContextBatch(NamedTuple):
    """Inputs, contexts (0 or 1) and targets."""

    x: Float[Array, "size 2"]
    context: Int[Array, " size"]
    y: Float[Array, "size 1"]


class ContextTask(AbstractTask):
    """Report the input that the context names: y = x[context].

    The two inputs are independent and uniform on (-1, 1), the contexts are equally likely. For
    example, x = (0.3, -0.8) has the target 0.3 in context 0, and -0.8 in context 1. Given both
    inputs but not the context, nothing does better than their mean.
    """

    def sample(self, size: int, *, key: PRNGKeyArray) -> ContextBatch:
        """Draw `size` examples."""
        input_key, context_key = jax.random.split(key)
        x = jax.random.uniform(input_key, (size, 2), minval=-1.0, maxval=1.0)
        context = jax.random.bernoulli(context_key, shape=(size,)).astype(int)
        return ContextBatch(x, context, jnp.take_along_axis(x, context[:, None], axis=1))

    def population(self) -> ContextStatistics:
        """The correlations of the whole population (Eq. 24-29)."""
        return context_statistics()

    def statistics(self, batch: ContextBatch) -> ContextStatistics:
        """The correlations of a sample, within about 1 / sqrt(size) of the population's."""
        x, y, size = batch.x, batch.y, len(batch.x)
        gates = jax.nn.one_hot(batch.context, 2, dtype=x.dtype)
        return ContextStatistics(
            linear_Sigma_yx=y.T @ x / size,
            linear_Sigma_x=x.T @ x / size,
            Sigma_yx=jnp.einsum("np,no,ni->poi", gates, y, x) / size,
            Sigma_x=jnp.einsum("np,nq,ni,nk->pqik", gates, gates, x, x) / size,
            Sigma_y=y.T @ y / size,
        )

    def gated_examples(self, batch: ContextBatch, *, gated: bool = True) -> GatedExamples:
        """A sample for a network with one pathway per context, or (`gated=False`) one always on.

        The names of nodes are those of `recombine.models.pathway_graph(2)`, or of
        `pathway_graph(1)`.
        """
        gates = {f"h{p}": (batch.context == p).astype(batch.x.dtype) for p in range(2)}
        return GatedExamples(x={"x": batch.x}, y={"y": batch.y}, node_gates=gates if gated else {})
