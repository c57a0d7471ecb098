"""A network for each part of the input, added up."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Towers(eqx.Module):
    """One network per part of the input, whose outputs are added: no part can change another's say.

    ```python
    Towers((first, second), axis=1, output=jnp.tanh)
    ```

    **Arguments:**

    - `towers`: the networks.
    - `axis`: the axis of inputs that is divided, into as many equal parts as there are networks.
    - `output`: what is done to the sum.
    """

    towers: tuple[Callable[[Array], Array], ...]
    axis: int = eqx.field(static=True, default=1)
    output: Callable[[Array], Array] = eqx.field(static=True, default=jax.nn.identity)

    def __call__(self, x: Float[Array, "batch ..."]) -> Float[Array, "batch outputs"]:
        """What `output` makes of the sum."""
        parts = jnp.split(x, len(self.towers), axis=self.axis)
        outputs = [tower(part) for tower, part in zip(self.towers, parts, strict=True)]
        return self.output(sum(outputs[1:], outputs[0]))
