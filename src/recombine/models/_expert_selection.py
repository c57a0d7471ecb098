"""Which experts a token chooses, and how much each of them counts."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._balanced_assignment import balanced_assignment
from ._dense import Dense
from ._sinkhorn import sinkhorn


class AbstractSelection(eqx.Module):
    """A selection function: experts are ranked by scores, and the chosen ones get weights."""

    @abc.abstractmethod
    def scores(
        self,
        logits: Float[Array, "tokens experts"],
        x: Float[Array, "tokens width"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, "tokens experts"]:
        """What experts are ranked by.

        **Arguments:**

        - `key`: in training; None in evaluation.
        """

    @abc.abstractmethod
    def weights(
        self,
        logits: Float[Array, "tokens experts"],
        scores: Float[Array, "tokens experts"],
        chosen: Int[Array, "tokens chosen"],
    ) -> Float[Array, "tokens chosen"]:
        """How much every chosen expert counts."""


def taken(
    values: Float[Array, "tokens experts"], chosen: Int[Array, "tokens chosen"]
) -> Float[Array, "tokens chosen"]:
    """The values of the chosen experts."""
    return jnp.take_along_axis(values, chosen, axis=1)


class SigmoidSelection(AbstractSelection):
    """Experts do not compete: each counts by the sigmoid of its logit, as in sigma-MoE."""

    def scores(self, logits, x, *, key=None):
        return logits

    def weights(self, logits, scores, chosen):
        return jax.nn.sigmoid(taken(logits, chosen))


class SoftmaxBeforeSelection(AbstractSelection):
    """The softmax over all experts, without renormalisation: as in Switch with one expert."""

    def scores(self, logits, x, *, key=None):
        return logits

    def weights(self, logits, scores, chosen):
        return taken(jax.nn.softmax(logits), chosen)


class SoftmaxAfterSelection(AbstractSelection):
    """The softmax over the chosen experts: the softmax over all, renormalised (Eqs. F.1 to F.3)."""

    def scores(self, logits, x, *, key=None):
        return logits

    def weights(self, logits, scores, chosen):
        return jax.nn.softmax(taken(logits, chosen))


class SinkhornSelection(AbstractSelection):
    """S-BASE: in training ranked by balanced scores, always weighted by sigmoids."""

    iterations: int = eqx.field(static=True, default=3)
    released: bool = eqx.field(static=True, default=False)
    """Whether the scores are those of the published code; see `sinkhorn`."""

    def scores(self, logits, x, *, key=None):
        if key is None:
            return logits
        balanced = sinkhorn(logits, iterations=self.iterations, released=self.released)
        return jax.lax.stop_gradient(balanced)

    def weights(self, logits, scores, chosen):
        return jax.nn.sigmoid(taken(logits, chosen))


class BaseSelection(AbstractSelection):
    """BASE: in training the exact assignment with equal loads, one expert per token (Eq. 7.18)."""

    def scores(self, logits, x, *, key=None):
        if key is None:
            return logits
        return jax.nn.one_hot(balanced_assignment(logits), logits.shape[1], dtype=logits.dtype)

    def weights(self, logits, scores, chosen):
        return jax.nn.sigmoid(taken(logits, chosen))


class NoisySelection(AbstractSelection):
    """Noisy top-k of Shazeer et al.: z + N(0, 1) softplus(W₄ x) in training.

    Weights are the softmax over the chosen noisy scores.
    """

    noise: Dense
    """W₄."""

    def scores(self, logits, x, *, key=None):
        if key is None:
            return logits
        drawn = jax.random.normal(key, logits.shape, logits.dtype)
        return logits + drawn * jax.nn.softplus(self.noise(x))

    def weights(self, logits, scores, chosen):
        return jax.nn.softmax(taken(scores, chosen))
