"""Specs of projections: how queries, keys, values and what is read are linear in columns."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..._spec import AbstractSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._dense import Dense


@dataclass(frozen=True, kw_only=True)
class AbstractProjectionsSpec(AbstractSpec):
    """The linear maps of an attention."""

    @abc.abstractmethod
    def build(self, sizes: LayerSizes, key: Any) -> "tuple[Dense, Dense, Dense]":
        """The maps to queries, to keys and values side by side, and from what is read."""


@dataclass(frozen=True, kw_only=True)
class ProjectionsSpec(AbstractProjectionsSpec):
    """Maps without biases: Xavier's numbers, but PyTorch's for what is read.

    Keys and values start as one matrix, whose fans are those of both together.
    """

    name: ClassVar[str] = "whole"

    def build(self, sizes: LayerSizes, key: Any) -> "tuple[Dense, Dense, Dense]":
        import jax

        from .._dense import Dense
        from .._initializers import xavier_uniform

        d, keys = sizes.width, jax.random.split(key, 3)
        return (
            Dense(xavier_uniform((d, d), key=keys[0]), None),
            Dense(xavier_uniform((d, 2 * d), key=keys[1]), None),
            Dense.uniform(d, d, biases=False, key=keys[2]),
        )


@dataclass(frozen=True, kw_only=True)
class PyTorchProjectionsSpec(AbstractProjectionsSpec):
    """Maps without biases that start as the layers of PyTorch do, uniform on ±1/√inputs.

    So start those of relative attention in the published code of chapter 4, whose own
    initialisation is never called.
    """

    name: ClassVar[str] = "pytorch"

    def build(self, sizes: LayerSizes, key: Any) -> "tuple[Dense, Dense, Dense]":
        import jax

        from .._dense import Dense

        d, (query, key_value, output) = sizes.width, jax.random.split(key, 3)
        return (
            Dense.uniform(d, d, biases=False, key=query),
            Dense.uniform(d, 2 * d, biases=False, key=key_value),
            Dense.uniform(d, d, biases=False, key=output),
        )


@dataclass(frozen=True, kw_only=True)
class HeadwiseProjectionsSpec(AbstractProjectionsSpec):
    """Maps whose fans are those of a single head, as in the published geometric attention.

    Queries have a bias that starts at 0.
    """

    name: ClassVar[str] = "headwise"

    ctlpp: bool = False
    """As in the published code of CTL++: only queries and the first half of keys and values, in
    the order of heads and key before value, have the fans of a head, the others and what is read
    those of all; queries, keys and values have biases that start as in PyTorch."""

    def build(self, sizes: LayerSizes, key: Any) -> "tuple[Dense, Dense, Dense]":
        import jax
        import jax.numpy as jnp
        import numpy as np

        from .._dense import Dense
        from .._initializers import fan_in_uniform, xavier_uniform

        d, heads = sizes.width, sizes.heads
        of_head, of_all = d + d // heads, 2 * d
        keys = jax.random.split(key, 5)
        query = xavier_uniform((d, d), fans=of_head, key=keys[0])
        key_value = xavier_uniform((d, 2 * d), fans=of_head, key=keys[1])
        output = xavier_uniform((d, d), fans=of_all if self.ctlpp else of_head, key=keys[2])
        if not self.ctlpp:
            return Dense(query, jnp.zeros(d)), Dense(key_value, None), Dense(output, None)
        # Parts are key and value, of which ours are side by side and the published ones in turns.
        part, head = np.ogrid[:2, :heads]
        gains = np.where(2 * head + part < heads, 1, np.sqrt(of_head / of_all))
        gains = np.repeat(gains.reshape(-1), d // heads)
        return (
            Dense(query, fan_in_uniform((d,), d, key=keys[3])),
            Dense(key_value * gains, fan_in_uniform((2 * d,), d, key=keys[4])),
            Dense(output, None),
        )


@dataclass(frozen=True, kw_only=True)
class DepthScaledProjectionsSpec(AbstractProjectionsSpec):
    """Maps without biases whose normal numbers deviate by √(2 / (layers · inputs)).

    Heads may be wider or narrower than their share of a column.
    """

    name: ClassVar[str] = "depth-scaled"

    def build(self, sizes: LayerSizes, key: Any) -> "tuple[Dense, Dense, Dense]":
        import jax

        from .._dense import Dense
        from .._initializers import rescaled_normal

        d, layers = sizes.width, sizes.layers
        read = d if sizes.head_width is None else sizes.heads * sizes.head_width
        shapes = (d, read), (d, 2 * read), (read, d)
        query, key_value, output = (
            Dense(rescaled_normal(shape, (2 / (layers * shape[0])) ** 0.5, key=k), None)
            for shape, k in zip(shapes, jax.random.split(key, 3), strict=True)
        )
        return query, key_value, output
