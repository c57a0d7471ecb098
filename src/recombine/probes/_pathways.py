"""What to see of a routing network while it learns: singular values and modes of its maps."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..models._shared_pathways import SharedPathways
from ._routes import route_means
from ._spectrum import singular_values


def pathway_spectrum(network: Any) -> dict[str, Float[Array, "..."]]:
    """Singular values of the maps from the first input to the first output domain.

    **Returns:** `singular_in [inputs]`, `singular_hidden [10]`, the largest, and `singular_out
    [features]`, with a leading axis of schemes in `SharedPathways`.
    """
    W1, W2, W3 = network.first_pathway()
    return {
        "singular_in": singular_values(W1),
        "singular_hidden": singular_values(W2, 10),
        "singular_out": singular_values(W3),
    }


def route_modes(
    network: Any, target_map: Float[Array, "features inputs"], mask: Bool[Array, "M_in M_out"]
) -> dict[str, Float[Array, "..."]]:
    """Strengths of the singular modes of `target_map` in the maps of routes.

    **Returns:** `trained_modes [modes]` and `untrained_modes [modes]`, means over routes in `mask`
    and over the others; in `SharedPathways` also `scheme_modes [schemes, modes]`, of each scheme.
    """
    U, _, Vt = jnp.linalg.svd(target_map, full_matrices=False)

    # Sending the right singular vectors gives W V, at the cost of the modes instead of the inputs.
    def strengths(outputs):
        return jnp.sum(outputs * U.T, axis=-1)

    means = route_means(strengths(network.outputs(Vt)), mask)
    seen = {"trained_modes": means.trained, "untrained_modes": means.untrained}
    if isinstance(network, SharedPathways):
        schemes = jax.vmap(route_means, (0, None))(strengths(network.scheme_outputs(Vt)), mask)
        seen["scheme_modes"] = schemes.trained
    return seen
