"""How well each route of a routing network works, trained or not."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..tasks._routes import RouteMeans as RouteMeans
from ..tasks._routes import route_errors as route_errors
from ..tasks._routes import route_means as route_means


@jax.jit
def output_grid(
    outputs: Float[ArrayLike, "M_in M_out items features"],
) -> Float[Array, "M_in*features M_out*items"]:
    """All routes' outputs as one picture (Figure 4h).

    Rows of tiles are input domains, columns of tiles output domains; a tile shows features (down)
    by items (across).
    """
    outputs = jnp.asarray(outputs)
    M_in, M_out, items, features = outputs.shape
    return outputs.transpose(0, 3, 1, 2).reshape(M_in * features, M_out * items)
