"""Which weights of a network a function needs: a hard mask, and what can be masked."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from .._errors import UserError


def layer_names(tree: Any) -> tuple[str, ...]:
    """The paths of the arrays of a PyTree, as `layers[0].weight`, in its order."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return tuple(jax.tree_util.keystr(path).removeprefix(".") for path, _ in leaves)


def _kind(module: Any) -> str | None:
    """What the class of a module says that its arrays are."""
    name = type(module).__name__
    return next((kind for kind in ("Embedding", "Norm") if kind in name), None)


def maskable(
    network: Any, *, biases: bool = False, norms: bool = True, embeddings: bool = False
) -> Any:
    """Which arrays of a network are masked, as booleans in its shape.

    Matrices and larger arrays always are.

    **Arguments:**

    - `network`: any PyTree of arrays. Normalisations are modules with `Norm` in the name of their
        class, and embeddings those with `Embedding`, as in Equinox and in this package.
    - `biases`: whether to mask vectors, and arrays that are called a bias, too.
    - `norms`: whether to mask scale and shift of normalisations.
    - `embeddings`: whether to mask embeddings.
    """

    def choose(module: Any) -> Any:
        kind = _kind(module)
        if kind is not None:
            wanted = norms if kind == "Norm" else embeddings
            return jax.tree.map(lambda x: wanted and eqx.is_inexact_array(x), module)
        return module

    # From the top down: the arrays of a norm are decided by the norm that they are in.
    chosen = jax.tree.map(choose, network, is_leaf=lambda x: _kind(x) is not None)

    def decide(path, leaf):
        if isinstance(leaf, bool) or not eqx.is_inexact_array(leaf):
            return leaf is True
        is_bias = "bias" in jax.tree_util.keystr(path[-1:]) or leaf.ndim < 2
        return biases or not is_bias

    return jax.tree_util.tree_map_with_path(decide, chosen)


def chosen_weights(network: Any, filter: Any = None) -> Any:
    """The arrays that a filter chooses, `None` in the place of all others.

    Raises `UserError` if there are none.
    """
    filter = maskable(network) if filter is None else filter
    found = eqx.filter(eqx.filter(network, filter), eqx.is_inexact_array)
    if not jax.tree.leaves(found):
        there = ", ".join(layer_names(eqx.filter(network, eqx.is_inexact_array))[:6])
        raise UserError(
            "the filter matches no weights, so there is nothing to mask: choose some of "
            f"{there or 'a network with weights; this one has none'}"
        )
    return found


class WeightMask(eqx.Module):
    """Which weights of a network are kept, and which are removed.

    Masks of one network are combined by `~`, `&` and `|`.
    """

    kept: Any
    """A PyTree like the network: booleans where weights can be removed, `None` elsewhere."""

    @classmethod
    def full(cls, network: Any, filter: Any = None) -> "WeightMask":
        """A mask that keeps everything.

        **Arguments:**

        - `filter`: what can be removed; by default `maskable`.
        """
        chosen = chosen_weights(network, filter)
        return cls(jax.tree.map(lambda w: jnp.ones(w.shape, bool), chosen))

    @property
    def layers(self) -> dict[str, Bool[Array, "..."]]:
        """The kept weights of every layer by its path in the network, as `layers[0].weight`."""
        return dict(zip(layer_names(self.kept), jax.tree.leaves(self.kept), strict=True))

    def apply(self, network: Any) -> Any:
        """The network with 0 in the place of weights that are removed."""

        def removed(kept, weight):
            return weight if kept is None else jnp.where(kept, weight, 0)

        return jax.tree.map(removed, self.kept, network, is_leaf=lambda x: x is None)

    def __invert__(self) -> "WeightMask":
        return WeightMask(jax.tree.map(jnp.logical_not, self.kept))

    def __and__(self, other: "WeightMask") -> "WeightMask":
        return WeightMask(jax.tree.map(jnp.logical_and, self.kept, other.kept))

    def __or__(self, other: "WeightMask") -> "WeightMask":
        return WeightMask(jax.tree.map(jnp.logical_or, self.kept, other.kept))
