"""Gradients that are clipped group by group."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from ._optimizer import Number, Optimizer, Rate


def kind_of(path: tuple[Any, ...], leaf: Any) -> str:
    """The group of a parameter, by its name: `bias`, `embedding`, or `weight`."""
    names = [str(getattr(part, "name", getattr(part, "key", part))) for part in path]
    if "embedding" in names:
        return "embedding"
    return "bias" if names[-1] == "bias" else "weight"


def clip_groups(norm: Number, group: Callable[..., str] = kind_of) -> Optimizer:
    """Gradients of each group of parameters are scaled so that their norm is `norm` at most.

    By default groups are weights, biases and embeddings, as in the published code of Chapter 2.
    """
    return Optimizer(_clip_groups, norm, group)


def _clip_groups(norm: Number, group: Callable[..., str]) -> optax.GradientTransformation:
    def update(updates, state, params=None):
        named = jax.tree_util.tree_leaves_with_path(updates)
        squares: dict[str, Any] = {}
        for path, leaf in named:
            name = group(path, leaf)
            squares[name] = squares.get(name, 0.0) + jnp.sum(leaf**2)
        scales = {
            name: jnp.minimum(1.0, norm / jnp.sqrt(jnp.maximum(total, 1e-30)))
            for name, total in squares.items()
        }
        scaled = jax.tree_util.tree_map_with_path(
            lambda path, leaf: leaf * scales[group(path, leaf)], updates
        )
        return scaled, state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def published_rmsprop(
    rate: Rate, *, momentum: Number = 0.9, decay: Number = 0.99, eps: Number = 1e-10,
    weight_decay: Number = 1e-5, norm: Number = 10.0,
) -> Optimizer:  # fmt: skip
    """RMSProp as in the published code of Chapter 2.

    Gradients are clipped group by group, weights but not biases and embeddings decay, and rates
    are divided by √(mean square) + ε.
    """
    return Optimizer(_rmsprop, clip_groups(norm), rate, momentum, decay, eps, weight_decay)


def _decays(params: Any) -> Any:
    """Which parameters decay."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: kind_of(path, leaf) == "weight", params
    )


def _rmsprop(clipped, rate, momentum, decay, eps, weight_decay):
    return optax.chain(
        clipped,
        optax.add_decayed_weights(weight_decay, mask=_decays),
        optax.rmsprop(rate, decay=decay, eps=eps, momentum=momentum, eps_in_sqrt=False),
    )
