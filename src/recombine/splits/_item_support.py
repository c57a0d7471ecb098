"""The kind of support that trained combinations give to every other one, for large tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Int

from ._additive_effects import AdditiveEffects, joined_columns
from ._encoded_split import Items, are_among

SupportKind = Literal["trained", "supported", "undetermined", "unconnected", "new value"]
"""How a combination stands to the trained ones: one of them; determined by them (S4); of values
whose effects cannot be told apart (S3); of values that nothing relates (S2); with a value that is
never trained (S1)."""
SUPPORT_KINDS: tuple[SupportKind, ...] = get_args(SupportKind)
"""All kinds of support, from the most to the least."""

_SAMPLE = 20_000


@dataclass(frozen=True, eq=False)
class ItemSupport:
    """What trained combinations offer for others: S1 to S4 for every one of them.

    ```python
    >>> support = ItemSupport(np.array([[0, 0], [0, 1], [1, 0]]), (2, 3))
    >>> [SUPPORT_KINDS[k] for k in support.kinds(np.array([[0, 1], [1, 1], [1, 2]]))]
    ['trained', 'supported', 'new value']
    ```
    """

    trained: Items
    sizes: Sequence[int]

    @cached_property
    def offsets(self) -> Int[np.ndarray, " factors"]:
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def seen(self) -> Bool[np.ndarray, " values"]:
        """S1: whether each value is trained, those of the first factor first."""
        return np.bincount((self.trained + self.offsets).ravel(), minlength=sum(self.sizes)) > 0

    @cached_property
    def component(self) -> Int[np.ndarray, " values"]:
        """S2: the connected component of every value; -1 if it is never trained."""
        columns = self.trained + self.offsets
        first = np.repeat(columns[:, :1], columns.shape[1] - 1, axis=1)
        labels = joined_columns(first.ravel(), columns[:, 1:].ravel(), sum(self.sizes))
        found = np.full(len(labels), -1)
        found[self.seen] = np.unique(labels[self.seen], return_inverse=True)[1]
        return found

    @property
    def components(self) -> int:
        """S2: how many components the trained values form."""
        return int(self.component.max()) + 1

    @cached_property
    def telling(self) -> Items:
        """Trained combinations that leave open what all of them leave open.

        What some combinations determine, all of them do: if a sample determines everything, it is
        enough.
        """
        if len(self.trained) > _SAMPLE:
            chosen = np.random.default_rng(0).permutation(len(self.trained))[:_SAMPLE]
            few = ItemSupport(self.trained[chosen], self.sizes)
            if few.seen.sum() == self.seen.sum() and not few.open_effects:
                return few.trained
        return self.trained

    @cached_property
    def effects(self) -> AdditiveEffects:
        """S3: the effects that trained combinations leave open."""
        return AdditiveEffects(self.telling, self.sizes)

    @cached_property
    def open_effects(self) -> int:
        """S3: how many combinations of trained values would have to be trained as well for the
        effects of all of them to be determined; 0 if they are.

        Offsets of factors that cancel, and values that are never trained, are not counted.
        """
        return self.effects.nullity - (len(self.sizes) - 1) - int((~self.seen).sum())

    def kinds(self, items: Items) -> Int[np.ndarray, " items"]:
        """The kind of support of every combination, as its place in `SUPPORT_KINDS`."""
        components = self.component[items + self.offsets]
        new = (components < 0).any(axis=1)
        across = (components != components[:, :1]).any(axis=1)
        kinds = np.where(new, 4, np.where(across, 3, 1))
        kinds[are_among(items, self.trained)] = 0
        asked = np.flatnonzero(kinds == 1)
        if len(asked):
            kinds[asked[~self.effects.are_determined(items[asked])]] = 2
        return kinds
