"""How strongly outputs move with each part of an input."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def input_sensitivity(
    model: Callable[[Array], Array],
    x: Float[Array, " batch *inputs"],
    parts: Int[Array, " parts *inputs"] | Bool[Array, " parts *inputs"],
) -> Float[Array, " parts"]:
    """The mean over a batch of the norms ‖∂Ŷ/∂X_k‖: 0 for a part that outputs do not depend on.

    The norm is that of the whole Jacobian between the part and all outputs, the square root of the
    sum of its squares. Divide by the entry of another part for a ratio.

    ```python
    >>> W = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    >>> input_sensitivity(lambda x: x @ W, jnp.ones((5, 2)), jnp.eye(2, dtype=bool))
    Array([5., 0.], dtype=float32)
    ```

    **Arguments:**

    - `model`: maps a batch to outputs `[batch, ...]`. Samples must not affect each other.
    - `x`: where derivatives are taken.
    - `parts`: a mask for every part: which numbers of an input belong to it.
    """
    outputs, pull = jax.vjp(model, x)
    shape = outputs.shape
    width = outputs.size // len(x)

    def squares(unit: Float[Array, " outputs"]) -> Float[Array, "batch parts"]:
        # All samples at once: each output is a function of its own sample only.
        (slope,) = pull(jnp.broadcast_to(unit, (len(x), width)).reshape(shape))
        flat = jnp.square(slope).reshape(len(x), -1)
        return flat @ parts.reshape(len(parts), -1).T.astype(flat.dtype)

    # One output after another: the Jacobian of a batch of images would not fit into memory.
    by_output = jax.lax.map(squares, jnp.eye(width, dtype=outputs.dtype))
    return jnp.sqrt(by_output.sum(axis=0)).mean(axis=0)
