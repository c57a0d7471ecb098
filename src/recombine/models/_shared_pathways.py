"""Pathways that share their parts to different degrees, racing inside one network."""

from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ._routing import RoutingNetwork


class SharedPathways(eqx.Module):
    """Routing networks with blocks of shared pathways, whose outputs add (Figure 5a).

    In a scheme with block size q = sqrt(P), the M domains on either side form M / q blocks, and
    each pair of an input and an output block owns a routing network of q domains: P routes flow
    through each hidden map, and an input domain has one input map for each output block. q = 1 is
    a pathway of its own for every route, q = M shares one hidden map between all routes.

    One network may hold several schemes. All of them are gated on for their route and their
    outputs add, so that they race to explain the same targets.

    **Arguments:**

    - `schemes`: for each scheme its routing networks, stacked over the axes
        `[input block, output block]`.
    """

    schemes: tuple[RoutingNetwork, ...]

    @classmethod
    def _drawn(cls, draw, block_sizes, num_domains, scales, key):
        if not block_sizes:
            raise ValueError("a network needs at least one scheme")
        for q in block_sizes:
            if q < 1 or num_domains % q:
                raise ValueError(f"block size {q} does not divide {num_domains} domains")
        scales = jnp.broadcast_to(jnp.asarray(scales, float), (len(block_sizes),))
        keys = jax.random.split(key, len(block_sizes))
        return cls(
            tuple(
                draw(scale, num_domains=q, batch=(num_domains // q,) * 2, key=scheme_key)
                for q, scale, scheme_key in zip(block_sizes, scales, keys, strict=True)
            )
        )

    @classmethod
    def orthogonal(
        cls,
        scale: float | Sequence[float] | Float[Array, "..."],
        *,
        block_sizes: Sequence[int],
        num_domains: int,
        inputs: int = 4,
        features: int = 7,
        width: int = 64,
        key: PRNGKeyArray,
    ) -> "SharedPathways":
        """Random weights, all of whose singular values are `scale` (one, or one a scheme)."""
        draw = partial(RoutingNetwork.orthogonal, inputs=inputs, features=features, width=width)
        return cls._drawn(draw, block_sizes, num_domains, scale, key)

    @classmethod
    def decoupled(
        cls,
        b0: float | Sequence[float] | Float[Array, "..."],
        T: Float[Array, "features inputs"],
        *,
        block_sizes: Sequence[int],
        num_domains: int,
        width: int = 64,
        key: PRNGKeyArray,
    ) -> "SharedPathways":
        """Weights aligned with the singular modes of T = Y^T X, as `RoutingNetwork.decoupled`.

        `b0` is the strength of every mode in every weight: one number, or one for each scheme, so
        that a scheme can be given a head start.
        """
        draw = partial(RoutingNetwork.decoupled, T=T, width=width)
        return cls._drawn(draw, block_sizes, num_domains, b0, key)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """q = sqrt(P) of each scheme."""
        return tuple(scheme.W1.shape[2] for scheme in self.schemes)

    def scheme_outputs(
        self, X: Float[Array, "items inputs"]
    ) -> Float[Array, "schemes M M items features"]:
        """What each scheme contributes to the output of each route."""
        return jnp.stack([_contribution(scheme, X) for scheme in self.schemes])

    def outputs(self, X: Float[Array, "items inputs"]) -> Float[Array, "M M items features"]:
        """Send all items along all routes."""
        return sum(_contribution(scheme, X) for scheme in self.schemes)

    def first_pathway(
        self,
    ) -> tuple[
        Float[Array, "schemes hidden inputs"],
        Float[Array, "schemes hidden hidden"],
        Float[Array, "schemes features hidden"],
    ]:
        """Input, hidden and output map from the first input to the first output domain."""
        return (
            jnp.stack([scheme.W1[0, 0, 0] for scheme in self.schemes]),
            jnp.stack([scheme.W2[0, 0] for scheme in self.schemes]),
            jnp.stack([scheme.W3[0, 0, 0] for scheme in self.schemes]),
        )


def _contribution(scheme: RoutingNetwork, X):
    blocks = jax.vmap(jax.vmap(lambda network: network.outputs(X)))(scheme)
    rows, columns, q_in, q_out, items, features = blocks.shape
    return blocks.swapaxes(1, 2).reshape(rows * q_in, columns * q_out, items, features)
