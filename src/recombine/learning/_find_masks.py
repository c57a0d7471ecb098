"""From a trained network to its modules in one call."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, PRNGKeyArray

from .._errors import UserError
from ._batches import Sampler
from ._loop import train
from ._mask_descent import Targets, mask_descent
from ._mask_steps import check_mask_steps
from ._masked import Masked
from ._weight_mask import WeightMask


class Modules(NamedTuple):
    """The masks of a network's functions, and what they leave of its accuracy."""

    masks: dict[str, WeightMask]
    unmasked: dict[str, float]
    """Accuracy of the network on every function."""
    under_own: dict[str, float]
    """Accuracy on every function under its own mask."""
    masked: Masked
    """The logits of all masks."""


def find_masks(
    network: Any,
    objective: Callable[..., Any],
    functions: Mapping[str, Sampler],
    accuracy: Mapping[str, Callable[[Any], Array]],
    *,
    key: PRNGKeyArray,
    beta: float = 1e-3,
    batch_size: int = 128,
    steps: int = 1500,
    rate: float = 0.03,
    samples: int = 4,
    filter: Any = None,
    able: float = 0.9,
    share: float = 0.95,
) -> Modules:
    """Learn a mask for each of several functions of a network, all in one program.

    Raises `UserError` where there is nothing to be learned from a mask: if the network cannot do a
    function, if a mask leaves too little of it, if `filter` matches no weights, or if there are too
    few steps.

    **Arguments:**

    - `network`: a trained network; it stays as it is.
    - `objective`: `(network, batch, key)` to the loss.
    - `functions`: by name, the batches on which a function is asked for: `Drawn(examples, 128)`, or
        another function of t and a key. One of them should be the whole task, as a control.
    - `accuracy`: by the same names, of a network its accuracy on that function, from 0 to 1.
    - `beta`, `batch_size`, `rate`, `samples`: as for `mask_descent`.
    - `steps`: steps of learning. Masks become tight after several times `steps_to_remove`.
    - `filter`: what is masked; by default what `maskable` finds.
    - `able`: the least accuracy of the network on every function.
    - `share`: the least share of that accuracy that a mask must leave of its own function.
    """
    if set(functions) != set(accuracy):
        different = ", ".join(sorted(set(functions) ^ set(accuracy)))
        raise ValueError(f"functions and accuracy must have the same names; {different} differ")
    check_mask_steps(steps, beta, batch_size, rate)
    masked = Masked(network, filter, names=tuple(functions))
    before = _measured(network, accuracy)
    for name, found in before.items():
        if not found >= able:
            raise UserError(
                f"the network is right on {found:.0%} of {name!r}, and must be on {able:.0%}: it "
                "cannot do what a mask is to be found for; train it for longer, or leave this out"
            )
    rule = mask_descent(
        objective, Targets(functions), masked, beta=beta, batch_size=batch_size, rate=rate,
        samples=samples, key=key, every=steps,
    )  # fmt: skip
    learned = train(rule, rule.init(masked), steps)[0].model
    masks = learned.masks()
    after = {
        name: _measured(mask.apply(network), {name: accuracy[name]})[name]
        for name, mask in masks.items()
    }
    for name, mask in masks.items():
        if not after[name] >= share * before[name]:
            kept = sum(int(layer.sum()) for layer in mask.layers.values())
            whole = sum(layer.size for layer in mask.layers.values())
            raise UserError(
                f"beta={beta:g} removes too much: the mask of {name!r} keeps {kept} of {whole} "
                f"weights, and {after[name]:.0%} of it is right, {before[name]:.0%} without the "
                "mask; lower beta, or take more steps (choose_beta compares several)"
            )
    return Modules(masks, before, after, learned)


def _measured(network: Any, accuracy: Mapping[str, Callable[[Any], Array]]) -> dict[str, float]:
    measure = eqx.filter_jit(lambda network: {n: of(network) for n, of in accuracy.items()})
    return jax.tree.map(float, measure(network))
