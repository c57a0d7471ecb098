"""Hypernetworks: the weights of a target network, generated from a task embedding."""

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ._dense import Dense
from ._initializers import truncated_normal
from ._meta_model import AbstractMetaModel, Fixed, Network, Skeleton
from ._mlp import MLP
from ._norms import LayerNorm


class AbstractGenerator(eqx.Module):
    """A map from embeddings to the parameters of layers."""

    @classmethod
    @abstractmethod
    def create(cls, embedding: int, parameters: int, *, key: PRNGKeyArray) -> "AbstractGenerator":
        """A generator of `parameters` numbers from embeddings of size `embedding`."""

    @abstractmethod
    def __call__(
        self, embeddings: Float[Array, "layers embedding"]
    ) -> Float[Array, "layers parameters"]:
        """The parameters of each layer."""


class LinearGenerator(AbstractGenerator):
    """vec(W) = ē Θ: a linear mixture of modules, the rows of the bank Θ (Eq. 3)."""

    bank: Float[Array, "embedding parameters"]

    @classmethod
    def create(cls, embedding: int, parameters: int, *, key: PRNGKeyArray) -> "LinearGenerator":
        """A bank of truncated normal numbers with a variance of 1 / embedding."""
        return cls(truncated_normal((embedding, parameters), embedding**-0.5, key=key))

    def __call__(
        self, embeddings: Float[Array, "layers embedding"]
    ) -> Float[Array, "layers parameters"]:
        """ē Θ."""
        return embeddings @ self.bank


class NonlinearGenerator(AbstractGenerator):
    """An MLP in place of the bank: four hidden layers of 32 units, layer norms and ELU."""

    norms: tuple[LayerNorm, ...]
    layers: tuple[Dense, ...]
    head: Dense

    @classmethod
    def create(
        cls, embedding: int, parameters: int, *, key: PRNGKeyArray, width: int = 32, depth: int = 4
    ) -> "NonlinearGenerator":
        """Weights truncated normal with a variance of 1 / inputs, biases 0."""
        sizes = [embedding] + [width] * depth
        *body, last = jax.random.split(key, depth + 1)
        return cls(
            norms=tuple(map(LayerNorm, sizes)),
            layers=tuple(
                Dense(truncated_normal((a, b), a**-0.5, key=k), jnp.zeros(b))
                for a, b, k in zip(sizes[:-1], sizes[1:], body, strict=True)
            ),
            head=Dense(truncated_normal((width, parameters), width**-0.5, key=last), None),
        )

    def __call__(
        self, embeddings: Float[Array, "layers embedding"]
    ) -> Float[Array, "layers parameters"]:
        """LayerNorm → (Linear → LayerNorm → ELU) four times → Linear."""
        x = self.norms[0](embeddings)
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            x = jax.nn.elu(norm(layer(x)))
        return self.head(x)


class HypernetworkFast(NamedTuple):
    """What a task changes in a hypernetwork."""

    embeddings: tuple[Float[Array, "layers embedding"], ...]
    """One array per group of layers, one row per layer."""
    rest: tuple[Array | None, ...]
    """The parameters of the target that are not generated; None for its other arrays."""


class Hypernetwork(AbstractMetaModel[HypernetworkFast]):
    """A target network whose parameters are generated from embeddings, which are what is fast.

    Works for any target. Its parameters are generated in groups; the layers of one group share one
    generator and have an embedding each. Parameters that no group names are fast themselves: they
    start from the target's own values at every task.

    ```python
    target = MLP((16, 128, 128, 8), scaled=True, key=key)
    groups = [[lambda t: t.layers[0]], [lambda t: t.layers[1]], [lambda t: t.layers[2]]]
    model = Hypernetwork(target, groups, LinearGenerator.create, embedding=32, key=key)
    ```

    **Arguments:**

    - `target`: a network, any callable PyTree. Generated parameters have about unit variance, so
        the target should do its own scaling.
    - `groups`: for every group its layers, each as a function that picks the layer (or any part
        with the same shapes) from the target.
    - `generator`: makes a generator for an embedding size and a number of parameters:
        `LinearGenerator.create`, `NonlinearGenerator.create`, or one's own.
    - `embedding`: the size of an embedding, M̂.
    - `differentiate_norm`: embeddings are scaled to norm √M̂; whether that scale is differentiated.
    """

    generators: tuple[AbstractGenerator, ...]
    embeddings: tuple[Float[Array, "layers embedding"], ...]
    rest: Fixed
    """The arrays of the target, with None for those that are generated."""
    places: tuple[tuple[tuple[int, ...], ...], ...] = eqx.field(static=True)
    shapes: tuple[tuple[tuple[int, ...], ...], ...] = eqx.field(static=True)
    skeleton: Skeleton = eqx.field(static=True)
    differentiate_norm: bool = eqx.field(static=True)

    def __init__(
        self,
        target: Network,
        groups: Sequence[Sequence[Callable[[Any], PyTree]]],
        generator: Callable[..., AbstractGenerator],
        embedding: int,
        *,
        differentiate_norm: bool = False,
        key: PRNGKeyArray,
    ):
        if embedding < 1 or not groups or not all(groups):
            raise ValueError("a hypernetwork needs an embedding size of 1 or more, and layers")
        self.skeleton, arrays = Skeleton.of(target)
        number = itertools.count()
        numbered = jax.tree.map(lambda leaf: next(number) if eqx.is_array(leaf) else None, target)

        def parameters(pick):
            return tuple(
                i for i in jax.tree.leaves(pick(numbered)) if eqx.is_inexact_array(arrays[i])
            )

        self.places = tuple(tuple(parameters(pick) for pick in layers) for layers in groups)
        self.shapes = tuple(tuple(arrays[i].shape for i in layers[0]) for layers in self.places)
        for layers, shapes in zip(self.places, self.shapes, strict=True):
            if not shapes:
                raise ValueError("a layer to generate has no parameters; name one that has some")
            if any(tuple(arrays[i].shape for i in layer) != shapes for layer in layers):
                raise ValueError("layers that share a generator must have the same shapes")
        named = [i for layers in self.places for layer in layers for i in layer]
        if len(named) != len(set(named)):
            raise ValueError("a parameter of the target is in two groups; name it once")
        self.rest = Fixed(tuple(None if i in named else a for i, a in enumerate(arrays)))
        made, starts = [], []
        for layers, shapes, group_key in zip(
            self.places, self.shapes, jax.random.split(key, len(self.places)), strict=True
        ):
            of_generator, of_embedding = jax.random.split(group_key)
            size = sum(math.prod(shape) for shape in shapes)
            made.append(generator(embedding, size, key=of_generator))
            limit = (3 / len(layers)) ** 0.5
            starts.append(
                jax.random.uniform(
                    of_embedding, (len(layers), embedding), float, minval=-limit, maxval=limit
                )
            )
        self.generators, self.embeddings = tuple(made), tuple(starts)
        self.differentiate_norm = differentiate_norm

    def initial(self) -> HypernetworkFast:
        """The learned initial embeddings; parameters that are not generated start anew."""
        rest = eqx.filter(self.rest.value, eqx.is_inexact_array)
        return HypernetworkFast(self.embeddings, jax.lax.stop_gradient(rest))

    def features(self, x: Float[Array, "samples inputs"]) -> Float[Array, "samples inputs"]:
        """The inputs."""
        return x

    def network(self, fast: HypernetworkFast) -> Network:
        """The target network with the parameters that `fast` generates."""
        arrays = list(eqx.combine(fast.rest, self.rest.value))
        for generator, embeddings, places, shapes in zip(
            self.generators, fast.embeddings, self.places, self.shapes, strict=True
        ):
            vectors = generator(self._normalised(embeddings))
            ends = [sum(math.prod(s) for s in shapes[: n + 1]) for n in range(len(shapes))]
            for vector, layer in zip(vectors, places, strict=True):
                parts = jnp.split(vector, ends[:-1])
                for i, part, shape in zip(layer, parts, shapes, strict=True):
                    arrays[i] = part.reshape(shape)
        return self.skeleton.filled(arrays)

    def _normalised(
        self, embeddings: Float[Array, "layers embedding"]
    ) -> Float[Array, "layers embedding"]:
        """ē = e √M̂ / ‖e‖."""
        norm = jnp.linalg.norm(embeddings, axis=-1, keepdims=True)
        scale = embeddings.shape[-1] ** 0.5 / jnp.maximum(norm, 1e-12)
        return embeddings * (scale if self.differentiate_norm else jax.lax.stop_gradient(scale))


def mlp_hypernetwork(
    sizes: Sequence[int],
    embedding: int,
    generator: Callable[..., AbstractGenerator] = LinearGenerator.create,
    *,
    generate_biases: bool = True,
    offset: bool | None = None,
    differentiate_norm: bool = False,
    key: PRNGKeyArray,
) -> Hypernetwork:
    """The paper's hypernetworks: an MLP with one generator each for input, hidden, output layers.

    **Arguments:**

    - `sizes`: of the target: inputs, hidden layers (of one width), outputs.
    - `embedding`: the size M̂ of an embedding.
    - `generator`: `LinearGenerator.create` or `NonlinearGenerator.create`.
    - `generate_biases`: if false, biases are not generated but fast parameters that start from 0.
    - `offset`: whether the output has a fast offset that starts from 0 at every task; by default
        with a linear generator only.
    - `differentiate_norm`: as for `Hypernetwork`.
    """
    if len(sizes) < 3:
        raise ValueError(f"a hypernetwork's MLP needs a hidden layer; got sizes {sizes}")
    if len(set(sizes[1:-1])) > 1:
        raise ValueError(f"hidden layers share a generator, so need one width; got {sizes[1:-1]}")
    if offset is None:
        offset = generator == LinearGenerator.create
    of_target, of_model = jax.random.split(key)
    target = MLP(sizes, scaled=True, offset=offset, key=of_target)
    hidden = len(sizes) - 3

    def pick(layer: int):
        def layer_of(t):
            return t.layers[layer] if generate_biases else t.layers[layer].weight

        return layer_of

    ranges = (range(1), range(1, 1 + hidden), range(1 + hidden, len(sizes) - 1))
    groups = [[pick(i) for i in layers] for layers in ranges if layers]
    return Hypernetwork(
        target, groups, generator, embedding, differentiate_norm=differentiate_norm, key=of_model
    )
