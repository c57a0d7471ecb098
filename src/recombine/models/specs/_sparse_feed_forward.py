"""Specs of feed-forward networks of which a column uses a part."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..._checks import check_chosen
from ..._ranges import Count, Fraction, check_ranges
from ._feed_forward import AbstractFeedForwardSpec
from ._layer_sizes import LayerSizes
from ._selection import (
    AbstractBalanceSpec,
    AbstractSelectionSpec,
    EntropyBalanceSpec,
    RouterSizes,
    SigmoidSelectionSpec,
)

if TYPE_CHECKING:
    from .._feed_forward import AbstractFeedForward, DenseFeedForward


@dataclass(frozen=True, kw_only=True)
class DepthScaledFeedForwardSpec(AbstractFeedForwardSpec):
    """Two layers with ReLU. Normal weights deviate by √(2 / (layers · inputs)), biases are 0."""

    name: ClassVar[str] = "depth-scaled"

    dropout: Fraction | None = None
    """Dropout of the hidden units; none: that of the network."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "DenseFeedForward":
        import jax
        import jax.numpy as jnp

        from .._dense import Dense
        from .._feed_forward import DenseFeedForward
        from .._initializers import rescaled_normal

        shapes = (sizes.width, sizes.hidden), (sizes.hidden, sizes.width)
        inner, outer = (
            Dense(
                rescaled_normal(shape, (2 / (sizes.layers * shape[0])) ** 0.5, key=k),
                jnp.zeros(shape[1]),
            )
            for shape, k in zip(shapes, jax.random.split(key), strict=True)
        )
        rate = sizes.dropout if self.dropout is None else self.dropout
        return DenseFeedForward(inner, outer, jax.nn.relu, rate)


@dataclass(frozen=True, kw_only=True)
class TopKSpec(AbstractFeedForwardSpec):
    """Two layers with ReLU, of whose hidden units the largest count (Eqs. 7.6 and 7.7)."""

    name: ClassVar[str] = "top-k"

    largest: Count = 128
    """How many hidden units count, K."""
    rank: Literal["value", "contribution"] = "value"
    """Rank hidden units by their values, or by values times the norms of their outgoing weights."""
    dropout: Fraction | None = None
    """Dropout of the hidden units; none: that of the network."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractFeedForward":
        from .._top_k import TopKFeedForward

        dense = DepthScaledFeedForwardSpec(dropout=self.dropout).build(sizes, key)
        return TopKFeedForward(dense, self.largest, self.rank == "contribution")


@dataclass(frozen=True, kw_only=True)
class ProductKeysSpec(AbstractFeedForwardSpec):
    """A memory of values whose keys are pairs of sub-keys (Eq. 7.8)."""

    name: ClassVar[str] = "product-keys"

    keys: Count = 46
    """Sub-keys per half of a column, n; there are n² values."""
    heads: Count = 4
    """Sets of sub-keys."""
    activation: Literal["relu", "softmax"] = "relu"
    """The function of scores."""
    largest: Count | None = None
    """Scores per head that count, K; none: all, summed over heads, as in the reported runs."""
    value_init: Literal["width", "values"] = "width"
    """Whether values start as small as √(2 / (layers · width)), or with n² for the width."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.largest is not None and self.largest > self.keys**2:
            raise ValueError(f"largest={self.largest} is more than keys²={self.keys**2}")

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractFeedForward":
        import jax

        from .._product_keys import ProductKeyMemory

        d, count = sizes.width, self.keys**2
        if d % 2:
            raise ValueError(f"product keys read halves of a column: width={d} is odd")
        of_keys, of_values = jax.random.split(key)
        std = (2 / (sizes.layers * d)) ** 0.5
        of_value = (2 / (sizes.layers * count)) ** 0.5 if self.value_init == "values" else std
        return ProductKeyMemory(
            std * jax.random.normal(of_keys, (self.heads, 2, d // 2, self.keys)),
            of_value * jax.random.normal(of_values, (count, d)),
            self.activation == "softmax",
            self.largest,
        )


@dataclass(frozen=True, kw_only=True)
class MixtureSpec(AbstractFeedForwardSpec):
    """A mixture of experts, of which every column uses a few (Eqs. 7.9 to 7.12)."""

    name: ClassVar[str] = "mixture"

    experts: Count = 16
    """Number of experts, N_E."""
    size: Count = 128
    """Hidden units per expert, G."""
    chosen: Count = 4
    """Experts per column, K."""
    selection: AbstractSelectionSpec = SigmoidSelectionSpec()
    """How experts are ranked and weighted."""
    balance: AbstractBalanceSpec | None = EntropyBalanceSpec()
    """The term that balances experts."""
    expert_dropout: Fraction = 0.0
    """How often an expert cannot be chosen by a column in training, δ."""
    dropout: Fraction | None = 0.0
    """Dropout of hidden units of chosen experts; none: that of the network."""
    init: Literal["sigma", "standard", "switch"] = "sigma"
    """How weights start: as a dense network with the hidden units of all experts, as one with those
    of a single expert, or as in Switch transformers."""
    units: Count | None = None
    """How many hidden units of all chosen experts together count; none: all."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_chosen(self.chosen, self.experts)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractFeedForward":
        import jax
        import jax.numpy as jnp

        from .._dense import Dense
        from .._mixture_of_experts import MixtureOfExperts

        d, layers, keys = sizes.width, sizes.layers, jax.random.split(key, 5)
        fan = self.size * self.experts if self.init == "sigma" else self.size
        shrink = 0.1**0.5 if self.init == "switch" else 1.0
        std = (2 / (layers * d)) ** 0.5
        router = jax.random.normal(keys[0], (d, self.experts))
        if self.init != "switch":
            # All experts start equally likely: their rows, here columns, have one length.
            router = router / jnp.linalg.norm(router, axis=0)
            router = router / jnp.sqrt(jnp.square(router - router.mean()).mean())
        router_sizes = RouterSizes(d, self.experts, self.chosen, std)
        normal = jax.random.normal
        return MixtureOfExperts(
            Dense(std * router, None),
            shrink * std * normal(keys[1], (self.experts, d, self.size)),
            shrink * (2 / (layers * fan)) ** 0.5 * normal(keys[2], (self.experts, self.size, d)),
            self.selection.build(router_sizes, keys[3]),
            None if self.balance is None else self.balance.build(router_sizes, keys[4]),
            self.chosen,
            self.expert_dropout,
            sizes.dropout if self.dropout is None else self.dropout,
            self.units,
        )
