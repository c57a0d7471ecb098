"""Mixtures of experts: feed-forward networks of which every token uses a few."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ._dense import Dense
from ._dropout import dropout, kept, split
from ._expert_balance import AbstractBalance
from ._expert_selection import AbstractSelection
from ._feed_forward import AbstractFeedForward
from ._grouped_product import expert_feed_forward, grouped_product
from ._top_k import keep_largest


class Selected(eqx.Module):
    """The experts of every token."""

    logits: Float[Array, "tokens experts"]
    chosen: Int[Array, "tokens chosen"]
    weights: Float[Array, "tokens chosen"]


class MixtureOfExperts(AbstractFeedForward):
    """y = Σ_e s[e] W₂ᵉ ReLU(W₁ᵉ x), over the experts that a token chooses: Eqs. 7.9 to 7.12.

    Its cost is that of the experts that are used, however many there are. Extras are the `chosen`
    experts and their `weights`, `[batch, length, chosen]`, and `balance`, a number that training
    lowers, if there is such a term.
    """

    router: Dense
    """W₃, from columns to the logits of experts."""
    inner: Float[Array, "experts width size"]
    """W₁ᵉ."""
    outer: Float[Array, "experts size width"]
    """W₂ᵉ."""
    selection: AbstractSelection
    balance: AbstractBalance | None
    chosen: int = eqx.field(static=True)
    """Experts per token, K."""
    expert_dropout: float = eqx.field(static=True, default=0.0)
    """How often an expert cannot be chosen by a token in training, δ of Eq. 7.21."""
    dropout: float = eqx.field(static=True, default=0.0)
    """Dropout of the hidden units of chosen experts."""
    units: int | None = eqx.field(static=True, default=None)
    """How many of the hidden units of all chosen experts together stay, the largest; None: all.
    A step past the thesis."""

    def __check_init__(self):
        if not 1 <= self.chosen <= len(self.inner):
            raise ValueError(f"chosen={self.chosen} is not between 1 and experts={len(self.inner)}")

    def select(
        self, x: Float[Array, "tokens width"], *, key: PRNGKeyArray | None = None
    ) -> Selected:
        """The experts of every token.

        **Arguments:**

        - `key`: for expert dropout and noise, as in training; None for none.
        """
        of_scores, of_experts = split(key, 2)
        logits = self.router(x)
        scores = self.selection.scores(logits, x, key=of_scores)
        ranked = jax.lax.stop_gradient(scores)
        if of_experts is not None and self.expert_dropout > 0:
            there = kept(ranked.shape, self.expert_dropout, key=of_experts)
            ranked = jnp.where(there, ranked, -jnp.inf)
        _, chosen = jax.lax.top_k(ranked, self.chosen)
        return Selected(logits, chosen, self.selection.weights(logits, scores, chosen))

    def __call__(
        self, x: Float[Array, "batch length width"], *, key: PRNGKeyArray | None = None
    ) -> tuple[Float[Array, "batch length width"], dict[str, Array]]:
        of_selection, of_units = split(key, 2)
        rows = x.reshape(-1, x.shape[2])
        found = self.select(rows, key=of_selection)
        extras = {
            "chosen": found.chosen.reshape(*x.shape[:2], -1),
            "weights": found.weights.reshape(*x.shape[:2], -1),
        }
        if self.balance is not None:
            extras["balance"] = self.balance(found.logits, found.chosen, found.weights)
        if self.units is None:
            y = expert_feed_forward(
                rows, found.chosen, found.weights, self.inner, self.outer,
                dropout=self.dropout, key=of_units,
            )  # fmt: skip
        else:
            y = self._by_largest(self.units, rows, found, of_units)
        return y.reshape(x.shape), extras

    def _by_largest(self, units: int, rows, found: Selected, key) -> Float[Array, "tokens width"]:
        """The output of the largest units of the chosen experts."""
        tokens, choice = len(rows), found.chosen.reshape(-1)
        hidden = jax.nn.relu(
            grouped_product(jnp.repeat(rows, self.chosen, axis=0), choice, self.inner)
        )
        hidden = dropout(hidden * found.weights.reshape(-1, 1), self.dropout, key=key)
        hidden = keep_largest(hidden.reshape(tokens, -1), units)
        parts = grouped_product(hidden.reshape(len(choice), -1), choice, self.outer)
        return parts.reshape(tokens, self.chosen, -1).sum(axis=1)
