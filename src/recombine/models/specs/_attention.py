"""Specs of attention: what its weights depend on."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..._ranges import Fraction, check_ranges
from ..._spec import AbstractSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._attention import AbstractScores


@dataclass(frozen=True, kw_only=True)
class AbstractAttentionSpec(AbstractSpec):
    """How much targets read from sources; `build` makes the scores."""

    @abc.abstractmethod
    def build(self, sizes: LayerSizes, key: Any) -> "AbstractScores":
        """The scores of the attention of one layer."""


@dataclass(frozen=True, kw_only=True)
class SoftmaxAttentionSpec(AbstractAttentionSpec):
    """Content alone."""

    name: ClassVar[str] = "softmax"

    dropout: Fraction = 0.0
    """Dropout of the weights."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractScores":
        from .._attention import SoftmaxScores

        return SoftmaxScores(self.dropout)


@dataclass(frozen=True, kw_only=True)
class RelativeAttentionSpec(AbstractAttentionSpec):
    """Content and relative positions, as in Transformer-XL."""

    name: ClassVar[str] = "relative"

    gated: bool = False
    """Mix relative with absolute positions, as every column sees fit (Appendix D.2)."""
    learned_scale: bool = True
    """Learn the number by which logits are multiplied, or keep 1/√head_width."""
    init: Literal["xavier", "pytorch"] = "xavier"
    """How the map from sinusoids to keys starts."""
    dropout: Fraction = 0.1
    """Dropout of the keys, of content and of positions."""
    weight_dropout: Fraction = 0.0
    """Dropout of the weights."""
    depth_scaled: bool = False
    """Start the keys of positions as normal numbers that deviate by √(2 / (layers · width)), rather
    than as `init` says."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractScores":
        from functools import partial

        import equinox as eqx

        from .._initializers import fan_in_uniform, rescaled_normal, xavier_uniform
        from .._relative_attention import RelativeScores

        pytorch = partial(fan_in_uniform, inputs=sizes.width)
        initializers: dict[str, Any] = {"xavier": xavier_uniform, "pytorch": pytorch}
        made = RelativeScores(
            sizes.width, sizes.heads, head_width=sizes.head_width, gated=self.gated,
            learned_scale=self.learned_scale, initializer=initializers[self.init],
            dropout=self.dropout, weight_dropout=self.weight_dropout, key=key,
        )  # fmt: skip
        if not self.depth_scaled:
            return made
        std = (2 / (sizes.layers * sizes.width)) ** 0.5
        position = rescaled_normal(made.position.shape, std, key=key)
        return eqx.tree_at(lambda scores: scores.position, made, position)


@dataclass(frozen=True, kw_only=True)
class GeometricAttentionSpec(AbstractAttentionSpec):
    """The closest match in content and direction (Eqs. 5.6 to 5.10)."""

    name: ClassVar[str] = "geometric"

    normalised: bool = False
    """Divide the weights of every target by their sum."""
    bias: float = 0.0
    """Where the bias of matches starts, γ of `GeometricScores`."""
    dropout: Fraction = 0.1
    """Dropout of the keys."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AbstractScores":
        from .._geometric_attention import GeometricScores

        return GeometricScores(
            sizes.width, sizes.heads, normalised=self.normalised, dropout=self.dropout,
            bias=self.bias, key=key,
        )  # fmt: skip
