"""How masks over the weights of a network are learned: an objective and batches for `Descent`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_counts
from ._batches import AbstractBatches, AbstractStream, Batches, Sampler
from ._descent import Descent
from ._mask_steps import ADAM_EPS
from ._masked import Masked, named_key
from ._optimizer import Number, Optimizer, adam, chain, clip


class Targets(eqx.Module):
    """A batch for every mask: what the function is that its weights are needed for.

    ```python
    Targets({"all": Drawn(examples, 128), "add": Drawn(additions, 128)})
    ```

    A mask's batches depend on its name and the key, and on no other mask.

    **Arguments:**

    - `samplers`: the batch of step t by the name of a mask, `sampler(t, key)`. All batches have
        the same shapes.
    """

    samplers: tuple[Sampler, ...]
    names: tuple[tuple[str, ...], ...] = eqx.field(static=True)
    """The masks of every sampler."""

    def __init__(self, samplers: Mapping[str, Batches]):
        unique: list[Sampler] = []
        names: list[tuple[str, ...]] = []
        for name, sampler in samplers.items():
            if isinstance(sampler, AbstractBatches | AbstractStream):
                raise ValueError(
                    f"the batches of mask {name!r} are a {type(sampler).__name__}; masks that "
                    "learn together need batches of one shape: use Drawn, Sampled or a function"
                )
            places = [i for i, one in enumerate(unique) if one is sampler]
            if places:
                names[places[0]] += (name,)
            else:
                unique.append(sampler)
                names.append((name,))
        self.samplers, self.names = tuple(unique), tuple(names)

    def of(self, names: Sequence[str], t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batches of masks in this order, `[masks, ...]`."""
        found: dict[str, Any] = {}
        for sampler, own in zip(self.samplers, self.names, strict=True):
            keys = jnp.stack([named_key(key, name) for name in own])
            batches = jax.vmap(sampler, (None, 0))(t, keys)
            for i, name in enumerate(own):
                found[name] = jax.tree.map(lambda a, i=i: a[i], batches)
        first = found[names[0]]
        for name in names:
            if _shapes(found[name]) != _shapes(first):
                raise ValueError(
                    f"the batches of masks {names[0]!r} and {name!r} differ in shape: "
                    f"{_shapes(first)} and {_shapes(found[name])}; pad them alike"
                )
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(found[name] for name in names))

    def __call__(self, t: Int[Array, ""], key: PRNGKeyArray) -> Any:
        """The batches of step t in the order of names."""
        return self.of([name for own in self.names for name in own], t, key)


def _shapes(batch: Any) -> list[tuple[int, ...]]:
    return [jnp.shape(leaf) for leaf in jax.tree.leaves(batch)]


class _Ordered(eqx.Module):
    """The batches of targets in the order of masks."""

    targets: Targets
    names: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, t, key):
        return self.targets.of(self.names, t, key)


class MaskLoss(eqx.Module):
    """The loss of a network under sampled masks, and a price on every weight, α Σ l.

    The price is linear in the logits and has no lower bound. The batch of a mask is cut into equal
    parts, each under a sample of its own; the loss is the mean over parts, summed over masks.
    Recorded are the `task_loss` of every mask and the share of weights that it has `kept`.

    **Arguments:**

    - `objective`: `(network, batch, key)` to the loss, or to the loss and named values.
    - `alpha`: the price of a weight, α, one for all masks or one per mask.
    - `samples`: samples of every mask per step, K.
    - `temperature`: τ.
    - `draws`: whether the objective draws at random itself. Then it gets a key; otherwise None,
        which means that there is no dropout.
    - `weights`: whether the loss has a gradient by the weights, too.
    - `parallel`: masks to work on at a time. On a CPU one at a time is faster, since products of
        two matrices are.
    """

    objective: Callable[..., Any]
    alpha: Number | Float[Array, " masks"]
    samples: int = 4
    temperature: float = eqx.field(static=True, default=1.0)
    draws: bool = False
    weights: bool = False
    parallel: int = 1

    def __check_init__(self):
        check_counts(self, "samples", "parallel")

    def __call__(
        self, model: Masked, batch: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The loss of masks on their batches."""
        of_masks, of_objective = jax.random.split(key)
        learns, rest = eqx.partition(model, model.trainable(weights=self.weights))
        keys = jnp.stack([named_key(of_objective, name) for name in model.names])
        keys = jax.vmap(lambda key: jax.random.split(key, self.samples))(keys)
        parts = jax.tree.map(self._cut, batch)
        # The gradient of every sample is taken as soon as its loss is known: then nothing is kept
        # of one sample while others are drawn.
        fixed = jax.lax.stop_gradient(learns)
        network, logits = fixed.network, fixed.logits

        def of_sample(learns, words, part, key):
            network, logits = learns
            whole = eqx.combine(eqx.tree_at(lambda m: m.network, fixed, network), rest)
            made = whole.sampled(logits, words, self.temperature)
            result = self.objective(made, part, key if self.draws else None)
            return result if isinstance(result, tuple) else (result, {})

        def of_mask(mask):
            logits, *each = mask

            def add(total, one):
                found, slope = jax.value_and_grad(of_sample, has_aux=True)((network, logits), *one)
                return jax.tree.map(jnp.add, total, slope), found

            zeros = jax.tree.map(jnp.zeros_like, (network, logits))
            slopes, (losses, extras) = jax.lax.scan(add, zeros, tuple(each))
            mean = jax.tree.map(lambda values: values.mean(axis=0), (losses, extras))
            return jax.tree.map(lambda total: total / self.samples, slopes), mean

        words = model.words(of_masks, self.samples)
        slopes, (losses, extras) = jax.lax.map(
            of_mask, (logits, words, parts, keys),
            batch_size=None if self.parallel == 1 else self.parallel,
        )  # fmt: skip
        of_network, of_logits = slopes
        slopes = (jax.tree.map(lambda slope: slope.sum(axis=0), of_network), of_logits)
        leaves = jax.tree.leaves(learns.logits)
        sums = jnp.stack([leaf.reshape(len(leaf), -1).sum(axis=1) for leaf in leaves]).sum(axis=0)
        loss = losses.sum() + _with_slope((learns.network, learns.logits), slopes)
        extras |= {"task_loss": losses, "kept": _kept_shares(leaves)}
        return loss + (self.alpha * sums).sum(), extras

    def _cut(self, leaf: Array) -> Array:
        """The batch of every mask in equal parts."""
        if leaf.shape[1] % self.samples:
            raise ValueError(
                f"samples={self.samples} do not divide a batch of {leaf.shape[1]} examples; use a "
                "number that does"
            )
        return leaf.reshape(len(leaf), self.samples, -1, *leaf.shape[2:])


def _with_slope(values: Any, slopes: Any) -> Float[Array, ""]:
    """Zero, with a given gradient."""
    pairs = zip(jax.tree.leaves(values), jax.tree.leaves(slopes), strict=True)
    return sum(
        (jnp.vdot(slope, value - jax.lax.stop_gradient(value)) for value, slope in pairs),
        start=jnp.zeros(()),
    )


def _kept_shares(logits: Sequence[Array]) -> Float[Array, " masks"]:
    flat = jnp.concatenate([leaf.reshape(len(leaf), -1) for leaf in logits], axis=1)
    return (flat > 0).mean(axis=1)


class EachMask(eqx.Module):
    """A measurement of the network under every mask, for `measure` of `mask_descent`.

    **Arguments:**

    - `measure`: of a network, a dictionary of numbers; of these there will be one per mask.
    """

    measure: Callable[[Any], dict[str, Array]]

    def __call__(self, model: Masked) -> dict[str, Array]:
        """What is measured of every mask, `[masks]`."""
        weights, rest = model.weights(), model.rest()

        def under(logits):
            kept = jax.tree.map(lambda w, l: jnp.where(l > 0, w, 0), weights, logits)
            return self.measure(eqx.combine(kept, rest))

        return jax.lax.map(under, model.logits)


def clip_masks(norm: Number) -> Optimizer:
    """The gradient of every mask, if its norm over all layers is larger, is scaled to `norm`."""
    return Optimizer(_clip_masks, norm)


def _clip_masks(norm):
    def update(updates, state, params=None):
        leaves = jax.tree.leaves(updates)
        squares = sum(jnp.square(g).reshape(len(g), -1).sum(axis=1) for g in leaves)
        scale = norm / jnp.maximum(jnp.sqrt(squares), norm)

        def scaled(g):
            return g * scale.reshape(-1, *(1,) * (g.ndim - 1))

        return jax.tree.map(scaled, updates), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def mask_descent(
    objective: Callable[..., Any],
    targets: Targets | Sampler,
    masked: Masked,
    *,
    beta: Any,
    batch_size: int,
    key: PRNGKeyArray,
    rate: Any = 1e-2,
    samples: int = 4,
    temperature: float = 1.0,
    clip_norm: Number = 1.0,
    weights: bool = False,
    draws: bool = False,
    parallel: int = 1,
    measure: Callable[..., dict[str, Array]] | None = None,
    every: int = 1,
) -> Descent:
    """Learn masks, each on the batches of its target (Section 3.1): a `Descent`.

    **Arguments:**

    - `objective`: `(network, batch, key)` to the loss, as for `Descent`.
    - `targets`: a batch for every mask; or one sampler for all of them, from which each draws on
        its own.
    - `masked`: the network, and the masks before learning.
    - `beta`: β, the price of a weight times the batch size; a number, or one per mask.
    - `batch_size`: examples in a batch, b.
    - `rate`: of Adam, whose ε stays at 10⁻⁸: see `steps_to_remove`.
    - `samples`, `temperature`, `draws`, `parallel`: as for `MaskLoss`.
    - `clip_norm`: norm to which longer gradients of a mask are scaled.
    - `weights`: learn weights and masks together; the gradient is then clipped as a whole.
    - `measure`, `every`: as for `Descent`; see `EachMask`.
    """
    if not isinstance(targets, Targets):
        targets = Targets(dict.fromkeys(masked.names, targets))
    missing = set(masked.names) - {name for own in targets.names for name in own}
    if missing:
        raise ValueError(f"there are no batches for the masks {', '.join(sorted(missing))}")
    first = clip(clip_norm) if weights else clip_masks(clip_norm)
    alpha = jnp.asarray(beta, float) / batch_size
    return Descent(
        MaskLoss(objective, alpha, samples, temperature, draws, weights, parallel),
        _Ordered(targets, masked.names),
        chain(first, adam(rate, eps=ADAM_EPS)),
        key=key, measure=measure, trainable=masked.trainable(weights=weights), every=every,
    )  # fmt: skip
