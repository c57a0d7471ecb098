"""Terms that are small where all experts are used alike."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ._expert_selection import taken


class AbstractBalance(eqx.Module):
    """A number that training lowers so that no expert is left out."""

    @abc.abstractmethod
    def __call__(
        self,
        logits: Float[Array, "tokens experts"],
        chosen: Int[Array, "tokens chosen"],
        weights: Float[Array, "tokens chosen"],
    ) -> Float[Array, ""]:
        """The term of a batch of tokens.

        **Arguments:**

        - `logits`: those from which experts are chosen.
        - `weights`: how much every chosen expert counts.
        """


class EntropyBalance(AbstractBalance):
    """Σ_e p_e log p_e of the mean p of softmax(z) over tokens, Eqs. 7.19 and 7.20.

    It is − log experts at the least, where all are used alike.
    """

    over_chosen: bool = eqx.field(static=True, default=False)
    """Whether the softmax is over the chosen logits, in the order of choice, as in the published
    code of softmax after top-k: that balances no experts."""

    def __call__(self, logits, chosen, weights):
        logits = taken(logits, chosen) if self.over_chosen else logits
        by_token = jax.nn.log_softmax(logits)
        log_p = jax.nn.logsumexp(by_token, axis=0) - jnp.log(len(logits))
        return (jnp.exp(log_p) * log_p).sum()


class SwitchBalance(AbstractBalance):
    """N Σ_e f_e p_e, of the share f of tokens that chose an expert and the mean p of softmax(z).

    Eqs. 7.14 to 7.16: 1 where all of N experts are used alike by choices of one, N where all tokens
    choose one expert surely.
    """

    released: bool = eqx.field(static=True, default=False)
    """Whether it is divided by N², as in the published code."""

    def __call__(self, logits, chosen, weights):
        tokens, experts = logits.shape
        f = jnp.zeros(experts, logits.dtype).at[chosen.reshape(-1)].add(1 / tokens)
        term = experts * (f * jax.nn.softmax(logits).mean(axis=0)).sum()
        return term / experts**2 if self.released else term


class ImportanceBalance(AbstractBalance):
    """The coefficient of variation σ / μ of the importance of experts, Eq. 7.13.

    Importance is the sum over tokens of an expert's weight. The text prints μ / σ, which would
    unbalance them.
    """

    squared: bool = eqx.field(static=True, default=False)
    """Whether it is squared, as Shazeer et al. have it."""

    def __call__(self, logits, chosen, weights):
        importance = jnp.zeros(logits.shape[1], weights.dtype)
        importance = importance.at[chosen.reshape(-1)].add(weights.reshape(-1))
        variance = jnp.var(importance) / jnp.square(importance.mean())
        # The root has no derivative at 0.
        safe = jnp.where(variance > 0, variance, 1)
        return variance if self.squared else jnp.where(variance > 0, jnp.sqrt(safe), 0)
