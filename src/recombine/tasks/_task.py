"""What every task is."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import PRNGKeyArray


class AbstractTask(eqx.Module):
    """A data-generating process whose parts are known."""

    @abstractmethod
    def sample(self, size: int, *, key: PRNGKeyArray) -> Any:
        """Draw `size` examples: a `NamedTuple` of arrays whose first axis is the examples."""
