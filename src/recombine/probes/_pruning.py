"""Masks that are not learned: by the size of weights, by their gradients, or at random."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..learning._weight_mask import WeightMask, chosen_weights


def _largest(scores: Any, kept: int) -> WeightMask:
    """The mask that keeps so many weights, over all layers those with the highest scores."""
    leaves, treedef = jax.tree.flatten(scores)
    flat = jnp.concatenate([leaf.ravel() for leaf in leaves])
    if not 0 <= kept <= len(flat):
        raise ValueError(f"kept={kept} is not between 0 and the number of weights, {len(flat)}")
    chosen = jnp.zeros(len(flat), bool).at[jnp.argsort(-flat)[:kept]].set(True)
    ends = [sum(leaf.size for leaf in leaves[: i + 1]) for i in range(len(leaves))]
    parts = jnp.split(chosen, ends[:-1])
    return WeightMask(
        jax.tree.unflatten(
            treedef, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
        )
    )


def magnitude_mask(network: Any, kept: int, filter: Any = None) -> WeightMask:
    """The largest weights: magnitude pruning, which knows of no function.

    **Arguments:**

    - `kept`: how many weights to keep over all layers.
    - `filter`: what can be removed; by default what `learning.maskable` finds.
    """
    return _largest(jax.tree.map(jnp.abs, chosen_weights(network, filter)), kept)


def random_mask(
    network: Any, kept: int, filter: Any = None, *, key: PRNGKeyArray
) -> WeightMask:  # fmt: skip
    """As many weights at random."""
    weights = chosen_weights(network, filter)
    leaves, treedef = jax.tree.flatten(weights)
    keys = jax.random.split(key, len(leaves))
    scores = [jax.random.uniform(k, w.shape) for k, w in zip(keys, leaves, strict=True)]
    return _largest(jax.tree.unflatten(treedef, scores), kept)


def saliency_mask(
    network: Any,
    outputs: Callable[[Any, Any], Array],
    examples: Any,
    kept: int,
    filter: Any = None,
    *,
    key: PRNGKeyArray,
) -> WeightMask:
    """The weights to which the outputs are most sensitive on some examples.

    The score of a weight is the mean over examples of (w ∂(v·ŷ)/∂w)², with random signs v in the
    place of a sum over outputs. A loss would not do: where it is lowest its gradient is 0.

    **Arguments:**

    - `outputs`: of a network and one example, the outputs that count.
    - `examples`: a PyTree of arrays whose first axis is the examples.
    """
    weights = chosen_weights(network, filter)

    def score(one):
        example, key = one

        def read(weights):
            y = outputs(eqx.combine(weights, network), example)
            return (y * jax.random.rademacher(key, y.shape, y.dtype)).sum()

        return jax.tree.map(lambda w, g: jnp.square(w * g), weights, jax.grad(read)(weights))

    keys = jax.random.split(key, len(jax.tree.leaves(examples)[0]))
    squares = eqx.filter_jit(lambda ones: jax.lax.map(score, ones))((examples, keys))
    return _largest(jax.tree.map(lambda square: square.mean(axis=0), squares), kept)
