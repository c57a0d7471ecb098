"""Specs of feed-forward networks."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..._ranges import Fraction, NotNegative, check_ranges
from ..._spec import AbstractSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._feed_forward import AbstractFeedForward


@dataclass(frozen=True, kw_only=True)
class AbstractFeedForwardSpec(AbstractSpec):
    """What a column does with itself."""

    @abc.abstractmethod
    def build(self, sizes: LayerSizes, key: Any) -> "AbstractFeedForward":
        """The feed-forward network of one layer."""


@dataclass(frozen=True, kw_only=True)
class FeedForwardSpec(AbstractFeedForwardSpec):
    """Two layers. W₁ starts as Xavier's numbers with gain √2, biases as in PyTorch."""

    name: ClassVar[str] = "dense"

    activation: Literal["relu", "gelu"] = "relu"
    """The function of the hidden units."""
    inner: Literal["uniform", "normal"] = "uniform"
    """The distribution of Xavier's numbers in W₁."""
    outer_gain: NotNegative | None = 1.0
    """The gain of Xavier's uniform numbers in W₂; none: as in PyTorch, uniform on ±1/√inputs."""
    outer_bias: float | None = None
    """Where the output's biases start, all alike; none: as in PyTorch."""
    dropout: Fraction | None = None
    """Dropout of the hidden units; none: that of the encoder."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractFeedForward":
        import jax
        import jax.numpy as jnp

        from .._dense import Dense
        from .._feed_forward import DenseFeedForward, gelu
        from .._initializers import fan_in_uniform, xavier_normal, xavier_uniform

        d, hidden, keys = sizes.width, sizes.hidden, jax.random.split(key, 4)
        xavier = {"uniform": xavier_uniform, "normal": xavier_normal}[self.inner]
        inner = Dense(
            xavier((d, hidden), gain=2**0.5, key=keys[0]), fan_in_uniform((hidden,), d, key=keys[1])
        )
        if self.outer_gain is None:
            weight = fan_in_uniform((hidden, d), hidden, key=keys[2])
        else:
            weight = xavier_uniform((hidden, d), gain=self.outer_gain, key=keys[2])
        if self.outer_bias is None:
            bias = fan_in_uniform((d,), hidden, key=keys[3])
        else:
            bias = jnp.full(d, self.outer_bias)
        activation = {"relu": jax.nn.relu, "gelu": gelu}[self.activation]
        rate = sizes.dropout if self.dropout is None else self.dropout
        return DenseFeedForward(inner, Dense(weight, bias), activation, rate)
