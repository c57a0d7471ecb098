"""Where in the plane a network of two inputs answers yes, and where its decision boundary is."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float


def decision_map(
    model: Callable[[Array], Array], edge: float | Float[Array, ""] = 6.0, *, side: int = 100
) -> Float[Array, "side side"]:
    """The first output over the square [−edge, edge]², on an even grid that includes its border
    (Figure 5).

    **Arguments:**

    - `model`: maps `[points, 2]` to `[points, outputs]`.
    - `edge`, `side`: half the width of the square, and the points along it.

    **Returns:** row i, column j: the output at X_1 = places[j], X_2 = places[i], with
    places = linspace(−edge, edge, side). Rows run upwards.
    """
    places = jnp.linspace(-edge, edge, side)
    points = jnp.stack(jnp.meshgrid(places, places), axis=-1).reshape(-1, 2)
    return model(points)[:, 0].reshape(side, side)


def boundary_position(
    model: Callable[[Array], Array],
    heights: Float[Array, " heights"],
    edge: float | Float[Array, ""] = 6.0,
    *,
    side: int = 1001,
) -> Float[Array, " heights"]:
    """x_1*(x_2): where along X_1 a network's first output turns from negative to positive for good.

    0 at all heights if X_1 alone decides, as it should. The output is followed from the right end
    of [−edge, edge] to the first place that is not positive, and interpolated linearly there.

    **Arguments:**

    - `model`: maps `[points, 2]` to `[points, outputs]`.
    - `heights`: values of X_2.
    - `edge`, `side`: half the length of the lines, and the points along each.

    **Returns:** a place for every height; `edge` if the right end is not positive, and −`edge` if
    the whole line is.
    """
    places = jnp.linspace(-edge, edge, side)
    points = jnp.stack(jnp.meshgrid(places, heights), axis=-1).reshape(-1, 2)
    output = model(points)[:, 0].reshape(len(heights), side)
    yes = output > 0
    # The first place of the run of positive ones at the right end.
    start = side - jnp.cumprod(yes[:, ::-1], axis=1).sum(axis=1)
    last_no = jnp.clip(start - 1, 0, side - 2)[:, None]
    below = jnp.take_along_axis(output, last_no, axis=1)[:, 0]
    above = jnp.take_along_axis(output, last_no + 1, axis=1)[:, 0]
    step = places[1] - places[0]
    crossing = places[last_no[:, 0]] + step * below / (below - above)
    ends = jnp.where(start == 0, places[0], places[-1])
    return jnp.where((start == 0) | (start == side), ends, crossing)
