"""Which network of a training run is kept: the last, or the best on a measurement."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Kept(NamedTuple):
    """The network that is kept, and the steps that it had learned."""

    model: Any
    step: Int[Array, ""]


class AbstractKeep(eqx.Module):
    """Decides after every measurement whether the network of the moment is kept."""

    @abstractmethod
    def initial(self, model: Any) -> Any:
        """What is kept before training."""

    @abstractmethod
    def update(self, kept: Any, model: Any, seen: dict[str, Array], t: Int[Array, ""]) -> Any:
        """What is kept after `seen` was measured of `model` at step `t`."""

    @abstractmethod
    def choice(self, kept: Any, model: Any) -> Kept:
        """The network to use, `model` being the last."""


class Last(AbstractKeep):
    """Keep the last network."""

    def initial(self, model: Any) -> Int[Array, ""]:
        return jnp.array(0)

    def update(self, kept: Any, model: Any, seen: dict[str, Array], t: Int[Array, ""]) -> Any:
        return t.astype(kept.dtype)

    def choice(self, kept: Any, model: Any) -> Kept:
        return Kept(model, kept)


class BestState(NamedTuple):
    """The best network so far, its step, and its value (negative where low values are good)."""

    model: Any
    step: Int[Array, ""]
    score: Float[Array, ""]


class Best(AbstractKeep):
    """Keep the network that is best on a named measurement.

    Of equally good networks the last is kept, and the untrained one only if there is no other. A
    measurement that is not a number is never the best.

    **Arguments:**

    - `name`: the measurement.
    - `highest`: whether high values are good, as of accuracies, or low ones, as of losses.
    """

    name: str = eqx.field(static=True)
    highest: bool = eqx.field(static=True, default=True)

    def initial(self, model: Any) -> BestState:
        return BestState(model, jnp.array(0), jnp.array(-jnp.inf))

    def update(self, kept: Any, model: Any, seen: dict[str, Array], t: Int[Array, ""]) -> BestState:
        if self.name not in seen:
            raise ValueError(f"nothing that is measured is called {self.name!r}: {', '.join(seen)}")
        value = seen[self.name].astype(kept.score.dtype)
        new = BestState(model, t.astype(kept.step.dtype), value if self.highest else -value)
        better = (t > 0) & (new.score >= kept.score)
        return jax.tree.map(lambda a, b: jnp.where(better, a, b), new, kept)

    def choice(self, kept: Any, model: Any) -> Kept:
        return Kept(kept.model, kept.step)
