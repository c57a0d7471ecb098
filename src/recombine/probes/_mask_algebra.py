"""Masks over weights, changed in some of their layers."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..learning._mask_choices import Layers, chosen_layers
from ..learning._weight_mask import WeightMask


def _changed(
    mask: WeightMask, layers: Layers, inside: Callable[[Array, int], Array],
    outside: Callable[[Array, int], Array] = lambda kept, place: kept,
) -> WeightMask:  # fmt: skip
    chosen = chosen_layers(tuple(mask.layers), layers)
    leaves, treedef = jax.tree.flatten(mask.kept)
    changed = [
        (inside if own else outside)(kept, i)
        for i, (kept, own) in enumerate(zip(leaves, chosen, strict=True))
    ]
    return WeightMask(jax.tree.unflatten(treedef, changed))


def invert_mask(mask: WeightMask, layers: Layers = None) -> WeightMask:
    """A mask that keeps what was removed, in these layers; in others it is as before.

    **Arguments:**

    - `layers`: names of layers, or a function of a name; by default all.
    """
    return _changed(mask, layers, lambda kept, _: ~kept)


def restrict_mask(mask: WeightMask, layers: Layers) -> WeightMask:
    """The mask in these layers; in others everything is kept."""
    return _changed(mask, layers, lambda kept, _: kept, lambda kept, _: jnp.ones_like(kept))


def replace_in_mask(mask: WeightMask, other: WeightMask | None, layers: Layers) -> WeightMask:
    """A mask with these layers from another one.

    **Arguments:**

    - `other`: None keeps everything there.
    """
    if other is None:
        return _changed(mask, layers, lambda kept, _: jnp.ones_like(kept))
    others = jax.tree.leaves(other.kept)
    return _changed(mask, layers, lambda _, place: others[place])


def half_masks(mask: WeightMask, early: Layers) -> dict[str, WeightMask]:
    """A mask in the early layers only, and in the late ones only (Appendix B.1.3).

    If masks leave a network's computation as it is, half of a mask does no harm.
    """
    names = tuple(mask.layers)
    chosen = zip(names, chosen_layers(names, early), strict=True)
    first = [name for name, is_early in chosen if is_early]
    late = [name for name in names if name not in first]
    return {"early": restrict_mask(mask, first), "late": restrict_mask(mask, late)}


def under_masks(
    network: Any,
    masks: Mapping[str, WeightMask],
    measure: Callable[[Any], dict[str, Array]],
) -> dict[str, dict[str, Array]]:
    """What is measured of a network under each of several masks, in one compiled program.

    **Arguments:**

    - `masks`: by name; of one network.
    - `measure`: of a network, named numbers or arrays.

    **Returns:** `{mask: {measurement: value}}`.
    """
    stacked = jax.tree.map(lambda *kept: jnp.stack(kept), *masks.values())
    found = _measured(network, stacked, measure)
    return {
        name: {what: values[i] for what, values in found.items()} for i, name in enumerate(masks)
    }


@eqx.filter_jit
def _measured(network, masks, measure):
    # One after another: all networks at once would need a multiple of the memory.
    return jax.lax.map(lambda mask: measure(mask.apply(network)), masks)
