"""Masks over the weights of a network that are learned."""

import zlib
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from ._gate_sampling import sampled_weights
from ._weight_mask import WeightMask, chosen_weights, layer_names


def named_key(key: PRNGKeyArray, name: str) -> PRNGKeyArray:
    """A key that depends on a name, and on no other name beside it."""
    return jax.random.fold_in(key, zlib.crc32(name.encode()))


class Masked(eqx.Module):
    """A network with masks over its weights: which weights does a function need? (Chapter 3)

    Every mask has a logit per weight. In training a weight is kept with probability σ(logit);
    afterwards it is kept if its logit is positive. Many masks of one network are trained together:

    ```python
    masked = Masked(network, names=("all", "add", "multiply"))
    rule = mask_descent(objective, targets, masked, beta=1e-3, batch_size=128, key=key)
    state, curves = train(rule, rule.init(masked), 2000)
    state.model.mask("add")
    ```
    """

    network: Any
    """Its weights are left as they are, bit for bit, unless they are to be learned, too."""
    logits: Any
    """A PyTree like the network: arrays `[masks, *weights]`, with `None` for what is not masked."""
    frozen: Any
    """Booleans like the network: single weights that stay where weights are learned; or None."""
    names: tuple[str, ...] = eqx.field(static=True)
    """Names of the masks."""

    def __init__(
        self,
        network: Any,
        filter: Any = None,
        *,
        names: Sequence[str] = ("mask",),
        logit: float = 2.0,
        frozen: Any = None,
    ):
        """**Arguments:**

        - `network`: any Equinox model, or another PyTree of arrays.
        - `filter`: what is masked: a function of a leaf, or a PyTree of booleans that is a prefix
            of the network; by default what `maskable` finds.
        - `names`: one per mask.
        - `logit`: where all logits start. At 2 a weight is kept with probability 0.88.
        - `frozen`: booleans for single weights that are not learned: see `next_task`.
        """
        names = tuple(names)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"every mask needs a name of its own; got names={names}")
        self.network, self.names, self.frozen = network, names, frozen
        chosen = chosen_weights(network, filter)
        self.logits = jax.tree.map(
            lambda w: jnp.full((len(names), *w.shape), logit, w.dtype), chosen
        )

    @property
    def layers(self) -> tuple[str, ...]:
        """The paths of the weights that are masked, as `layers[0].weight`."""
        return layer_names(self.logits)

    def _place(self, name: str | None) -> int:
        if name is None and len(self.names) == 1:
            return 0
        if name not in self.names:
            raise ValueError(f"there is no mask {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def mask(self, name: str | None = None) -> WeightMask:
        """A mask after learning: weights with a positive logit are kept.

        **Arguments:**

        - `name`: may be left out if there is one mask.
        """
        place = self._place(name)
        return WeightMask(jax.tree.map(lambda logits: logits[place] > 0, self.logits))

    def masks(self) -> dict[str, WeightMask]:
        """All masks by name."""
        return {name: self.mask(name) for name in self.names}

    def apply(self, name: str | None = None) -> Any:
        """The network under a mask."""
        return self.mask(name).apply(self.network)

    def probabilities(self, name: str | None = None) -> dict[str, Float[Array, "..."]]:
        """The probability σ(logit) with which every weight is kept in training, by layer."""
        place = self._place(name)
        found = (jax.nn.sigmoid(logits[place]) for logits in jax.tree.leaves(self.logits))
        return dict(zip(self.layers, found, strict=True))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the network computes under its mask; there is one."""
        return self.apply()(*args, **kwargs)

    def trainable(self, *, weights: bool = False) -> "Masked":
        """What learns, as `Descent` wants to know it: the logits.

        **Arguments:**

        - `weights`: whether the weights of the network learn, too.
        """
        filters = (eqx.is_inexact_array if weights else False, True)
        found = eqx.tree_at(lambda m: (m.network, m.logits), self, filters)
        return eqx.tree_at(lambda m: m.frozen, found, False, is_leaf=lambda x: x is None)

    def weights(self) -> Any:
        """The weights that are masked, with `None` for all else; a frozen one has no gradient."""
        weights = eqx.filter(self.network, self._chosen)
        if self.frozen is None:
            return weights
        return jax.tree.map(
            lambda w, stays: jnp.where(stays, jax.lax.stop_gradient(w), w), weights, self.frozen
        )

    def words(self, key: PRNGKeyArray, samples: int) -> UInt32[Array, "masks samples layers 2"]:
        """What masks are sampled with. They depend on a mask's name, and on no other mask."""
        shape = (samples, len(self.layers), 2)
        drawn = [jax.random.bits(named_key(key, name), shape, jnp.uint32) for name in self.names]
        return jnp.stack(drawn)

    def sampled(
        self, logits: Any, words: UInt32[Array, "layers 2"], temperature: float = 1.0
    ) -> Any:
        """The network under a sampled mask with these logits, with a gradient by both.

        **Arguments:**

        - `logits`: of one mask, `[*weights]`.
        - `words`: what it is sampled with: see `words`.
        """
        leaves, treedef = jax.tree.flatten(logits)
        found = [
            sampled_weights(w, l, word, temperature)
            for w, l, word in zip(jax.tree.leaves(self.weights()), leaves, words, strict=True)
        ]
        return eqx.combine(jax.tree.unflatten(treedef, found), self.rest())

    def rest(self) -> Any:
        """The network without the weights that are masked, to combine with some of these."""
        return eqx.filter(self.network, self._chosen, inverse=True)

    @property
    def _chosen(self) -> Any:
        """Which leaves of the network are masked."""
        return jax.tree.map(lambda x: x is not None, self.logits, is_leaf=lambda x: x is None)
