"""Specs of halting."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..._ranges import Above, Below, check_ranges
from ..._spec import AbstractSpec
from ._layer_sizes import LayerSizes

if TYPE_CHECKING:
    from .._adaptive_time import AdaptiveTime


@dataclass(frozen=True, kw_only=True)
class HaltingSpec(AbstractSpec):
    """Adaptive computation time (Appendix D.1)."""

    name: ClassVar[str] = "adaptive-time"

    decaying: bool = False
    """After Dehghani et al., variant U; otherwise after Graves, variant A."""
    epsilon: Annotated[float, Above(0), Below(1)] = 0.01
    """A column is done when its probabilities to halt sum to 1 minus this number."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, sizes: LayerSizes, key: Any) -> "AdaptiveTime":
        """The halting of the columns of an encoder."""
        from .._adaptive_time import AdaptiveTime

        return AdaptiveTime(sizes.width, decaying=self.decaying, epsilon=self.epsilon, key=key)
