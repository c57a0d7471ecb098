"""How learning rates change over the training of a network."""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from recombine import learning
from recombine._ranges import Count, check_ranges
from recombine._spec import AbstractSpec


class ScheduleSizes(NamedTuple):
    """What a schedule depends on."""

    rate: float
    width: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class AbstractScheduleSpec(AbstractSpec):
    """A schedule of learning rates."""

    package: ClassVar[str] = __name__

    @property
    @abc.abstractmethod
    def least_steps(self) -> int:
        """The fewest updates of a training run that it is for."""

    @abc.abstractmethod
    def build(self, sizes: ScheduleSizes, key: Any = None) -> Any:
        """A rate, or the rate of every step."""


@dataclass(frozen=True, kw_only=True)
class ConstantSpec(AbstractScheduleSpec):
    """One rate."""

    name: ClassVar[str] = "constant"

    @property
    def least_steps(self) -> int:
        return 0

    def build(self, sizes: ScheduleSizes, key: Any = None) -> Any:
        return sizes.rate


@dataclass(frozen=True, kw_only=True)
class NoamSpec(AbstractScheduleSpec):
    """A linear rise, then the inverse root of time; the rate is a factor."""

    name: ClassVar[str] = "noam"

    warmup_steps: Count = 4000
    """Updates over which the rate rises."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def least_steps(self) -> int:
        return 0

    def build(self, sizes: ScheduleSizes, key: Any = None) -> Any:
        return learning.Noam(sizes.rate, sizes.width, self.warmup_steps)


@dataclass(frozen=True, kw_only=True)
class CosineSpec(AbstractScheduleSpec):
    """A linear rise, then half a cosine down to 0 at the end of training."""

    name: ClassVar[str] = "cosine"

    warmup_steps: Count = 300
    """Updates over which the rate rises."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def least_steps(self) -> int:
        return self.warmup_steps + 1

    def build(self, sizes: ScheduleSizes, key: Any = None) -> Any:
        return learning.WarmupCosine(sizes.rate, self.warmup_steps, sizes.steps)
