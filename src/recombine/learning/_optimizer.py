"""Optimizers of Optax whose numbers are inputs of the compiled program, and schedules of rates."""

from collections.abc import Callable
from typing import Any, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import optax
import optax.contrib
from jaxtyping import Array, Float, Int

Number = float | Float[Array, ""]


class Optimizer(eqx.Module):
    """An Optax transformation as a PyTree: the function that makes it, and its arguments.

    ```python
    Optimizer(optax.adamw, 1e-3, weight_decay=0.01)
    chain(clip(5.0), adamw(WarmupLinear(1e-3, warmup_steps=300), weight_decay=0.01))
    ```

    Numbers among the arguments are inputs of the compiled program, so that one compilation serves a
    grid of rates. Arguments may be schedules and optimizers themselves. A plain Optax value may
    stand wherever an `Optimizer` may; its numbers are then constants of the program.
    """

    make: Callable[..., optax.GradientTransformation] = eqx.field(static=True)
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def __init__(
        self, make: Callable[..., optax.GradientTransformation], *args: Any, **kwargs: Any
    ):
        self.make, self.arguments, self.options = make, args, kwargs

    def build(self) -> optax.GradientTransformation:
        """The Optax transformation."""

        def built(part):
            return part.build() if isinstance(part, Optimizer) else part

        arguments = [built(part) for part in self.arguments]
        return self.make(*arguments, **{name: built(part) for name, part in self.options.items()})

    def init(self, params: Any) -> Any:
        """The state of the optimizer before the first step."""
        return self.build().init(params)

    def update(self, gradient: Any, opt_state: Any, params: Any = None) -> tuple[Any, Any]:
        """What to add to the parameters, and the state after the step."""
        return self.build().update(gradient, opt_state, params)


AnyOptimizer: TypeAlias = Optimizer | optax.GradientTransformation


class WarmupLinear(eqx.Module):
    """A rate that rises linearly over `warmup_steps`, and then falls linearly.

    It would be 0 at step `decay_steps`; with 0 there it does not fall.
    """

    rate: Number
    warmup_steps: int = 0
    decay_steps: int = 0

    def __check_init__(self):
        if self.warmup_steps < 0:
            raise ValueError(f"warmup_steps={self.warmup_steps} is negative; use 0 for none")
        if self.decay_steps and self.decay_steps <= self.warmup_steps:
            raise ValueError(
                f"decay_steps={self.decay_steps} is not after warmup_steps={self.warmup_steps}; "
                "use 0 for a rate that does not fall"
            )

    def __call__(self, t: Int[Array, "*times"]) -> Float[Array, "*times"]:
        """The rate of step t."""
        rising = (t + 1) / max(self.warmup_steps, 1)
        if not self.decay_steps:
            return self.rate * jnp.clip(rising, 0, 1)
        falling = (self.decay_steps - t) / (self.decay_steps - self.warmup_steps)
        return self.rate * jnp.clip(jnp.minimum(rising, falling), 0, 1)


class Staircase(eqx.Module):
    """A rate that is multiplied by `decay` after every `decay_steps` steps."""

    rate: Number
    decay: Number
    decay_steps: int

    def __check_init__(self):
        if self.decay_steps < 1:
            raise ValueError(f"decay_steps={self.decay_steps} is less than 1")

    def __call__(self, t: Int[Array, "*times"]) -> Float[Array, "*times"]:
        """The rate of step t."""
        return self.rate * jnp.asarray(self.decay) ** (t // self.decay_steps)


class Cosine(eqx.Module):
    """A rate that falls from `rate` to `final_rate` along half a cosine of `decay_steps` steps.

    Before, it rises linearly over `warmup_steps`.
    """

    rate: Number
    final_rate: Number
    decay_steps: int
    warmup_steps: int = 0

    def __call__(self, t: Int[Array, "*times"]) -> Float[Array, "*times"]:
        """The rate of step t."""
        share = 0.5 * (1 + jnp.cos(jnp.pi * (t - self.warmup_steps) / self.decay_steps))
        falling = self.final_rate + (self.rate - self.final_rate) * share
        if not self.warmup_steps:
            return falling
        rising = self.rate * (t + 1) / self.warmup_steps
        return jnp.where(t < self.warmup_steps, rising, falling)


Rate = Number | Callable[[Array], Array]


def adam(rate: Rate, **options: Any) -> Optimizer:
    """Adam at a rate or a schedule of rates; `options` are those of `optax.adam`."""
    return Optimizer(optax.adam, rate, **options)


def adamw(rate: Rate, **options: Any) -> Optimizer:
    """Adam with decoupled weight decay; `options` are those of `optax.adamw`."""
    return Optimizer(optax.adamw, rate, **options)


def sgd(rate: Rate, **options: Any) -> Optimizer:
    """Stochastic gradient descent; `options` are those of `optax.sgd`, such as `momentum`."""
    return Optimizer(optax.sgd, rate, **options)


def muon(rate: Rate, others: Rate, *, weight_decay: Number = 0.0, b2: Number = 0.999) -> Optimizer:
    """Muon for matrices (Jordan et al., 2024), and AdamW for all else, with Nesterov's momentum.

    Muon is momentum with all its singular values made about equal. `rate` is its rate or schedule,
    `others` that of AdamW, as is `b2`; `weight_decay` is decoupled, of all weights.
    """
    return Optimizer(
        optax.contrib.muon, rate, weight_decay=weight_decay, adam_learning_rate=others,
        adam_b2=b2, adam_weight_decay=weight_decay,
    )  # fmt: skip


def clip(norm: Number) -> Optimizer:
    """Gradients whose global norm is larger are scaled to `norm`."""
    return Optimizer(optax.clip_by_global_norm, norm)


def chain(*optimizers: AnyOptimizer) -> Optimizer:
    """One transformation after another."""
    return Optimizer(optax.chain, *optimizers)
