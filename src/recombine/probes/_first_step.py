"""One gradient step: does a model come to depend on inputs that its target does not need?

Propositions 3 and 4 of "Gradient descent resists compositionality", measured on a network.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from ._sensitivity import input_sensitivity

Model = TypeVar("Model", bound=Callable[[Array], Array])


def blind(
    model: Model,
    weights: Callable[[Model], Float[Array, "..."]],
    redundant: Bool[ArrayLike, " inputs"],
    *,
    axis: int = 0,
) -> Model:
    """The same model, but with first-layer weights of zero on redundant inputs: it ignores them.

    **Arguments:**

    - `model`: any Equinox module.
    - `weights`: where its first-layer weights are, as for `eqx.tree_at`:
        `lambda network: network.layers[0].weight`.
    - `redundant`: which inputs to ignore.
    - `axis`: the axis of the weights that belongs to inputs; 1 for `eqx.nn.Linear`.
    """
    return eqx.tree_at(
        weights, model, replace_fn=lambda w: jnp.where(_along(redundant, w, axis), 0, w)
    )


def _along(redundant: Bool[ArrayLike, " inputs"], w: Array, axis: int) -> Bool[Array, "..."]:
    chosen = jnp.asarray(redundant)
    if len(chosen) != w.shape[axis]:
        raise ValueError(
            f"a mask of {len(chosen)} inputs does not fit first-layer weights of shape {w.shape} "
            f"with inputs along axis {axis}; set axis, or mask {w.shape[axis]} inputs"
        )
    return jnp.expand_dims(chosen, tuple(i for i in range(w.ndim) if i != axis % w.ndim))


class FirstStep(NamedTuple):
    """What one step of gradient descent makes of a model that ignores its redundant inputs."""

    before: Float[Array, "2"]
    """Mean norms of ∂Ŷ/∂X before the step, for needed and for redundant inputs."""
    after: Float[Array, "2"]
    """Mean norms of ∂Ŷ/∂X after the step, for needed and for redundant inputs."""
    change: Float[Array, "2"]
    """Norms of the changes of first-layer weights on needed and on redundant inputs."""
    mean_change: Float[Array, "2"]
    """Mean absolute changes of first-layer weights on needed and on redundant inputs."""

    @property
    def ratio(self) -> Float[Array, "..."]:
        """Mean |ΔW| on redundant inputs over that on needed ones."""
        return self.mean_change[..., 1] / self.mean_change[..., 0]


def first_step(
    model: Model,
    loss: Callable[[Model], Float[Array, ""]],
    weights: Callable[[Model], Float[Array, "..."]],
    redundant: Bool[ArrayLike, " inputs"],
    x: Float[Array, "batch inputs"],
    *,
    learning_rate: float | Float[Array, ""] = 0.1,
    axis: int = 0,
) -> FirstStep:
    """Propositions 3 and 4: one step of gradient descent from a model that is made `blind`.

    If the redundant inputs can lower the loss, `before[1]` is exactly 0 and `after[1]` is not. If
    they are independent of the target and have mean zero, the expected change of their weights is
    E[δ] E[X] = 0, δ the error at the first layer: what remains falls as 1/√batch. Inputs with
    another mean have to be centred for that.

    **Arguments:**

    - `model`, `weights`, `redundant`, `axis`: as for `blind`.
    - `loss`: maps a model to its loss on the batch of the step.
    - `x`: inputs at which derivatives are taken.
    - `learning_rate`: the step size.
    """
    model = blind(model, weights, redundant, axis=axis)
    gradient = eqx.filter_grad(loss)(model)
    updates = jax.tree.map(lambda g: -jnp.asarray(learning_rate, g.dtype) * g, gradient)
    stepped = eqx.apply_updates(model, updates)
    parts = jnp.stack([~jnp.asarray(redundant), jnp.asarray(redundant)])
    moved = weights(stepped) - weights(model)
    masks = [jnp.broadcast_to(_along(part, moved, axis), moved.shape) for part in parts]
    return FirstStep(
        before=input_sensitivity(model, x, parts),
        after=input_sensitivity(stepped, x, parts),
        change=jnp.stack([jnp.linalg.norm(jnp.where(mask, moved, 0)) for mask in masks]),
        mean_change=jnp.stack([jnp.abs(moved).mean(where=mask) for mask in masks]),
    )
