"""Networks that see a combination as one slot per factor."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from recombine import models


class Flat(eqx.Module):
    """A perceptron on all slots side by side."""

    mlp: models.MLP

    def __call__(self, x: Float[Array, "rows slots width"]) -> Float[Array, "rows outputs"]:
        return self.mlp(x.reshape(len(x), -1))


class Product(eqx.Module):
    """Slots multiply: each makes a gate for every hidden unit, a perceptron reads the product."""

    gates: Float[Array, "slots width hidden"]
    mlp: models.MLP

    def __call__(self, x: Float[Array, "rows slots width"]) -> Float[Array, "rows outputs"]:
        return self.mlp(jnp.prod(1 + jnp.einsum("rsw,swh->rsh", x, self.gates), axis=1))


class Attending(eqx.Module):
    """A transformer block with the slots as tokens; their mean is read out."""

    embedding: Float[Array, "slots width hidden"]
    position: Float[Array, "slots hidden"]
    query: Float[Array, "hidden hidden"]
    key: Float[Array, "hidden hidden"]
    value: Float[Array, "hidden hidden"]
    mlp: models.MLP

    def __call__(self, x: Float[Array, "rows slots width"]) -> Float[Array, "rows outputs"]:
        h = jnp.einsum("rsw,swh->rsh", x, self.embedding) + self.position
        scores = jnp.einsum("rsh,rth->rst", h @ self.query, h @ self.key) / h.shape[-1] ** 0.5
        h = h + jax.nn.softmax(scores, axis=-1) @ (h @ self.value)
        return self.mlp(h.mean(axis=1))


@dataclass(frozen=True)
class Sizes:
    """What a network is built for."""

    slots: int
    width: int
    outputs: int
    hidden: int


def linear(sizes: Sizes, key: PRNGKeyArray) -> Flat:
    """Effects of slots just add up."""
    return Flat(models.MLP((sizes.slots * sizes.width, sizes.outputs), key=key))


def mlp(sizes: Sizes, key: PRNGKeyArray) -> Flat:
    """One hidden layer."""
    return Flat(models.MLP((sizes.slots * sizes.width, sizes.hidden, sizes.outputs), key=key))


def deep(sizes: Sizes, key: PRNGKeyArray) -> Flat:
    """Three hidden layers."""
    hidden = (sizes.hidden,) * 3
    return Flat(models.MLP((sizes.slots * sizes.width, *hidden, sizes.outputs), key=key))


def product(sizes: Sizes, key: PRNGKeyArray) -> Product:
    """Slots multiply."""
    gate_key, mlp_key = jax.random.split(key)
    shape = (sizes.slots, sizes.width, sizes.hidden)
    gates = jax.random.normal(gate_key, shape) * sizes.width**-0.5
    return Product(gates, models.MLP((sizes.hidden, sizes.hidden, sizes.outputs), key=mlp_key))


def attention(sizes: Sizes, key: PRNGKeyArray) -> Attending:
    """One transformer block."""
    keys, h = jax.random.split(key, 6), sizes.hidden
    query, key, value = (jax.random.normal(k, (h, h)) * h**-0.5 for k in keys[:3])
    shape = (sizes.slots, sizes.width, h)
    return Attending(
        jax.random.normal(keys[3], shape) * sizes.width**-0.5,
        jax.random.normal(keys[4], (sizes.slots, h)) * 0.1,
        query,
        key,
        value,
        models.MLP((h, h, sizes.outputs), key=keys[5]),
    )


NETWORKS: dict[str, Any] = {
    "linear": linear,
    "mlp": mlp,
    "deep": deep,
    "product": product,
    "attention": attention,
}
