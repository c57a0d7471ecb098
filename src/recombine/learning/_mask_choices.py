"""Which price of a weight is right, and which weights are left for the next task."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import UserError
from ._masked import Masked
from ._weight_mask import WeightMask

Layers = Collection[str] | Callable[[str], bool] | None
"""Layers by name: some names, a function of a name, or None for all."""


def chosen_layers(names: Sequence[str], layers: Layers) -> tuple[bool, ...]:
    """Which layers are meant. Raises `UserError` for names that no layer has, or for none."""
    if layers is None:
        return (True,) * len(names)
    if callable(layers):
        chosen = tuple(bool(layers(name)) for name in names)
        if not any(chosen):
            raise UserError(f"the filter matches no layer; there are {', '.join(names)}")
        return chosen
    wanted = {layers} if isinstance(layers, str) else set(layers)
    for name in sorted(wanted - set(names)):
        raise UserError(f"no layer is called {name!r}; there are {', '.join(names)}")
    return tuple(name in wanted for name in names)


class ChosenBeta(NamedTuple):
    """The price that was chosen, and what all prices leave of the accuracy."""

    beta: float
    betas: np.ndarray
    """All prices, ascending."""
    share: np.ndarray
    """The share of the unmasked accuracy that each leaves."""


def choose_beta(
    betas: Sequence[float], accuracies: Any, unmasked: float, *, share: float = 0.95
) -> ChosenBeta:
    """The largest β whose mask of the whole task leaves a share of the accuracy.

    Larger ones must not count where a smaller one has failed by chance, and the reverse: the
    largest is taken of those that leave enough, as the thesis does.

    **Arguments:**

    - `betas`: prices, one mask of the whole task each.
    - `accuracies`: of the network under these masks.
    - `unmasked`: accuracy of the network without a mask.
    """
    order = np.argsort(np.asarray(betas, float))
    prices = np.asarray(betas, float)[order]
    left = np.asarray(accuracies, float)[order] / unmasked
    enough = np.flatnonzero(left >= share)
    if not len(enough):
        raise UserError(
            f"no beta leaves {share:.0%} of the accuracy: the smallest, {prices[0]:g}, leaves "
            f"{left[0]:.0%}; try smaller ones, or more steps"
        )
    return ChosenBeta(float(prices[enough[-1]]), prices, left)


def next_task(
    masked: Masked,
    fresh: Any,
    occupied: WeightMask,
    *,
    exempt: Layers = (),
    logit: float = 2.0,
    free_logit: float | None = None,
    names: Sequence[str] | None = None,
) -> Masked:
    """The network for the next task, with what earlier tasks occupy frozen (Section 3.4).

    Free weights start anew, and so do all logits. Learn both by `mask_descent(..., weights=True)`.

    **Arguments:**

    - `masked`: the network and its mask after the last task.
    - `fresh`: a network of the same shape, from which free weights are taken.
    - `occupied`: the weights of all tasks so far: `|` of their masks.
    - `exempt`: layers that start anew for every task, and in which nothing is frozen.
    - `logit`: of occupied weights, and of exempt layers.
    - `free_logit`: of free weights; by default the same. A lower one prefers occupied weights.
    - `names`: of the masks; by default as before.
    """
    free_logit = logit if free_logit is None else free_logit
    chosen = chosen_layers(masked.layers, exempt) if exempt else (False,) * len(masked.layers)
    leaves, treedef = jax.tree.flatten(occupied.kept)
    frozen = jax.tree.unflatten(
        treedef, [kept & (not free) for kept, free in zip(leaves, chosen, strict=True)]
    )
    filter = jax.tree.map(lambda x: x is not None, masked.logits, is_leaf=lambda x: x is None)
    old, new = (eqx.filter(network, filter) for network in (masked.network, fresh))
    weights = jax.tree.map(jnp.where, frozen, old, new)
    network = eqx.combine(weights, fresh)
    made = Masked(
        network, filter, names=masked.names if names is None else names, logit=logit, frozen=frozen
    )
    free = jax.tree.unflatten(
        treedef, [~kept & (not out) for kept, out in zip(leaves, chosen, strict=True)]
    )
    logits = jax.tree.map(lambda l, f: jnp.where(f, free_logit, l), made.logits, free)
    return eqx.tree_at(lambda m: m.logits, made, logits)
