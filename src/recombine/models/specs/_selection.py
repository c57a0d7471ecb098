"""Specs of the selection of experts, and of terms that balance them."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..._ranges import Count, check_ranges
from ..._spec import AbstractSpec

if TYPE_CHECKING:
    from .._expert_balance import AbstractBalance
    from .._expert_selection import AbstractSelection


class RouterSizes(NamedTuple):
    """What a selection has to do with."""

    width: int
    """Column width, d_model."""
    experts: int
    chosen: int
    std: float
    """The standard deviation with which weights from columns start."""


@dataclass(frozen=True, kw_only=True)
class AbstractSelectionSpec(AbstractSpec):
    """How experts are ranked and weighted."""

    @abc.abstractmethod
    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        """The selection function."""


@dataclass(frozen=True, kw_only=True)
class SigmoidSelectionSpec(AbstractSelectionSpec):
    """Every expert by itself, by the sigmoid of its logit (sigma-MoE)."""

    name: ClassVar[str] = "sigmoid"

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        from .._expert_selection import SigmoidSelection

        return SigmoidSelection()


@dataclass(frozen=True, kw_only=True)
class SoftmaxBeforeSelectionSpec(AbstractSelectionSpec):
    """The softmax over all experts, not renormalised."""

    name: ClassVar[str] = "softmax-before"

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        from .._expert_selection import SoftmaxBeforeSelection

        return SoftmaxBeforeSelection()


@dataclass(frozen=True, kw_only=True)
class SoftmaxAfterSelectionSpec(AbstractSelectionSpec):
    """The softmax over the chosen experts."""

    name: ClassVar[str] = "softmax-after"

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        from .._expert_selection import SoftmaxAfterSelection

        return SoftmaxAfterSelection()


@dataclass(frozen=True, kw_only=True)
class SinkhornSelectionSpec(AbstractSelectionSpec):
    """Ranked by balanced scores in training, weighted by sigmoids (S-BASE)."""

    name: ClassVar[str] = "sinkhorn"

    iterations: Count = 3
    """Rounds of balancing."""
    released: bool = False
    """Balance with the signs of the published code."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        from .._expert_selection import SinkhornSelection

        return SinkhornSelection(self.iterations, self.released)


@dataclass(frozen=True, kw_only=True)
class BaseSelectionSpec(AbstractSelectionSpec):
    """One expert per token by the exact assignment with equal loads in training (BASE)."""

    name: ClassVar[str] = "base"

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        from .._expert_selection import BaseSelection

        if sizes.chosen != 1:
            raise ValueError(f"BASE assigns one expert per token: chosen={sizes.chosen} is not 1")
        return BaseSelection()


@dataclass(frozen=True, kw_only=True)
class NoisySelectionSpec(AbstractSelectionSpec):
    """Learned noise in training, and the softmax over the chosen (noisy top-k)."""

    name: ClassVar[str] = "noisy"

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractSelection":
        import jax

        from .._dense import Dense
        from .._expert_selection import NoisySelection

        weight = sizes.std * jax.random.normal(key, (sizes.width, sizes.experts))
        return NoisySelection(Dense(weight, None))


@dataclass(frozen=True, kw_only=True)
class AbstractBalanceSpec(AbstractSpec):
    """A term of the loss that is small where experts are used alike."""

    @abc.abstractmethod
    def build(self, sizes: RouterSizes, key: Any) -> "AbstractBalance":
        """The term."""


@dataclass(frozen=True, kw_only=True)
class EntropyBalanceSpec(AbstractBalanceSpec):
    """Minus the entropy of the mean softmax over tokens (Eq. 7.20)."""

    name: ClassVar[str] = "entropy"

    over_chosen: bool = False
    """Take the softmax over the chosen logits, as the published code of softmax-after does."""

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractBalance":
        from .._expert_balance import EntropyBalance

        return EntropyBalance(self.over_chosen)


@dataclass(frozen=True, kw_only=True)
class SwitchBalanceSpec(AbstractBalanceSpec):
    """The term of Switch transformers (Eq. 7.16)."""

    name: ClassVar[str] = "switch"

    released: bool = False
    """Divide it by the number of experts squared, as the published code does."""

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractBalance":
        from .._expert_balance import SwitchBalance

        return SwitchBalance(self.released)


@dataclass(frozen=True, kw_only=True)
class ImportanceBalanceSpec(AbstractBalanceSpec):
    """The coefficient of variation of the importance of experts (Eq. 7.13)."""

    name: ClassVar[str] = "importance"

    squared: bool = False
    """Square it, as Shazeer et al. do."""

    def build(self, sizes: RouterSizes, key: Any) -> "AbstractBalance":
        from .._expert_balance import ImportanceBalance

        return ImportanceBalance(self.squared)
